// Reads rows of integers and dequantises only those, where the model dequantises a whole table and
// reads rows of the result. An embedding of a language model is such a table: it is as large as
// many layers, and one row is read for each token. Integers of four bits stay packed.
#include <algorithm>

#include "ir/integer_rows.h"
#include "ir/tensor.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

/// Whether the integers are all in [min, max], as their type says.
template <typename Integer>
bool are_within(const Constant& integers, int64_t min, int64_t max) {
  Integer least = 0, greatest = 0;
  integers.stream([&](std::span<const std::byte> piece) {
    for (const std::byte byte : piece) {
      least = std::min(least, static_cast<Integer>(byte));
      greatest = std::max(greatest, static_cast<Integer>(byte));
    }
  });
  return least >= min && greatest <= max;
}

/// The bits that each integer of a row needs, if the bytes of a row are then whole.
int bits_needed(const Constant& integers, const Quantisation& quantisation, int64_t columns) {
  const bool is_signed = quantisation.dtype == DType::i8;
  for (const int bits : {2, 4}) {
    const int64_t count = int64_t{1} << bits;
    const int64_t min = is_signed ? -count / 2 : 0, max = min + count - 1;
    if (quantisation.min < min || quantisation.max > max || columns % (8 / bits) != 0) continue;
    const bool within = is_signed ? are_within<int8_t>(integers, min, max)
                                  : are_within<uint8_t>(integers, min, max);
    if (within) return bits;
  }
  return 8;
}

/// The axes in the order in which `axis` comes first.
std::vector<int> axis_first(size_t rank, size_t axis) {
  std::vector<int> order = {static_cast<int>(axis)};
  for (size_t i = 0; i < rank; ++i)
    if (i != axis) order.push_back(static_cast<int>(i));
  return order;
}

/// A table in which one axis counts the rows.
class Table {
 public:
  Table(const Builder& build, const Value* integers, size_t axis)
      : build_(build),
        integers_(*stored_constant(integers)),
        quantisation_(*integers->type().quantisation),
        order_(axis_first(integers->shape().size(), axis)),
        rows_(integers->shape()[axis].value()) {
    for (const int other : std::span(order_).subspan(1)) {
      const auto place = static_cast<size_t>(other);
      row_.push_back(integers->shape()[place]);
      blocks_.push_back(quantisation_.per_tensor() ? 1 : quantisation_.dims[place]);
    }
  }

  IntegerRows rows(bool packs) const {
    const int64_t columns = product(row_).value();
    const Constant in_rows = integers_.relaid(Relayout::permute(integers_.shape(), order_));
    const Constant matrix =
        in_rows.relaid(Relayout::view(in_rows.shape(), {Dim(rows_), Dim(columns)}));
    const int bits = packs ? bits_needed(matrix, quantisation_, columns) : 8;
    const bool is_packed = bits < 8;
    const int lift = is_packed && quantisation_.dtype == DType::i8 ? 1 << (bits - 1) : 0;
    IntegerRows table{.bytes = build_.constant(is_packed ? packed(matrix, bits) : matrix),
                      .packing = {bits},
                      .row = row_,
                      .blocks = blocks_,
                      .scales = parameters([&](size_t i) { return quantisation_.scale(i); }),
                      .zero_points = nullptr};
    if (!quantisation_.zero_points.empty())
      table.zero_points = parameters(
          [&](size_t i) { return static_cast<float>(quantisation_.zero_point(i) + lift); });
    else if (lift != 0)
      table.zero_points = build_.scalar(DType::f32, lift);
    return table;
  }

 private:
  /// One number for each entry of the quantisation's table: [rows or 1, blocks].
  template <typename Entry>
  Value* parameters(Entry entry) const {
    const Shape dims = quantisation_.per_tensor()
                           ? Shape(order_.size(), Dim(1))
                           : Shape(quantisation_.dims.begin(), quantisation_.dims.end());
    Tensor values({DType::f32, dims});
    for (size_t i = 0; i < quantisation_.scales.size(); ++i)
      values.set(static_cast<int64_t>(i), static_cast<double>(entry(i)));
    Value* in_rows = build_.permute(build_.constant(values), order_);
    return build_.view(in_rows, {in_rows->shape()[0], product(blocks_)});
  }

  const Builder& build_;
  const Constant& integers_;
  const Quantisation& quantisation_;
  std::vector<int> order_;
  int64_t rows_;
  Shape row_, blocks_;
};

/// Moves the axes of the indices, which stand first, to the place of the axis that they replace.
Value* with_places_at(const Builder& build, Value* x, size_t places, size_t axis) {
  std::vector<int> order;
  for (size_t i = 0; i < x->shape().size(); ++i) {
    const size_t from = i < axis ? places + i : i < axis + places ? i - axis : i;
    order.push_back(static_cast<int>(from));
  }
  return build.permute(x, order);
}

/// The constant integers of which the node reads rows after they are dequantised; null if it does
/// not, or if a row is part of a block that has one scale.
const Value* dequantised_table(const Node& gather) {
  const Node* dequantize = gather.operand(0)->def();
  if (dequantize == nullptr || !dequantize->is(Op::dequantize)) return nullptr;
  const Value* integers = dequantize->operand(0);
  if (stored_constant(integers) == nullptr || byte_size(integers->dtype()) != 1) return nullptr;
  const Quantisation& quantisation = *integers->type().quantisation;
  if (quantisation.per_tensor()) return integers;
  const auto axis = static_cast<size_t>(gather.attrs<AxisAttrs>().axis);
  const Dim blocks(quantisation.dims[axis]);
  return blocks.is_one() || blocks == integers->shape()[axis] ? integers : nullptr;
}

}  // namespace

bool gather_quantised(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::gather)) continue;
    const Value* integers = dequantised_table(*node);
    const bool has_unsigned = context.target().has_unsigned_bytes;
    if (integers == nullptr || (integers->dtype() == DType::u8 && !has_unsigned)) continue;
    context.rewrite(*node, "reads rows of {} before they are dequantised", integers->name());
    const BuildBefore build(graph, node);
    const auto axis = static_cast<size_t>(node->attrs<AxisAttrs>().axis);
    Value* indices = node->operand(1);
    Value* rows = real_rows(build, Table(build, integers, axis).rows(has_unsigned), indices);
    replace(graph, node, with_places_at(build, rows, indices->shape().size(), axis));
    changed = true;
  }
  return changed;
}

}  // namespace layline
