// Names of a program's inputs and outputs. The `.pte` format has no field for them, so they travel
// in it as named data under `kIoNamesKey`, a JSON document:
//
//   {"version":1,"compiler":"layline 0.1.0",
//    "methods":{"forward":{"inputs":["x"],"outputs":["logits"]}}}
//
// `version` is that of the document; `compiler` tells who wrote the program, and is not read back.
// A method with dynamic sizes also has them, and the shapes of its inputs:
//
//   "symbols":[{"name":"s77","min":1,"max":8,"formula":""}],"input_shapes":[["s1","3"]]
//
// A name is valid UTF-8, unique within its list and safe as a file name (`run` writes NAME.npy).
// The document comes from a file and is therefore checked when it is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace layline::pte {

inline constexpr std::string_view kIoNamesKey = "layline.io";

/// A size that is known only when the method runs: it has bounds, or a formula over earlier ones.
/// They are numbered from 1: s1, s2...
struct RecordedSymbol {
  std::string name;
  int64_t min, max;
  std::string formula;

  bool operator==(const RecordedSymbol&) const = default;
};

struct MethodIoNames {
  std::string method;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  /// Only for a method with dynamic sizes: those sizes, and the shapes of all its inputs ("s1",
  /// "3").
  std::vector<RecordedSymbol> symbols = {};
  std::vector<std::vector<std::string>> input_shapes = {};

  bool operator==(const MethodIoNames&) const = default;
};

/// True if `name` can be used as a file name in any directory, whatever suffix is added: not
/// empty, at most 200 bytes, no leading dot, no separator, no control character, valid UTF-8.
bool is_safe_io_name(std::string_view name);

/// The names nearest to `wanted` that are safe and unique: unsafe characters become `_`, a name
/// taken before gets `_1`, `_2`... The first holder of a name keeps it.
std::vector<std::string> make_io_names(const std::vector<std::string>& wanted);

/// The document for these methods, in the order given. Deterministic.
std::string write_io_names(const std::vector<MethodIoNames>& methods);

/// The inverse of write_io_names. Throws UserError on anything it would not have written.
std::vector<MethodIoNames> read_io_names(std::string_view json);

}  // namespace layline::pte
