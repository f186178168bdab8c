// What the debug handles of a program mean. In traces and errors, numbers tell apart ExecuTorch's
// instructions and XNNPACK's serialised nodes. The `.pte` format has no field that says what they
// stand for. So a JSON document travels in it as named data under `kDebugMapKey`:
//
//   {"version":2,"methods":{"forward":{
//     "sources":["net.py:12: x = self.conv(x)"],"modules":["features.0"],
//     "origins":[["conv2d_4",1,1,6]],"instructions":[0,1]}}}
//
// Handle n is the n-th origin: the value in layline's final graph, its source line and its module
// (indices into `sources` and `modules`, from 1; 0 for none), and the node of the model that it
// comes from: left out where it has the value's name, a number where the value's name begins with
// it, and otherwise its name.
// `instructions` has the handle of each instruction of the method; a call of a delegate has 0, the
// nodes in its payload have handles of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace layline::pte {

inline constexpr std::string_view kDebugMapKey = "layline.debug";

struct DebugOrigin {
  std::string value, node, source, module;

  bool operator==(const DebugOrigin&) const = default;
};

struct MethodDebugMap {
  std::string method;
  std::vector<DebugOrigin> origins;    ///< for the handles 1, 2, ...
  std::vector<uint32_t> instructions;  ///< the handle of each, or 0

  bool operator==(const MethodDebugMap&) const = default;
};

/// The document for these methods, in the order given. Deterministic.
std::string write_debug_map(const std::vector<MethodDebugMap>& methods);

/// The inverse of write_debug_map. Throws UserError on anything that it would not have written.
std::vector<MethodDebugMap> read_debug_map(std::string_view json);

}  // namespace layline::pte
