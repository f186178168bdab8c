#include "frontend/pt2/schema_reader.h"

#include <array>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace layline::pt2 {
namespace {

struct DTypeRow {
  TorchDType dtype;
  std::string_view name;
  int64_t size;
};

constexpr std::array kDTypes = {
    DTypeRow{TorchDType::kUint8, "uint8", 1},
    DTypeRow{TorchDType::kInt8, "int8", 1},
    DTypeRow{TorchDType::kInt16, "int16", 2},
    DTypeRow{TorchDType::kInt32, "int32", 4},
    DTypeRow{TorchDType::kInt64, "int64", 8},
    DTypeRow{TorchDType::kFloat16, "float16", 2},
    DTypeRow{TorchDType::kFloat32, "float32", 4},
    DTypeRow{TorchDType::kFloat64, "float64", 8},
    DTypeRow{TorchDType::kComplex32, "complex32", 4},
    DTypeRow{TorchDType::kComplex64, "complex64", 8},
    DTypeRow{TorchDType::kComplex128, "complex128", 16},
    DTypeRow{TorchDType::kBool, "bool", 1},
    DTypeRow{TorchDType::kBFloat16, "bfloat16", 2},
    DTypeRow{TorchDType::kUint16, "uint16", 2},
    DTypeRow{TorchDType::kFloat8E4M3FN, "float8_e4m3fn", 1},
    DTypeRow{TorchDType::kFloat8E5M2, "float8_e5m2", 1},
    DTypeRow{TorchDType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", 1},
    DTypeRow{TorchDType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", 1},
    DTypeRow{TorchDType::kFloat8E8M0FNU, "float8_e8m0fnu", 1},
    DTypeRow{TorchDType::kUint32, "uint32", 4},
    DTypeRow{TorchDType::kUint64, "uint64", 8},
};

const DTypeRow* find_dtype(int64_t number) {
  for (const DTypeRow& row : kDTypes)
    if (static_cast<int64_t>(row.dtype) == number) return &row;
  return nullptr;
}

const DTypeRow& row(TorchDType dtype) {
  const DTypeRow* found = find_dtype(static_cast<int64_t>(dtype));
  LAYLINE_ASSERT(found != nullptr, "no dtype {}", static_cast<int>(dtype));
  return *found;
}

/// An enum whose numbers are 0 to `last`.
template <typename Enum>
Enum read_enum(const JsonCursor& json, Enum last, std::string_view what) {
  const int64_t number = json.integer();
  if (number < 0 || number > static_cast<int64_t>(last))
    json.fail(fmt::format("unknown {} {}", what, number));
  return static_cast<Enum>(number);
}

template <typename Read>
auto read_list(const JsonCursor& json, Read&& read) {
  std::vector<decltype(read(json))> result;
  json.each_item([&](const JsonCursor& item) { result.push_back(read(item)); });
  return result;
}

std::string_view read_name(const JsonCursor& json) { return json.key("name").string(); }
TensorArg read_tensor(const JsonCursor& json) { return {read_name(json)}; }
std::vector<TensorArg> read_tensors(const JsonCursor& json) { return read_list(json, read_tensor); }
int64_t read_int(const JsonCursor& json) { return json.integer(); }
std::vector<int64_t> read_ints(const JsonCursor& json) { return read_list(json, read_int); }
double read_float(const JsonCursor& json) { return json.number(); }
std::vector<double> read_floats(const JsonCursor& json) { return read_list(json, read_float); }
bool read_bool(const JsonCursor& json) { return json.boolean(); }
std::string_view read_string(const JsonCursor& json) { return json.string(); }

OptionalTensorArg read_optional_tensor(const JsonCursor& json) {
  const auto [arm, value] = json.arm();
  if (arm == "as_none") return {};
  if (arm == "as_tensor") return {read_name(value)};
  json.fail("expected one of as_tensor, as_none");
}

/// A symbolic scalar: `as_name`, or the literal in `literal_arm`.
template <typename Arg, typename Read>
Arg read_sym(const JsonCursor& json, std::string_view literal_arm, Read&& read) {
  const auto [arm, value] = json.arm();
  if (arm == "as_name") return {value.string(), {}};
  if (arm == literal_arm) return {{}, read(value)};
  json.fail(fmt::format("expected one of as_name, {}", literal_arm));
}
SymIntArg read_sym_int(const JsonCursor& json) {
  return read_sym<SymIntArg>(json, "as_int", read_int);
}
SymBoolArg read_sym_bool(const JsonCursor& json) {
  return read_sym<SymBoolArg>(json, "as_bool", read_bool);
}
SymFloatArg read_sym_float(const JsonCursor& json) {
  return read_sym<SymFloatArg>(json, "as_float", read_float);
}

CustomObjArg read_custom_obj(const JsonCursor& json) {
  return {read_name(json), json.key("class_fqn").string()};
}

struct ArmRow {
  std::string_view name;
  Argument (*read)(const JsonCursor&, SchemaReader&);
};

/// Makes a table entry of a reader that needs no more than the JSON.
template <auto read>
Argument plain(const JsonCursor& json, SchemaReader&) {
  return {read(json)};
}
template <auto read>
Argument list_of(const JsonCursor& json, SchemaReader&) {
  return {read_list(json, read)};
}

Argument read_subgraph(const JsonCursor& json, SchemaReader& reader) {
  const JsonCursor graph = json.key("graph");
  return {GraphArg{read_name(json), std::make_shared<const Graph>(reader.graph(graph))}};
}

Argument read_dictionary(const JsonCursor& json, SchemaReader& reader) {
  std::vector<MemberArg> result;
  json.each_member([&](std::string_view key, const JsonCursor& value) {
    result.push_back({key, reader.argument(value)});
  });
  return {std::move(result)};
}

MemoryFormat read_memory_format(const JsonCursor& json) {
  return read_enum(json, MemoryFormat::kPreserve, "memory format");
}

// The arms of Argument, each at the index of its alternative in Argument::value. The last one but
// the token has no alternative of its own.
constexpr std::array kArms = {
    ArmRow{"as_none", [](const JsonCursor&, SchemaReader&) { return Argument{NoneArg{}}; }},
    ArmRow{"as_tensor", plain<read_tensor>},
    ArmRow{"as_tensors", list_of<read_tensor>},
    ArmRow{"as_optional_tensors", list_of<read_optional_tensor>},
    ArmRow{"as_int", plain<read_int>},
    ArmRow{"as_ints", list_of<read_int>},
    ArmRow{"as_float", plain<read_float>},
    ArmRow{"as_floats", list_of<read_float>},
    ArmRow{"as_bool", plain<read_bool>},
    ArmRow{"as_bools", list_of<read_bool>},
    ArmRow{"as_string", plain<read_string>},
    ArmRow{"as_strings", list_of<read_string>},
    ArmRow{"as_sym_int", plain<read_sym_int>},
    ArmRow{"as_sym_ints", list_of<read_sym_int>},
    ArmRow{"as_sym_bool", plain<read_sym_bool>},
    ArmRow{"as_sym_bools", list_of<read_sym_bool>},
    ArmRow{"as_sym_float", plain<read_sym_float>},
    ArmRow{"as_sym_floats", list_of<read_sym_float>},
    ArmRow{"as_scalar_type", plain<read_dtype>},
    ArmRow{"as_memory_format", plain<read_memory_format>},
    ArmRow{"as_layout", plain<read_layout>},
    ArmRow{"as_device", plain<read_device>},
    ArmRow{"as_graph", read_subgraph},
    ArmRow{"as_operator", [](const JsonCursor& json,
                             SchemaReader&) { return Argument{OperatorArg{json.string()}}; }},
    ArmRow{"as_custom_obj", plain<read_custom_obj>},
    ArmRow{"as_complex",
           [](const JsonCursor& json, SchemaReader&) {
             return Argument{ComplexArg{json.key("real").number(), json.key("imag").number()}};
           }},
    ArmRow{"as_nested_tensors", list_of<read_tensors>},
    ArmRow{"as_int_lists", list_of<read_ints>},
    ArmRow{"as_float_lists", list_of<read_floats>},
    ArmRow{"as_string_to_argument", read_dictionary},
    ArmRow{"token", nullptr},
    ArmRow{"as_optional_tensor",
           [](const JsonCursor& json, SchemaReader&) {
             const OptionalTensorArg tensor = read_optional_tensor(json);
             return tensor.name ? Argument{TensorArg{*tensor.name}} : Argument{NoneArg{}};
           }},
};
static_assert(kArms.size() == std::variant_size_v<decltype(Argument::value)> + 1);

template <typename Map, typename Read>
void read_map(const JsonCursor& json, Map& map, Read&& read) {
  if constexpr (requires { map.reserve(size_t{}); }) map.reserve(json.size());
  json.each_member([&](std::string_view key, const JsonCursor& value) {
    if (!map.emplace(key, read(value)).second) json.fail(fmt::format("'{}' occurs twice", key));
  });
}

}  // namespace

std::string_view dtype_name(TorchDType dtype) { return row(dtype).name; }
int64_t element_size(TorchDType dtype) { return row(dtype).size; }
std::string_view kind_name(const Argument& argument) { return kArms[argument.value.index()].name; }

TorchDType read_dtype(const JsonCursor& json) {
  const int64_t number = json.integer();
  const DTypeRow* found = find_dtype(number);
  if (found == nullptr)
    json.fail(
        fmt::format("unknown dtype number {}; convert the tensor to a plain dtype before "
                    "export",
                    number));
  return found->dtype;
}

Layout read_layout(const JsonCursor& json) { return read_enum(json, Layout::kStrided, "layout"); }

Device read_device(const JsonCursor& json) {
  Device device{json.key("type").string(), std::nullopt};
  if (const auto index = json.optional_key("index")) device.index = index->integer();
  return device;
}

std::shared_ptr<const Expr> SchemaReader::expr(const JsonCursor& text) {
  auto& known = exprs_[text.string()];
  if (!known) {
    try {
      known = std::make_shared<const Expr>(parse_expr(text.string()));
    } catch (const UserError& error) {
      text.fail(error.what());
    }
  }
  return known;
}

SymInt SchemaReader::sym_int(const JsonCursor& json) {
  const auto [arm, value] = json.arm();
  if (arm == "as_int") return {nullptr, value.integer()};
  if (arm != "as_expr") json.fail("expected one of as_int, as_expr");
  SymInt result{expr(value.key("expr_str")), std::nullopt};
  if (result.expr->is_integer()) return {nullptr, result.expr->value};
  if (const auto hint = value.optional_key("hint")) result.value = hint->key("as_int").integer();
  return result;
}

SymBool SchemaReader::sym_bool(const JsonCursor& json) {
  const auto [arm, value] = json.arm();
  if (arm == "as_bool") return {nullptr, value.boolean()};
  if (arm != "as_expr") json.fail("expected one of as_bool, as_expr");
  SymBool result{expr(value.key("expr_str")), std::nullopt};
  if (const auto hint = value.optional_key("hint")) result.value = hint->key("as_bool").boolean();
  return result;
}

SymFloat SchemaReader::sym_float(const JsonCursor& json) {
  const auto [arm, value] = json.arm();
  if (arm == "as_float") return {nullptr, value.number()};
  if (arm != "as_expr") json.fail("expected one of as_float, as_expr");
  SymFloat result{expr(value.key("expr_str")), std::nullopt};
  if (const auto hint = value.optional_key("hint")) result.value = hint->key("as_float").number();
  return result;
}

TensorMeta SchemaReader::tensor_meta(const JsonCursor& json) {
  TensorMeta meta;
  meta.dtype = read_dtype(json.key("dtype"));
  const JsonCursor sizes = json.key("sizes");
  std::vector<int64_t> literals = {element_size(meta.dtype)};
  sizes.each_item([&](const JsonCursor& item) {
    meta.sizes.push_back(sym_int(item));
    const SymInt& size = meta.sizes.back();
    if (!size.is_literal()) return;
    if (*size.value < 0) item.fail(fmt::format("negative size {}", *size.value));
    literals.push_back(*size.value);
  });
  if (!checked_product(literals)) sizes.fail("the tensor is larger than memory can be");
  const JsonCursor strides = json.key("strides");
  strides.each_item([&](const JsonCursor& item) { meta.strides.push_back(sym_int(item)); });
  meta.layout = read_layout(json.key("layout"));
  if (meta.layout == Layout::kStrided && meta.strides.size() != meta.sizes.size())
    strides.fail(fmt::format("{} strides for {} sizes", meta.strides.size(), meta.sizes.size()));
  meta.storage_offset = sym_int(json.key("storage_offset"));
  meta.device = read_device(json.key("device"));
  meta.requires_grad = json.key("requires_grad").boolean();
  return meta;
}

Argument SchemaReader::argument(const JsonCursor& json) {
  const auto [arm, value] = json.arm();
  for (const ArmRow& candidate : kArms)
    if (candidate.name == arm && candidate.read != nullptr) return candidate.read(value, *this);
  std::string expected;
  for (const ArmRow& candidate : kArms) {
    if (candidate.read == nullptr) continue;
    if (!expected.empty()) expected += ", ";
    expected += candidate.name;
  }
  json.fail(fmt::format("unknown kind of argument '{}', expected one of {}", arm, expected));
}

Node SchemaReader::node(const JsonCursor& json) {
  Node node;
  node.target = json.key("target").string();
  if (const auto name = json.optional_key("name")) node.name = name->string();
  const JsonCursor inputs = json.key("inputs");
  node.inputs.reserve(inputs.size());
  inputs.each_item([&](const JsonCursor& item) {
    NamedArgument input{read_name(item), argument(item.key("arg")), ArgumentKind::kUnknown};
    if (const auto kind = item.optional_key("kind"))
      input.kind = read_enum(*kind, ArgumentKind::kKeyword, "argument kind");
    node.inputs.push_back(std::move(input));
  });
  const JsonCursor outputs = json.key("outputs");
  node.outputs.reserve(outputs.size());
  outputs.each_item([&](const JsonCursor& item) { node.outputs.push_back(argument(item)); });
  if (const auto metadata = json.optional_key("metadata")) {
    if (const auto trace = metadata->optional_key("stack_trace"))
      node.stack_trace = trace->string();
    if (const auto stack = metadata->optional_key("nn_module_stack"))
      node.nn_module_stack = stack->string();
  }
  if (const auto single = json.optional_key("is_hop_single_tensor_return"))
    node.is_hop_single_tensor_return = single->boolean();
  return node;
}

Graph SchemaReader::graph(const JsonCursor& json) {
  Graph graph;
  const JsonCursor inputs = json.key("inputs");
  inputs.each_item([&](const JsonCursor& item) { graph.inputs.push_back(argument(item)); });
  const JsonCursor outputs = json.key("outputs");
  outputs.each_item([&](const JsonCursor& item) { graph.outputs.push_back(argument(item)); });
  const JsonCursor nodes = json.key("nodes");
  graph.nodes.reserve(nodes.size());
  nodes.each_item([&](const JsonCursor& item) { graph.nodes.push_back(node(item)); });
  read_map(json.key("tensor_values"), graph.tensor_values,
           [&](const JsonCursor& value) { return tensor_meta(value); });
  read_map(json.key("sym_int_values"), graph.sym_int_values,
           [&](const JsonCursor& value) { return sym_int(value); });
  read_map(json.key("sym_bool_values"), graph.sym_bool_values,
           [&](const JsonCursor& value) { return sym_bool(value); });
  if (const auto values = json.optional_key("sym_float_values"))
    read_map(*values, graph.sym_float_values,
             [&](const JsonCursor& value) { return sym_float(value); });
  if (const auto values = json.optional_key("custom_obj_values"))
    read_map(*values, graph.custom_obj_values, read_custom_obj);
  if (const auto single = json.optional_key("is_single_tensor_return"))
    graph.is_single_tensor_return = single->boolean();
  return graph;
}

}  // namespace layline::pt2
