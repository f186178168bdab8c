#include "frontend/pt2/exported_program.h"

#include <array>

#include "base/error.h"
#include "frontend/pt2/json_cursor.h"
#include "frontend/pt2/schema_reader.h"

namespace layline::pt2 {
namespace {

constexpr int64_t kSchemaMajor = 8;

/// One arm of InputSpec or OutputSpec: what it is called, and which member names its target.
template <typename Kind>
struct SpecRow {
  std::string_view arm;
  Kind kind;
  std::string_view target;
};

constexpr std::array kInputSpecs = {
    SpecRow<InputKind>{"user_input", InputKind::kUserInput, ""},
    SpecRow<InputKind>{"parameter", InputKind::kParameter, "parameter_name"},
    SpecRow<InputKind>{"buffer", InputKind::kBuffer, "buffer_name"},
    SpecRow<InputKind>{"tensor_constant", InputKind::kTensorConstant, "tensor_constant_name"},
    SpecRow<InputKind>{"custom_obj", InputKind::kCustomObj, "custom_obj_name"},
    SpecRow<InputKind>{"token", InputKind::kToken, ""},
    SpecRow<InputKind>{"constant_input", InputKind::kConstantInput, ""},
};

constexpr std::array kOutputSpecs = {
    SpecRow<OutputKind>{"user_output", OutputKind::kUserOutput, ""},
    SpecRow<OutputKind>{"loss_output", OutputKind::kLoss, ""},
    SpecRow<OutputKind>{"buffer_mutation", OutputKind::kBufferMutation, "buffer_name"},
    SpecRow<OutputKind>{"parameter_mutation", OutputKind::kParameterMutation, "parameter_name"},
    SpecRow<OutputKind>{"user_input_mutation", OutputKind::kUserInputMutation, "user_input_name"},
    SpecRow<OutputKind>{"gradient_to_parameter", OutputKind::kGradientToParameter,
                        "parameter_name"},
    SpecRow<OutputKind>{"gradient_to_user_input", OutputKind::kGradientToUserInput,
                        "user_input_name"},
    SpecRow<OutputKind>{"token", OutputKind::kToken, ""},
};

template <typename Kind, size_t n>
const SpecRow<Kind>& find_spec(const std::array<SpecRow<Kind>, n>& specs, std::string_view arm,
                               const JsonCursor& json) {
  std::string expected;
  for (const SpecRow<Kind>& row : specs) {
    if (row.arm == arm) return row;
    if (!expected.empty()) expected += ", ";
    expected += row.arm;
  }
  json.fail(fmt::format("unknown kind '{}', expected one of {}", arm, expected));
}

/// The value that an argument refers to; empty for literals and lists.
std::string_view value_name(const Argument& argument) {
  if (const auto* tensor = argument.as<TensorArg>()) return tensor->name;
  if (const auto* token = argument.as<TokenArg>()) return token->name;
  if (const auto* object = argument.as<CustomObjArg>()) return object->name;
  if (const auto* sym = argument.as<SymIntArg>()) return sym->name;
  if (const auto* sym = argument.as<SymBoolArg>()) return sym->name;
  if (const auto* sym = argument.as<SymFloatArg>()) return sym->name;
  return {};
}

/// User values are full Arguments; the others are bare records with a name.
InputSpec read_input_spec(const JsonCursor& json, SchemaReader& reader) {
  const auto [arm, value] = json.arm();
  const SpecRow<InputKind>& row = find_spec(kInputSpecs, arm, json);
  InputSpec spec;
  spec.kind = row.kind;
  if (row.kind == InputKind::kConstantInput) {
    spec.name = value.key("name").string();
    spec.arg = reader.argument(value.key("value"));
    return spec;
  }
  const JsonCursor arg = value.key("arg");
  switch (row.kind) {
    case InputKind::kUserInput:
      spec.arg = reader.argument(arg);
      break;
    case InputKind::kCustomObj:
      spec.arg = {CustomObjArg{arg.key("name").string(), arg.key("class_fqn").string()}};
      break;
    case InputKind::kToken:
      spec.arg = {TokenArg{arg.key("name").string()}};
      break;
    default:
      spec.arg = {TensorArg{arg.key("name").string()}};
  }
  spec.name = value_name(spec.arg);
  if (!row.target.empty()) spec.fqn = value.key(row.target).string();
  if (row.kind == InputKind::kBuffer) spec.persistent = value.key("persistent").boolean();
  return spec;
}

OutputSpec read_output_spec(const JsonCursor& json, SchemaReader& reader) {
  const auto [arm, value] = json.arm();
  const SpecRow<OutputKind>& row = find_spec(kOutputSpecs, arm, json);
  OutputSpec spec;
  spec.kind = row.kind;
  const JsonCursor arg = value.key("arg");
  switch (row.kind) {
    case OutputKind::kUserOutput:
      spec.arg = reader.argument(arg);
      break;
    case OutputKind::kToken:
      spec.arg = {TokenArg{arg.key("name").string()}};
      break;
    default:
      spec.arg = {TensorArg{arg.key("name").string()}};
  }
  spec.name = value_name(spec.arg);
  if (!row.target.empty()) spec.target = value.key(row.target).string();
  return spec;
}

void check_schema_version(const JsonCursor& json, ExportedProgram& program) {
  const JsonCursor version = json.key("schema_version");
  const int64_t major = version.key("major").integer();
  program.schema_minor = version.key("minor").integer();
  if (major != kSchemaMajor)
    version.fail(
        fmt::format("export schema {}.{} is not supported, only {}.x; export the model "
                    "again with torch 2.13",
                    major, program.schema_minor, kSchemaMajor));
}

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string_view next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return trim(line);
}

/// `File "PATH", line N, in FUNCTION`
struct Frame {
  std::string_view path;
  std::string_view line;
};

std::optional<Frame> parse_frame(std::string_view text) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  if (!text.starts_with(kFile)) return std::nullopt;
  text.remove_prefix(kFile.size());
  const size_t path_end = text.find(kLine);
  if (path_end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(path_end + kLine.size());
  // Nodes that export itself inserts (sym_size for its assertions) carry this made-up frame.
  if (text.starts_with("torch/fx/")) return std::nullopt;
  return Frame{text.substr(0, path_end), rest.substr(0, rest.find(','))};
}

/// torch's own modules, and code that it generates, say nothing about where the user's model calls
/// them.
bool is_torch_frame(const Frame& frame) {
  return frame.path.starts_with("torch/") || frame.path.starts_with("<eval_with_key>") ||
         frame.path.find("/site-packages/torch/") != std::string_view::npos ||
         frame.path.find("/torch/nn/") != std::string_view::npos;
}

}  // namespace

