// What the debug handles of a program mean. In traces and errors, numbers tell apart ExecuTorch's
// instructions and XNNPACK's serialised nodes. The `.pte` format has no field that says what they
// stand for. So a JSON document travels in it as named data under `kDebugMapKey`:
//
//   {"version":1,"methods":{"forward":{
//     "sources":["net.py:12: x = self.conv(x)"],
//     "origins":[["conv2d_4","conv2d",1,"features.0"]],"instructions":[0,1]}}}
//
// Handle n is the n-th origin: the value in layline's final graph, the node of the model that it
// comes from, its source line (an index into `sources`, from 1; 0 for none) and its module.
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
