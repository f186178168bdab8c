// Splits depthwise convolutions with large windows into several with small ones, whose results are
// added. Targets have depthwise kernels for small windows; a larger one runs as a grouped
// convolution, whose kernel fills one lane of a vector only.
//
// No part may need rows or columns cut off the input, which would be a copy. So the places of a
// part are at equal distances and reach from one padding to the other, as in a dilated window. The
// rows of a 7x7 window with padding 3 split into 0, 3, 6 and 1, 5 and 2, 4.
#include <span>

#include "ir/tensor.h"
#include "transforms/conv_choice.h"
#include "transforms/passes.h"

namespace layline {
namespace {

/// Places along one axis: first, first + step, ...
struct Places {
  int64_t first, step, count;
  int64_t at(int64_t i) const { return first + i * step; }
  int64_t last() const { return at(count - 1); }
};

/// One axis of the window.
struct Axis {
  int64_t size, dilation, low, high;
  bool takes(const Places& places) const {
    return places.first * dilation <= low && (size - 1 - places.last()) * dilation <= high;
  }
};

/// The places from `first` on that take the most of what is left, at most `most`. Among equals it
/// is those that reach farthest: what is near the middle is easy to take later.
std::optional<Places> best_from(int64_t first, const Axis& axis, const std::vector<bool>& left,
                                int64_t most) {
  std::optional<Places> best;
  for (int64_t step = 1; step <= std::max<int64_t>(axis.size - 1, 1); ++step) {
    Places places{first, step, 0};
    while (places.count < most && places.at(places.count) < axis.size &&
           left[static_cast<size_t>(places.at(places.count))])
      ++places.count;
    for (; places.count > 0; --places.count) {
      if (places.count == 1) places.step = 1;
      if (!axis.takes(places)) continue;
      if (!best || places.count > best->count ||
          (places.count == best->count && places.last() > best->last()))
        best = places;
    }
  }
  return best;
}

/// Every place once, in parts of at most `most`; empty if there is no way.
std::vector<Places> parts_of(const Axis& axis, int64_t most) {
  std::vector<bool> left(static_cast<size_t>(axis.size), true);
  std::vector<Places> parts;
  for (int64_t first = 0; first < axis.size; ++first) {
    if (!left[static_cast<size_t>(first)]) continue;
    const auto part = best_from(first, axis, left, most);
    if (!part) return {};
    for (int64_t i = 0; i < part->count; ++i) left[static_cast<size_t>(part->at(i))] = false;
    parts.push_back(*part);
  }
  return parts;
}

/// Windows that together are the whole: every part of the rows with every part of the columns.
struct Split {
  std::vector<Places> rows, columns;
  size_t count() const { return rows.size() * columns.size(); }
};

/// The fewest windows of at most `most_places` places. Nullopt if there is no way.
std::optional<Split> split(const Axis& rows, const Axis& columns, int64_t most_places) {
  std::optional<Split> best;
  for (int64_t most = 1; most <= std::min(rows.size, most_places); ++most) {
    Split one{parts_of(rows, most), parts_of(columns, std::min(columns.size, most_places / most))};
    if (one.count() > 0 && (!best || one.count() < best->count())) best = std::move(one);
  }
  return best;
}

Axis axis_of(const ConvAttrs& attrs, size_t axis, int64_t size) {
  return {size, attrs.dilation[axis], attrs.low[axis], attrs.high[axis]};
}

/// The weights [C,rows,columns,1] at the places of a part; `weight` has all of them.
Constant weights_of(std::span<const std::byte> weight, const ConvSizes& sizes, const Places& rows,
                    const Places& columns) {
  const auto* from = reinterpret_cast<const float*>(weight.data());
  Tensor part({DType::f32, {sizes.channels, rows.count, columns.count, 1}});
  int64_t place = 0;
  for (int64_t c = 0; c < sizes.channels; ++c)
    for (int64_t i = 0; i < rows.count; ++i)
      for (int64_t j = 0; j < columns.count; ++j)
        part.set(place++, static_cast<double>(
                              from[(c * sizes.rows + rows.at(i)) * sizes.columns + columns.at(j)]));
  return Constant::of(part);
}

Value* sum_of_parts(const Builder& build, const Node& conv, const ConvSizes& sizes,
                    const Split& parts) {
  const auto& attrs = conv.attrs<ConvAttrs>();
  const Axis vertical = axis_of(attrs, 0, sizes.rows),
             horizontal = axis_of(attrs, 1, sizes.columns);
  const std::vector<std::byte> weight = constant_of(conv.operand(1))->bytes();
  Value* sum = nullptr;
  size_t left = parts.count();
  for (const Places& rows : parts.rows)
    for (const Places& columns : parts.columns) {
      std::vector<Value*> operands = {conv.operand(0),
                                      build.constant(weights_of(weight, sizes, rows, columns))};
      if (sum == nullptr && conv.operand_count() > 2) operands.push_back(conv.operand(2));
      const auto low = [](const Axis& axis, const Places& places) {
        return axis.low - places.first * axis.dilation;
      };
      const auto high = [](const Axis& axis, const Places& places) {
        return axis.high - (axis.size - 1 - places.last()) * axis.dilation;
      };
      Value* part =
          build.add(Op::conv, std::move(operands),
                    ConvAttrs{attrs.stride,
                              {rows.step * vertical.dilation, columns.step * horizontal.dilation},
                              {low(vertical, rows), low(horizontal, columns)},
                              {high(vertical, rows), high(horizontal, columns)},
                              attrs.groups,
                              {}});
      --left;
      sum = sum == nullptr
                ? part
                : build.add(Op::add, {sum, part}, BinaryAttrs{left == 0 ? attrs.bounds : Bounds{}});
    }
  return sum;
}

double split_us(const ConvSizes& sizes, const Split& parts, const TargetRules& target) {
  int64_t places = 0;
  for (const Places& rows : parts.rows)
    for (const Places& columns : parts.columns)
      places += *std::ranges::lower_bound(target.depthwise_places, rows.count * columns.count);
  const int64_t results = sizes.out_pixels() * sizes.out_channels;
  const auto additions = static_cast<int64_t>(parts.count() - 1);
  const int64_t ps =
      additions * (target.orders.moves.call_ps +
                   addition_ps(target.orders.moves, results, sizes.out_width * sizes.out_channels));
  return products_us(static_cast<double>(results * places), target.products.depthwise_fs) +
         static_cast<double>(ps) / 1e6;
}

}  // namespace

bool split_depthwise(Graph& graph, PassContext& context) {
  const ProductCosts& products = context.target().products;
  const std::vector<int64_t>& kernels = context.target().depthwise_places;
  if (products.grouped_fs == 0 || kernels.empty()) return false;
  const int64_t most_places = kernels.back();
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::conv)) continue;
    const auto& attrs = node->attrs<ConvAttrs>();
    const auto sizes = float_conv_sizes(*node);
    if (!sizes || attrs.groups != sizes->channels || sizes->out_channels != sizes->channels ||
        sizes->rows * sizes->columns <= most_places)
      continue;
    const auto parts =
        split(axis_of(attrs, 0, sizes->rows), axis_of(attrs, 1, sizes->columns), most_places);
    if (!parts) {
      context.explain(*node, "stays one convolution: parts of its window would cut its input");
      continue;
    }
    if (!pays(context, *node, products_us(sizes->products(attrs.groups), products.grouped_fs),
              split_us(*sizes, *parts, context.target()),
              fmt::format("{} with windows of at most {} places", parts->count(), most_places)))
      continue;
    const BuildBefore build(graph, node);
    replace(graph, node, sum_of_parts(build, *node, *sizes, *parts));
    changed = true;
  }
  return changed;
}

}  // namespace layline
