// TOSA programs for tests: lowered from the text of a graph, and written as text themselves, so
// that a test can say all of what a program is.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "ir/text.h"
#include "targets/tosa/lower.h"

namespace layline::tosa {

/// A program and what the compiler says about it.
struct Lowered {
  Program program;
  Report report;
};

inline Lowered lowered_with_report(std::string_view text,
                                   const Accelerator* accelerator = nullptr) {
  Lowered result;
  std::vector<Graph> graphs;
  graphs.push_back(parse_graph(text, "test"));
  result.program = lower(graphs, result.report, accelerator);
  return result;
}

/// An input that is quantised at once: integers cross the boundary.
struct QuantisedInput {
  std::string shape, quantisation;
};

inline std::string i8(double scale, int zero_point = 0, std::string_view range = "-128,127") {
  return fmt::format("i8 in [{}] scale f32[] ({}) zero i32[] ({})", range, scale, zero_point);
}

inline std::string i16(double scale, std::string_view range = "-32767,32767") {
  return fmt::format("i16 in [{}] scale f32[] ({}) zero i32[] (0)", range, scale);
}

/// The inputs are %a, %b, ..., and the statements define %y, which is quantised, too.
inline std::string on_integers(const std::vector<QuantisedInput>& inputs,
                               std::string_view statements) {
  std::string text = "graph \"g\" {\n";
  for (size_t i = 0; i < inputs.size(); ++i) {
    const char name = static_cast<char>('a' + i);
    text += fmt::format("input \"{0}\" %f{0} : f32[{1}]\n", name, inputs[i].shape);
    text += fmt::format("%{0} = quantize(%f{0}) {{ quantisation = {1} }}\n", name,
                        inputs[i].quantisation);
  }
  return text + fmt::format("{}\n%real = dequantize(%y)\noutput \"y\" %real\n}}", statements);
}

/// The inputs, such as "f32[2,3]", are %a, %b, ..., and the statements define %y.
inline std::string on_tensors(const std::vector<std::string>& inputs, std::string_view statements) {
  std::string text = "graph \"g\" {\n";
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("input \"{0}\" %{0} : {1}\n", static_cast<char>('a' + i), inputs[i]);
  return text + fmt::format("{}\noutput \"y\" %y\n}}", statements);
}

/// Writes a program as one line for each operator that computes:
///
///   %0 = RESCALE(32) a i32{1073741824} i8{30} i8{3} i32{0} -> INT32[4]
///
/// Constants stand where they are read, with their shape unless it has one axis; shapes in angles.
class Listing {
 public:
  explicit Listing(const Program& program) : program_(program) {
    for (const NamedTensor& tensor : program.tensors) tensors_[tensor.name] = &tensor;
    for (const ShapeTensor& shape : program.shapes)
      names_[shape.name] = fmt::format("<{}>", fmt::join(shape.values, ","));
  }

  std::vector<std::string> lines() {
    std::vector<std::string> result;
    for (const Operator& op : program_.operators) {
      if (op.op() == fb::Op::CONST_SHAPE) continue;
      const NamedTensor& made = *tensors_.at(op.outputs[0]);
      if (op.op() == fb::Op::CONST) {
        names_[made.name] = constant(made);
        continue;
      }
      std::vector<std::string> operands;
      for (const std::string& input : op.inputs)
        operands.push_back(names_.contains(input) ? names_[input] : input);
      if (std::ranges::find(program_.outputs, made.name) == program_.outputs.end())
        names_[made.name] = fmt::format("%{}", result.size());
      const std::string name = names_.contains(made.name) ? names_[made.name] : made.name;
      result.push_back(fmt::format("{} = {}{} {} -> {}[{}]", name, fb::EnumNameOp(op.op()),
                                   attributes(op.attribute), fmt::join(operands, " "),
                                   fb::EnumNameDType(made.type), fmt::join(made.shape, ",")));
    }
    return result;
  }

 private:
  static std::string constant(const NamedTensor& tensor) {
    if (tensor.type == fb::DType::INT48)
      return fmt::format("i48[{}]{{0}}", fmt::join(tensor.shape, ","));
    const layline::Tensor data = layline::tensor_of(*tensor.data);
    std::vector<std::string> numbers;
    for (int64_t i = 0; i < data.count(); ++i)
      numbers.push_back(is_float(data.dtype()) ? fmt::format("{:.9g}", data.get(i))
                                               : fmt::format("{}", data.get_int(i)));
    constexpr size_t kMost = 20;
    std::string text = fmt::format("{}", fmt::join(numbers, ","));
    if (numbers.size() > kMost) {
      const bool same = std::ranges::adjacent_find(numbers, std::not_equal_to<>()) == numbers.end();
      text = same ? fmt::format("{} x {}", numbers.size(), numbers[0]) : "...";
    }
    const std::string shape =
        tensor.shape.size() == 1 ? "" : fmt::format("[{}]", fmt::join(tensor.shape, ","));
    return fmt::format("{}{}{{{}}}", name(data.dtype()), shape, text);
  }

