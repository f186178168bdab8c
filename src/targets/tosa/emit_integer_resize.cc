// Resizes quantised images. The IR resizes real numbers; between a dequantize and a quantize RESIZE
// does it on integers, and interpolates exactly: its sums are rounded once.
#include "targets/tosa/integer_kernels.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/rescale.h"
#include "targets/tosa/resize_scale.h"
#include "targets/tosa/window_attributes.h"

namespace layline::tosa {
namespace {

const Node& resize_of(const Node& quantize) { return *quantize.operand(0)->def(); }

bool interpolates(const Node& resize) {
  return resize.attrs<ResizeAttrs>().mode == ResizeMode::bilinear;
}

/// How many times too large the sums of an interpolation are: its weights are fractions of this.
double weights_unit(const Node& resize) {
  double unit = 1;
  for (size_t axis : {0, 1})
    unit *= static_cast<double>(resize_scale(resize.attrs<ResizeAttrs>(), axis,
                                             resize.operand(0)->shape()[axis + 1].value())
                                    ->numerator);
  return unit;
}

/// The factor from the resized integers to those of the result.
double factor(const Node& quantize, const Value* image) {
  const double ratio = scale(image) / scale(quantize.result());
  return interpolates(resize_of(quantize)) ? ratio / weights_unit(resize_of(quantize)) : ratio;
}

}  // namespace

const Value* resized_image(const Node& quantize) {
  const Node* resize = quantize.operand(0)->def();
  if (resize == nullptr || !resize->is(Op::resize) || !is_activation(quantize.result()))
    return nullptr;
  const Node* dequantize = resize->operand(0)->def();
  if (dequantize == nullptr || !dequantize->is(Op::dequantize)) return nullptr;
  const Value* image = dequantize->operand(0);
  if (!is_activation(image)) return nullptr;
  // Sums of 16-bit integers have 48 bits in TOSA, and must fit into 32.
  const bool fits =
      image->dtype() == DType::i8 || !interpolates(*resize) || weights_unit(*resize) < 0x1p15;
  return fits && multiplier_of(factor(quantize, image)) ? image : nullptr;
}

void emit_integer_resize(BlockBuilder& block, const Node& quantize) {
  const Node& resize = resize_of(quantize);
  const Value* image = resized_image(quantize);
  const Integers own = integers_of(image);
  const Shape& shape = quantize.result()->shape();
  std::vector<std::string> operands =
      resize_operands(block, resize, block.in(quantize, image, "x", image->shape()));
  const bool same_scale = image->type().quantisation == quantize.result()->type().quantisation;
  if (!interpolates(resize)) {
    if (same_scale) return block.result(quantize, resize_attribute(resize), std::move(operands));
    const std::string nearest =
        block.step(quantize, resize_attribute(resize), std::move(operands), own.dtype, shape);
    return rescale_to_result(block, quantize, nearest, own, {factor(quantize, image)}, shape);
  }
  const bool wide = own.dtype == DType::i16;
  std::string sums = block.step(quantize, resize_attribute(resize), std::move(operands),
                                wide ? fb::DType::INT48 : fb::DType::INT32, shape);
  if (wide) sums = narrowed_sums(block, quantize, sums, 0, shape);
  if (own.zero_point != 0)  // weighted as the numbers are
    sums = block.step(
        quantize, fb::SubAttributeT{},
        {sums, block.scalar(DType::i32, own.zero_point * weights_unit(resize), shape.size())},
        DType::i32, shape);
  rescale_to_result(block, quantize, sums, kSums, {factor(quantize, image)}, shape);
}

}  // namespace layline::tosa
