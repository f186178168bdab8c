#include "ir/builder.h"

#include <algorithm>
#include <numeric>

#include "ir/tensor.h"

namespace layline {

void Builder::fail(const std::string& message) const {
  throw UserError("{}: {}{}{}", describe(*origin_), op_, op_.empty() ? "" : ": ", message);
}

Value* Builder::add(Op op, std::vector<Value*> operands) const {
  if (info(op).attributes == Attributes(BinaryAttrs{}).index())
    return add(op, std::move(operands), BinaryAttrs{});
  return add(op, std::move(operands), NoAttrs{});
}

Value* Builder::clamp(Value* x, double min, double max) const {
  return add(Op::clamp, {x}, ClampAttrs{{min, max}});
}

Value* Builder::convert(Value* x, DType to) const {
  return x->dtype() == to ? x : add(Op::convert, {x}, ConvertAttrs{to});
}

Value* Builder::relayout(Value* x, Relayout relayout) const {
  if (relayout.is_identity()) return x;
  if (const Constant* data = stored_constant(x))
    if (const auto quantisation = moved(x->type().quantisation, relayout))
      return constant(data->relaid(relayout), *quantisation);
  return add(Op::relayout, {x}, RelayoutAttrs{std::move(relayout)});
}

Value* Builder::constant(const Tensor& tensor) const {
  return constant(Constant::of(tensor), tensor.type().quantisation);
}

Value* Builder::permute(Value* x, std::span<const int> permutation) const {
  return relayout(x, Relayout::permute(x->shape(), permutation));
}

Value* Builder::view(Value* x, Shape shape) const {
  return relayout(x, Relayout::view(x->shape(), std::move(shape)));
}

Value* Builder::to_channels_last(Value* x) const {
  std::vector<int> permutation(x->shape().size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::rotate(permutation.begin() + 1, permutation.begin() + 2, permutation.end());
  return permute(x, permutation);
}

Value* Builder::from_channels_last(Value* x) const {
  std::vector<int> permutation(x->shape().size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::rotate(permutation.begin() + 1, permutation.end() - 1, permutation.end());
  return permute(x, permutation);
}

Value* Builder::expand(Value* x, Shape shape) const {
  return x->shape() == shape ? x : add(Op::expand, {x}, ShapeAttrs{std::move(shape)});
}

Value* Builder::slice(Value* x, int64_t axis, int64_t start, Dim size, int64_t step) const {
  SliceAttrs attrs{Ints(x->shape().size(), 0), x->shape(), Ints(x->shape().size(), 1)};
  const auto a = static_cast<size_t>(axis);
  if (start == 0 && step == 1 && size == x->shape()[a]) return x;
  attrs.start[a] = start;
  attrs.size[a] = size;
  attrs.step[a] = step;
  return add(Op::slice, {x}, std::move(attrs));
}

Value* Builder::concat(std::vector<Value*> parts, int64_t axis) const {
  return parts.size() == 1 ? parts[0] : add(Op::concat, std::move(parts), AxisAttrs{axis});
}

}  // namespace layline
