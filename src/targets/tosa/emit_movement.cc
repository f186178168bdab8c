// Ops that copy elements.
#include <numeric>

#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/npu_transpose.h"

namespace layline::tosa {
namespace {

Dim product_of(const Shape& shape, size_t first, size_t last) {
  return product(std::span(shape).subspan(first, last - first));
}

Shape right_aligned(const Shape& shape, size_t rank) {
  Shape result(rank - shape.size(), Dim(1));
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

/// Positions in the flattened data of the elements that gather_elements and scatter_elements name:
/// for the index i at [outer, k, inner] it is (outer * length + i) * inner size + inner.
std::string flat_positions(BlockBuilder& block, const Node& node) {
  const Value* indices = node.operand(1);
  const Shape& data = node.operand(0)->shape();
  const Shape& shape = indices->shape();
  const auto axis = static_cast<size_t>(node.attrs<AxisAttrs>().axis);
  std::vector<int64_t> strides(data.size(), 1);
  for (size_t a = data.size() - 1; a-- > 0;) strides[a] = strides[a + 1] * data[a + 1].value();
  Tensor base({DType::i32, shape});
  for (int64_t i = 0; i < base.count(); ++i) {
    int64_t position = i, offset = 0;
    for (size_t a = shape.size(); a-- > 0;) {
      if (a != axis) offset += position % shape[a].value() * strides[a];
      position /= shape[a].value();
    }
    base.set_int(i, offset);
  }
  const std::string offsets = block.constant(node, "offsets", Constant::of(base));
  std::string scaled = block.in(node, 1);
  if (strides[axis] != 1)
    scaled = block.step(
        node, fb::MulAttributeT{},
        {scaled, block.scalar(DType::i32, static_cast<double>(strides[axis]), shape.size()),
         block.scalar(DType::i8, 0)},
        DType::i32, shape);
  const std::string positions =
      block.step(node, fb::AddAttributeT{}, {scaled, offsets}, DType::i32, shape);
  const Dim count = element_count(shape);
  return block.step(node, fb::ReshapeAttributeT{}, {positions, block.shape({1, count.value()})},
                    DType::i32, {1, count});
}

/// The transpose that is best for the NPU, or one with the axes of the operand.
Relayout::Transpose transpose_of(const BlockBuilder& block, const Node& node) {
  const Relayout& moved = node.attrs<RelayoutAttrs>().relayout;
  if (block.accelerator())
    if (auto best = npu_transpose(moved, byte_size(node.result()->dtype()), *block.accelerator()))
      return *best;
  const auto permutation = moved.as_permutation();
  if (permutation && permutation->size() <= kMostAxes) return {moved.source(), *permutation};
  return moved.as_transpose();
}

}  // namespace

/// A transpose of the fewest axes, between views that it needs only if the shapes differ.
void emit_relayout(BlockBuilder& block, const Node& node) {
  const Relayout& moved = node.attrs<RelayoutAttrs>().relayout;
  if (moved.is_view()) return block.forward(node);
  Relayout::Transpose transpose = transpose_of(block, node);
  Shape permuted;
  for (int axis : transpose.perm) permuted.push_back(transpose.dims[static_cast<size_t>(axis)]);
  fb::TransposeAttributeT attribute;
  attribute.perms = {transpose.perm.begin(), transpose.perm.end()};
  block.result(node, std::move(attribute), {block.in(node, 0, transpose.dims)}, permuted);
}

void emit_expand(BlockBuilder& block, const Node& node) {
  const Shape& to = node.result()->shape();
  const Shape from = right_aligned(node.operand(0)->shape(), to.size());
  std::vector<int64_t> multiples;
  for (size_t a = 0; a < to.size(); ++a) multiples.push_back(from[a] == to[a] ? 1 : to[a].value());
  block.result(node, fb::TileAttributeT{},
               {block.in(node, 0, from), block.shape(std::move(multiples))});
}

void emit_slice(BlockBuilder& block, const Node& node) {
  const auto& attrs = node.attrs<SliceAttrs>();
  block.result(node, fb::SliceAttributeT{},
               {block.in(node, 0), block.shape(attrs.start), block.shape(static_dims(attrs.size))});
}

void emit_concat(BlockBuilder& block, const Node& node) {
  std::vector<std::string> parts;
  for (int i = 0; i < node.operand_count(); ++i) parts.push_back(block.in(node, i));
  fb::ConcatAttributeT attribute;
  attribute.axis = static_cast<int32_t>(node.attrs<AxisAttrs>().axis);
  block.result(node, std::move(attribute), std::move(parts));
}

void emit_pad(BlockBuilder& block, const Node& node) {
  emit_pad_with(block, node, node.attrs<PadAttrs>().value);
}

void emit_pad_with(BlockBuilder& block, const Node& node, double value) {
  const auto& attrs = node.attrs<PadAttrs>();
  std::vector<int64_t> padding;
  for (size_t a = 0; a < attrs.low.size(); ++a) {
    padding.push_back(attrs.low[a]);
    padding.push_back(attrs.high[a]);
  }
  block.result(node, fb::PadAttributeT{},
               {block.in(node, 0), block.shape(std::move(padding)),
                block.scalar(node.result()->dtype(), value)});
}

/// REVERSE takes one axis.
void emit_flip(BlockBuilder& block, const Node& node) {
  const Ints& axes = node.attrs<AxesAttrs>().axes;
  std::string x = block.in(node, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    fb::ReverseAttributeT attribute;
    attribute.axis = static_cast<int32_t>(axes[i]);
    if (i + 1 == axes.size())
      block.result(node, std::move(attribute), {x});
    else
      x = block.step(node, std::move(attribute), {x}, node.result()->dtype(),
                     node.result()->shape());
  }
  if (axes.empty()) block.forward(node);
}

/// GATHER reads values [N, K, C] by indices [N, W]: what is outside of the axis is N, and the
/// indices are the same for all of it.
void emit_gather(BlockBuilder& block, const Node& node) {
  const Value* data = node.operand(0);
  const Value* indices = node.operand(1);
  const auto axis = static_cast<size_t>(node.attrs<AxisAttrs>().axis);
  const Dim outer = product_of(data->shape(), 0, axis),
            inner = product_of(data->shape(), axis + 1, data->shape().size()),
            count = element_count(indices->shape());
  std::string rows = block.in(node, 1, {1, count});
  if (!outer.is_one())
    rows = block.step(node, fb::TileAttributeT{}, {rows, block.shape({outer.value(), 1})},
                      indices->dtype(), {outer, count});
  block.result(node, fb::GatherAttributeT{},
               {block.in(node, 0, {outer, data->shape()[axis], inner}), rows},
               {outer, count, inner});
}

void emit_gather_elements(BlockBuilder& block, const Node& node) {
  const Dim all = element_count(node.operand(0)->shape()),
            count = element_count(node.operand(1)->shape());
  const std::string positions = flat_positions(block, node);
  block.result(node, fb::GatherAttributeT{}, {block.in(node, 0, {1, all, 1}), positions},
               {1, count, 1});
}

void emit_scatter_elements(BlockBuilder& block, const Node& node) {
  const Dim all = element_count(node.operand(0)->shape()),
            count = element_count(node.operand(1)->shape());
  const std::string positions = flat_positions(block, node);
  block.result(node, fb::ScatterAttributeT{},
               {block.in(node, 0, {1, all, 1}), positions, block.in(node, 2, {1, count, 1})},
               {1, all, 1});
}

}  // namespace layline::tosa
