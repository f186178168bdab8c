// The model JSON of a .pt2 as plain structs: torch.export's serialisation schema, major version 8,
// one struct per record of the schema and nothing interpreted. Every string_view points into
// `ExportedProgram::strings` (or the PayloadTable's, see archive.h) and lives as long as it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/pt2/json_expr.h"

namespace layline::pt2 {

/// The schema's ScalarType numbers, which are neither torch's nor ExecuTorch's.
enum class TorchDType {
  kUint8 = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kComplex32 = 9,
  kComplex64 = 10,
  kComplex128 = 11,
  kBool = 12,
  kBFloat16 = 13,
  kUint16 = 28,
  kFloat8E4M3FN = 29,
  kFloat8E5M2 = 30,
  kFloat8E4M3FNUZ = 31,
  kFloat8E5M2FNUZ = 32,
  kFloat8E8M0FNU = 33,
  kUint32 = 34,
  kUint64 = 35,
};
enum class Layout {
  kUnknown = 0,
  kSparseCoo = 1,
  kSparseCsr = 2,
  kSparseCsc = 3,
  kSparseBsr = 4,
  kSparseBsc = 5,
  kMkldnn = 6,
  kStrided = 7
};
enum class MemoryFormat {
  kUnknown = 0,
  kContiguous = 1,
  kChannelsLast = 2,
  kChannelsLast3d = 3,
  kPreserve = 4
};

/// torch's name, such as "float32".
std::string_view dtype_name(TorchDType dtype);
/// Bytes of one element.
int64_t element_size(TorchDType dtype);

/// A literal (`expr` null, `value` set) or an expression over symbols, whose value at export time
/// is in `value` if the file gives that hint.
struct SymInt {
  std::shared_ptr<const Expr> expr;
  std::optional<int64_t> value;
  bool is_literal() const { return expr == nullptr; }
};
struct SymBool {
  std::shared_ptr<const Expr> expr;
  std::optional<bool> value;
  bool is_literal() const { return expr == nullptr; }
};
struct SymFloat {
  std::shared_ptr<const Expr> expr;
  std::optional<double> value;
  bool is_literal() const { return expr == nullptr; }
};

struct Device {
  std::string_view type;
  std::optional<int64_t> index;
};

struct TensorMeta {
  TorchDType dtype = TorchDType::kFloat32;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;  ///< in elements; as many as sizes
  SymInt storage_offset;        ///< in elements
  Layout layout = Layout::kStrided;
  Device device;
  bool requires_grad = false;
};

// The arms of the schema's Argument union. Names refer to Graph::tensor_values and its siblings.
struct NoneArg {};
struct TensorArg {
  std::string_view name;
};
struct TokenArg {
  std::string_view name;
};
struct OperatorArg {
  std::string_view name;
};
struct OptionalTensorArg {
  std::optional<std::string_view> name;
};
/// A reference to a symbolic value if `name` is not empty, otherwise the literal `value`.
struct SymIntArg {
  std::string_view name;
  int64_t value = 0;
};
struct SymBoolArg {
  std::string_view name;
  bool value = false;
};
struct SymFloatArg {
  std::string_view name;
  double value = 0;
};
struct CustomObjArg {
  std::string_view name;
  std::string_view class_fqn;
};
struct ComplexArg {
  double real = 0;
  double imag = 0;
};
struct Graph;
struct GraphArg {
  std::string_view name;
  std::shared_ptr<const Graph> graph;
};
struct MemberArg;

/// One value given to or returned by a node. `as_optional_tensor` is read as TensorArg or NoneArg;
/// a token, which only signatures use, has its own arm.
struct Argument {
  std::variant<NoneArg, TensorArg, std::vector<TensorArg>, std::vector<OptionalTensorArg>, int64_t,
               std::vector<int64_t>, double, std::vector<double>, bool, std::vector<bool>,
               std::string_view, std::vector<std::string_view>, SymIntArg, std::vector<SymIntArg>,
               SymBoolArg, std::vector<SymBoolArg>, SymFloatArg, std::vector<SymFloatArg>,
               TorchDType, MemoryFormat, Layout, Device, GraphArg, OperatorArg, CustomObjArg,
               ComplexArg, std::vector<std::vector<TensorArg>>, std::vector<std::vector<int64_t>>,
               std::vector<std::vector<double>>, std::vector<MemberArg>, TokenArg>
      value;