ExportedProgram parse_exported_program(std::span<const std::byte> json, std::string_view file,
                                       size_t readable_after) {
  JsonDocument document(json, file, readable_after);
  const JsonCursor root(document);
  ExportedProgram program;
  SchemaReader reader;
  check_schema_version(root, program);
  if (const auto version = root.optional_key("torch_version"))
    program.torch_version = version->string();

  const JsonCursor module = root.key("graph_module");
  program.graph = reader.graph(module.key("graph"));
  const JsonCursor signature = module.key("signature");
  const JsonCursor inputs = signature.key("input_specs");
  inputs.each_item(
      [&](const JsonCursor& item) { program.inputs.push_back(read_input_spec(item, reader)); });
  const JsonCursor outputs = signature.key("output_specs");
  outputs.each_item(
      [&](const JsonCursor& item) { program.outputs.push_back(read_output_spec(item, reader)); });
  if (program.inputs.size() != program.graph.inputs.size())
    inputs.fail(fmt::format("{} specs for {} graph inputs", program.inputs.size(),
                            program.graph.inputs.size()));
  if (program.outputs.size() != program.graph.outputs.size())
    outputs.fail(fmt::format("{} specs for {} graph outputs", program.outputs.size(),
                             program.graph.outputs.size()));

  const JsonCursor ranges = root.key("range_constraints");
  ranges.each_member([&](std::string_view symbol, const JsonCursor& value) {
    SymbolRange range;
    if (const auto min = value.optional_key("min_val")) range.min = min->integer();
    if (const auto max = value.optional_key("max_val")) range.max = max->integer();
    if (range.min && range.max && *range.min > *range.max)
      value.fail(fmt::format("empty range {} to {}", *range.min, *range.max));
    program.ranges.emplace(symbol, range);
  });
  const JsonCursor opsets = root.key("opset_version");
  opsets.each_member([&](std::string_view name, const JsonCursor& value) {
    program.opset_version.emplace(name, value.integer());
  });
  program.strings = document.release_strings();
  return program;
}

std::string source_location(std::string_view stack_trace) {
  std::string innermost;
  bool innermost_is_torch = true;
  while (!stack_trace.empty()) {
    const auto frame = parse_frame(next_line(stack_trace));
    if (!frame) continue;
    const bool is_torch = is_torch_frame(*frame);
    if (is_torch && !innermost_is_torch) continue;
    innermost_is_torch = is_torch;
    const std::string_view name = frame->path.substr(frame->path.find_last_of('/') + 1);
    innermost = fmt::format("{}:{}", name, frame->line);
    std::string_view rest = stack_trace;
    const std::string_view source = next_line(rest);
    if (!source.empty() && !parse_frame(source)) innermost += fmt::format(": {}", source);
  }
  return innermost;
}

std::string module_path(std::string_view nn_module_stack) {
  // `key,path,type;key,path,type`, outermost first. A type may hold commas, a path holds none.
  const std::string_view last = nn_module_stack.substr(nn_module_stack.find_last_of(';') + 1);
  const size_t begin = last.find(',');
  if (begin == std::string_view::npos) return {};
  const size_t end = last.find(',', begin + 1);
  if (end == std::string_view::npos) return {};
  const std::string_view path = last.substr(begin + 1, end - begin - 1);
  // What export writes for nodes that it inserts itself.
  if (path.starts_with("_empty_nn_module_stack")) return {};
  return std::string(path);
}

}  // namespace layline::pt2
