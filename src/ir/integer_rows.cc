#include "ir/integer_rows.h"

namespace layline {
namespace {

Shape joined(const Shape& first, const Shape& second) {
  Shape shape = first;
  shape.insert(shape.end(), second.begin(), second.end());
  return shape;
}

/// Plain integers as the same numbers. Targets dequantise where they would not convert.
Value* as_numbers(const Builder& build, Value* integers) {
  const Quantisation same = per_tensor(integers->dtype(), 1, 0);
  return build.add(Op::dequantize,
                   {build.add(Op::reinterpret, {integers}, QuantisationAttrs{same})});
}

/// Axes of a row whose blocks are part of them are two: blocks, and places in a block.
struct Split {
  Shape row, scales;

  Split(const Shape& whole, const Shape& blocks) {
    for (size_t i = 0; i < whole.size(); ++i) {
      row.push_back(whole[i]);
      scales.push_back(blocks[i]);
      if (blocks[i].is_one() || blocks[i] == whole[i]) continue;
      row.back() = blocks[i];
      row.push_back(*divide(whole[i], blocks[i]));
      scales.push_back(1);
    }
  }
};

}  // namespace

Value* real_rows(const Builder& build, const IntegerRows& table, Value* indices) {
  const Shape& places = indices->shape();
  const auto read = [&](Value* rows) {
    return build.add(Op::gather, {rows, indices}, AxisAttrs{0});
  };
  const Split split(table.row, table.blocks);
  const auto parameter = [&](Value* rows) {
    if (element_count(rows->shape()).is_one()) return build.view(rows, {});
    return rows->shape()[0].is_one() ? build.view(rows, split.scales)
                                     : build.view(read(rows), joined(places, split.scales));
  };
  Value* x = unpacked(build, as_numbers(build, read(table.bytes)), table.packing);
  x = build.view(x, joined(places, split.row));
  if (table.zero_points) x = build.add(Op::sub, {x, parameter(table.zero_points)});
  x = build.add(Op::mul, {x, parameter(table.scales)});
  return build.view(x, joined(places, table.row));
}

}  // namespace layline