  /// The bound of a CLAMP, by the number of its bytes.
  static double bound(const std::vector<uint8_t>& bytes) {
    const auto read = [&]<typename T>(T number) {
      std::memcpy(&number, bytes.data(), sizeof number);
      return static_cast<double>(number);
    };
    if (bytes.size() == 1) return read(int8_t{});
    return bytes.size() == 2 ? read(int16_t{}) : read(float{});
  }

  template <typename Attribute>
  static std::string window(const Attribute& a) {
    return fmt::format("(pad={} stride={} dilation={} acc={})", fmt::join(a.pad, ","),
                       fmt::join(a.stride, ","), fmt::join(a.dilation, ","),
                       fb::EnumNameDType(a.acc_type));
  }

  static std::string propagates(fb::NanPropagationMode mode) {
    return mode == fb::NanPropagationMode::PROPAGATE ? "" : " nan?";
  }

  template <typename Attribute>
  static std::string along(const Attribute& a) {
    return fmt::format("({})", a.axis);
  }

  static std::string attributes(const fb::AttributeUnion& attribute) {
    if (const auto* a = attribute.AsRescaleAttribute())
      return fmt::format("({}{}{}{}{})", a->scale32 ? "32" : "16", a->per_channel ? " each" : "",
                         a->rounding_mode == fb::RoundingMode::SINGLE_ROUND ? "" : " rounding?",
                         a->input_unsigned ? " unsigned" : "", a->output_unsigned ? " to u" : "");
    if (const auto* a = attribute.AsClampAttribute())
      return fmt::format("({},{}{})", bound(a->min_val), bound(a->max_val),
                         propagates(a->nan_mode));
    if (const auto* a = attribute.AsConv2dAttribute()) return window(*a);
    if (const auto* a = attribute.AsConv3dAttribute()) return window(*a);
    if (const auto* a = attribute.AsDepthwiseConv2dAttribute()) return window(*a);
    if (const auto* a = attribute.AsTransposeConv2dAttribute())
      return fmt::format("(out_pad={} stride={} acc={})", fmt::join(a->out_pad, ","),
                         fmt::join(a->stride, ","), fb::EnumNameDType(a->acc_type));
    if (const auto* a = attribute.AsAvgPool2dAttribute())
      return fmt::format("(kernel={} stride={} pad={} acc={})", fmt::join(a->kernel, ","),
                         fmt::join(a->stride, ","), fmt::join(a->pad, ","),
                         fb::EnumNameDType(a->acc_type));
    if (const auto* a = attribute.AsMaxPool2dAttribute())
      return fmt::format("(kernel={} stride={} pad={}{})", fmt::join(a->kernel, ","),
                         fmt::join(a->stride, ","), fmt::join(a->pad, ","),
                         propagates(a->nan_mode));
    if (const auto* a = attribute.AsArgMaxAttribute()) return along(*a) + propagates(a->nan_mode);
    if (const auto* a = attribute.AsReduceMaxAttribute())
      return along(*a) + propagates(a->nan_mode);
    if (const auto* a = attribute.AsReduceMinAttribute())
      return along(*a) + propagates(a->nan_mode);
    if (const auto* a = attribute.AsMaximumAttribute()) return propagates(a->nan_mode);
    if (const auto* a = attribute.AsMinimumAttribute()) return propagates(a->nan_mode);
    if (const auto* a = attribute.AsReduceSumAttribute()) return along(*a);
    if (const auto* a = attribute.AsReduceProductAttribute()) return along(*a);
    if (const auto* a = attribute.AsReduceAnyAttribute()) return along(*a);
    if (const auto* a = attribute.AsReduceAllAttribute()) return along(*a);
    if (const auto* a = attribute.AsConcatAttribute()) return along(*a);
    if (const auto* a = attribute.AsReverseAttribute()) return along(*a);
    if (const auto* a = attribute.AsTransposeAttribute())
      return fmt::format("({})", fmt::join(a->perms, ","));
    if (const auto* a = attribute.AsResizeAttribute())
      return fmt::format("({})", fb::EnumNameResizeMode(a->mode));
    return {};
  }

  const Program& program_;
  std::map<std::string, const NamedTensor*> tensors_;
  std::map<std::string, std::string> names_;
};

using Lines = std::vector<std::string>;

inline Lines listing(std::string_view text, const Accelerator* accelerator = nullptr) {
  const Lowered lowered = lowered_with_report(text, accelerator);
  return Listing(lowered.program).lines();
}

}  // namespace layline::tosa