  /// `arg.as<int64_t>()` is null unless that arm is held.
  template <typename T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  bool is_none() const { return std::holds_alternative<NoneArg>(value); }
};

/// One member of a dictionary.
struct MemberArg {
  std::string_view key;
  Argument arg;
};

/// The schema's name of the arm held, such as "as_sym_ints".
std::string_view kind_name(const Argument& argument);

enum class ArgumentKind { kUnknown = 0, kPositional = 1, kKeyword = 2 };

struct NamedArgument {
  std::string_view name;  ///< from the operator's schema
  Argument arg;
  ArgumentKind kind = ArgumentKind::kUnknown;
};

struct Node {
  std::string_view target;            ///< such as "torch.ops.aten.conv2d.default"
  std::string_view name;              ///< empty in older files
  std::vector<NamedArgument> inputs;  ///< arguments left at their defaults are absent
  std::vector<Argument> outputs;
  std::string_view stack_trace;      ///< empty if not recorded; see source_location()
  std::string_view nn_module_stack;  ///< empty if not recorded; see module_path()
  bool is_hop_single_tensor_return = false;
};

struct Graph {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes;
  std::unordered_map<std::string_view, TensorMeta> tensor_values;
  std::unordered_map<std::string_view, SymInt> sym_int_values;
  std::unordered_map<std::string_view, SymBool> sym_bool_values;
  std::unordered_map<std::string_view, SymFloat> sym_float_values;
  std::unordered_map<std::string_view, CustomObjArg> custom_obj_values;
  bool is_single_tensor_return = false;
};

enum class InputKind {
  kUserInput,
  kParameter,
  kBuffer,
  kTensorConstant,
  kCustomObj,
  kToken,
  kConstantInput
};

struct InputSpec {
  InputKind kind = InputKind::kUserInput;
  std::string_view name;   ///< the graph input's; empty for a user input that is a literal
  Argument arg;            ///< for kConstantInput the constant: none, int, float, bool or string
  std::string_view fqn;    ///< the parameter's, buffer's, constant's or custom object's
  bool persistent = true;  ///< buffers: a non-persistent one is among the constants
};

enum class OutputKind {
  kUserOutput,
  kLoss,
  kBufferMutation,
  kParameterMutation,
  kUserInputMutation,
  kGradientToParameter,
  kGradientToUserInput,
  kToken
};

struct OutputSpec {
  OutputKind kind = OutputKind::kUserOutput;
  std::string_view name;  ///< the value's; empty for a user output that is a literal
  Argument arg;
  std::string_view target;  ///< what is mutated: a buffer or parameter fqn, or a user input's name
};

/// Bounds of a symbol, inclusive; absent means unbounded.
struct SymbolRange {
  std::optional<int64_t> min;
  std::optional<int64_t> max;
};

struct ExportedProgram {
  Graph graph;
  std::vector<InputSpec> inputs;    ///< one per graph input, in order
  std::vector<OutputSpec> outputs;  ///< one per graph output, in order
  std::map<std::string_view, SymbolRange> ranges;
  std::map<std::string_view, int64_t> opset_version;
  int64_t schema_minor = 0;
  std::string_view torch_version;
  std::shared_ptr<const void> strings;  ///< owns what the string_views point to
};

/// Reads a program. `file` stands for the JSON in messages, which give the path of the offending
/// value: `model.json: graph_module.graph.nodes[12].inputs[0].arg: ...`. Throws nothing but
/// UserError. `readable_after` bytes of the same mapping follow the JSON; with 32 or more it is
/// read in place.
ExportedProgram parse_exported_program(std::span<const std::byte> json, std::string_view file,
                                       size_t readable_after = 0);

/// The innermost frame of a Python stack trace that is the user's and not torch's own, as
/// `model.py:123: return self.conv(x)`, without the text if the trace has none. If every frame is
/// torch's, the innermost of all; empty if there is no frame.
std::string source_location(std::string_view stack_trace);

/// The innermost module of an nn_module_stack, such as "features.0.1". Empty at the root.
std::string module_path(std::string_view nn_module_stack);

}  // namespace layline::pt2
