// 3x3 convolutions by Winograd's method F(2x2,3x3): a tile of 2x2 results takes 16 products for
// each pair of channels instead of 36. Along one axis, with the inputs d0..d3 of a tile and the
// window g0..g2,
//
//   m0 = (d0 - d2) g0               y0 = m0 + m1 + m2
//   m1 = (d1 + d2) (g0 + g1 + g2)/2 y1 = m1 - m2 - m3
//   m2 = (d2 - d1) (g0 - g1 + g2)/2
//   m3 = (d1 - d3) g2
//
// and the same along the other. What stands before the products takes two inputs on each axis: a
// depthwise convolution with a window of 2x2 and stride 2, dilated where the two are not
// neighbours. The sums of weights are constants. So sixteen depthwise convolutions feed sixteen
// pointwise ones, whose results are added; the four images of results stand behind each other as
// channels and rows, which makes one image of them by two concats and a view.
//
// All numbers are sums of few inputs or weights with factors of 1, 1/2 and 1/4, so the error stays
// at that of a plain convolution, times a small number (docs/benchmarks.md, "Winograd").
#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "base/parallel.h"
#include "ir/tensor.h"
#include "transforms/conv_choice.h"
#include "transforms/passes.h"

namespace layline {
namespace {

constexpr size_t kTile = 4;  // inputs along an axis of a tile

// Floats between arrays that are written at the same time: without them, all would lie in the same
// lines of the cache wherever the number of channels is a power of two.
constexpr size_t kApart = 80;

/// The two inputs of a sum before a product: the first one's place, how far the second is from it,
/// and their signs.
struct Pair {
  int64_t first, step;
  float sign, second_sign;
};
constexpr std::array<Pair, kTile> kPairs = {
    {{0, 2, 1, -1}, {1, 1, 1, 1}, {1, 1, -1, 1}, {1, 2, 1, -1}}};

using Row = std::array<Value*, kTile>;

int64_t tiles(int64_t results) { return (results + 1) / 2; }

/// Padding after the input, such that there are as many sums as tiles; negative if there would be
/// more without any.
int64_t high_padding(int64_t size, int64_t low, const Pair& pair, int64_t results) {
  const int64_t high = 2 * (tiles(results) - 1) + pair.step + 1 - size - low;
  return high == -1 ? 0 : high;  // a stride of 2 leaves one row over
}

/// Whether every pair begins at an input or its padding, and none is left over.
bool has_tiles(int64_t size, int64_t low, int64_t results) {
  for (const Pair& pair : kPairs)
    if (pair.first > low || high_padding(size, low - pair.first, pair, results) < 0) return false;
  return true;
}

/// A filter [3,3,C] to sixteen times [C]: g0, (g0 + g1 + g2)/2, (g0 - g1 + g2)/2, g2 along either
/// axis.
class FilterSums {
 public:
  explicit FilterSums(size_t channels)
      : channels_(channels), rows_(kTile * 3 * (channels + kApart)) {}

  void sum(const float* filter, const std::array<float*, kTile * kTile>& to) {
    const auto row = [&](size_t i, size_t j) {
      return rows_.data() + (i * 3 + j) * (channels_ + kApart);
    };
    const auto place = [&](size_t i, size_t j) { return filter + (i * 3 + j) * channels_; };
    for (size_t j = 0; j < 3; ++j)
      sum({place(0, j), place(1, j), place(2, j)}, {row(0, j), row(1, j), row(2, j), row(3, j)});
    for (size_t i = 0; i < kTile; ++i)
      sum({row(i, 0), row(i, 1), row(i, 2)},
          {to[4 * i], to[4 * i + 1], to[4 * i + 2], to[4 * i + 3]});
  }

 private:
  void sum(const std::array<const float*, 3>& g, const std::array<float*, kTile>& to) const {
    constexpr size_t kLength = 16;
    size_t c = 0;
    for (; c + kLength <= channels_; c += kLength) sum_some<kLength>(g, to, c);
    for (; c < channels_; ++c) sum_some<1>(g, to, c);
  }

  /// In arrays of a fixed length, which the compiler makes vectors of.
  template <size_t kLength>
  static void sum_some(const std::array<const float*, 3>& g, const std::array<float*, kTile>& to,
                       size_t c) {
    std::array<float, kLength> first, middle, last;
    std::copy_n(g[0] + c, kLength, first.begin());
    std::copy_n(g[1] + c, kLength, middle.begin());
    std::copy_n(g[2] + c, kLength, last.begin());
    std::array<float, kLength> with, without;
    for (size_t k = 0; k < kLength; ++k) {
      with[k] = (first[k] + last[k]) / 2 + middle[k] / 2;
      without[k] = (first[k] + last[k]) / 2 - middle[k] / 2;
    }
    std::copy_n(first.begin(), kLength, to[0] + c);
    std::copy_n(with.begin(), kLength, to[1] + c);
    std::copy_n(without.begin(), kLength, to[2] + c);
    std::copy_n(last.begin(), kLength, to[3] + c);
  }

  size_t channels_;
  std::vector<float> rows_;  // summed along the first axis
};

using Weights = std::array<std::array<std::optional<Constant>, kTile>, kTile>;

/// [K,3,3,C] to sixteen of [K,1,1,C], one after the other in one block. The filters are read one by
/// one as they stream by: there is no second copy of all weights.
Weights weights_of(const Constant& weight) {
  const auto outputs = static_cast<size_t>(weight.shape()[0].value());
  const auto channels = static_cast<size_t>(weight.shape()[3].value());
  const size_t count = outputs * channels;
  const auto block = std::make_shared_for_overwrite<float[]>(kTile * kTile * (count + kApart));
  FilterSums sums(channels);
  std::array<float*, kTile * kTile> to;
  for (size_t i = 0; i < to.size(); ++i) to[i] = block.get() + i * (count + kApart);
  std::vector<float> filter(9 * channels);
  const std::span<std::byte> whole = std::as_writable_bytes(std::span(filter));
  size_t filled = 0;
  weight.stream([&](std::span<const std::byte> piece) {
    while (!piece.empty()) {
      const auto part = piece.first(std::min(piece.size(), whole.size() - filled));
      std::ranges::copy(part, whole.begin() + static_cast<std::ptrdiff_t>(filled));
      piece = piece.subspan(part.size());
      filled = (filled + part.size()) % whole.size();
      if (filled != 0) continue;
      sums.sum(filter.data(), to);
      for (float*& next : to) next += channels;
    }
  });
  Weights weights;
  const Shape shape = {weight.shape()[0], 1, 1, weight.shape()[3]};
  for (size_t i = 0; i < to.size(); ++i) {
    const std::span<const float> sum(block.get() + i * (count + kApart), count);
    weights[i / kTile][i % kTile] = Constant::view(DType::f32, shape, std::as_bytes(sum), block);
  }
  return weights;
}

class Winograd {
 public:
  Winograd(const Builder& build, const Node& conv, const ConvSizes& sizes, const Weights& weights)
      : build_(build), conv_(conv), sizes_(sizes), low_(conv.attrs<ConvAttrs>().low) {
    for (size_t i = 0; i < kTile; ++i)
      for (size_t j = 0; j < kTile; ++j) weights_[i][j] = build.constant(*weights[i][j]);
  }

  Value* result() const {
    // A column of tiles at a time, so that few products are alive at once.
    std::array<Row, 2> columns;
    for (size_t j = 0; j < kTile; ++j) {
      const Row m = {product(0, j), product(1, j), product(2, j), product(3, j)};
      const auto [y0, y1] = results(m, {});
      columns[0][j] = y0;
      columns[1][j] = y1;
    }
    const Bounds& bounds = conv_.attrs<ConvAttrs>().bounds;
    std::vector<Value*> rows;
    for (const Row& m : columns) {
      const auto [y0, y1] = results(m, bounds);
      rows.push_back(build_.concat({y0, y1}, 3));
    }
    const int64_t height = tiles(sizes_.out_height), width = tiles(sizes_.out_width);
    Value* y = build_.view(build_.concat(std::move(rows), 2),
                           {sizes_.batch, 2 * height, 2 * width, sizes_.out_channels});
    if (2 * height != sizes_.out_height) y = build_.slice(y, 1, 0, sizes_.out_height);
    if (2 * width != sizes_.out_width) y = build_.slice(y, 2, 0, sizes_.out_width);
    return y;
  }

 private:
  Value* product(size_t i, size_t j) const {
    std::vector<Value*> operands = {sum_of_inputs(kPairs[i], kPairs[j]), weights_[i][j]};
    // m1 of both axes is in every result, and nowhere negative.
    if (i == 1 && j == 1 && conv_.operand_count() > 2) operands.push_back(conv_.operand(2));
    return build_.add(Op::conv, std::move(operands),
                      ConvAttrs{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}});
  }

  Value* sum_of_inputs(const Pair& vertical, const Pair& horizontal) const {
    Tensor signs({DType::f32, {sizes_.channels, 2, 2, 1}});
    for (int64_t c = 0; c < sizes_.channels; ++c)
      for (int64_t place = 0; place < 4; ++place)
        signs.set(4 * c + place, (place < 2 ? vertical.sign : vertical.second_sign) *
                                     (place % 2 == 0 ? horizontal.sign : horizontal.second_sign));
    const int64_t top = low_[0] - vertical.first, left = low_[1] - horizontal.first;
    return build_.add(Op::conv, {conv_.operand(0), build_.constant(signs)},
                      ConvAttrs{{2, 2},
                                {vertical.step, horizontal.step},
                                {top, left},
                                {high_padding(sizes_.height, top, vertical, sizes_.out_height),
                                 high_padding(sizes_.width, left, horizontal, sizes_.out_width)},
                                sizes_.channels,
                                {}});
  }

  std::pair<Value*, Value*> results(const Row& m, const Bounds& bounds) const {
    return {build_.add(Op::add, {m[0], build_.add(Op::add, {m[1], m[2]})}, BinaryAttrs{bounds}),
            build_.add(Op::sub, {build_.add(Op::sub, {m[1], m[2]}), m[3]}, BinaryAttrs{bounds})};
  }

  const Builder& build_;
  const Node& conv_;
  const ConvSizes& sizes_;
  const Ints& low_;
  std::array<Row, kTile> weights_;
};

bool has_form(const ConvSizes& sizes, const ConvAttrs& attrs) {
  return attrs.groups == 1 && sizes.rows == 3 && sizes.columns == 3 && attrs.stride == Ints{1, 1} &&
         attrs.dilation == Ints{1, 1} && has_tiles(sizes.height, attrs.low[0], sizes.out_height) &&
         has_tiles(sizes.width, attrs.low[1], sizes.out_width);
}

double winograd_us(const ConvSizes& sizes, const TargetRules& target) {
  constexpr int64_t kBytes = 4;
  const MoveCosts& moves = target.orders.moves;
  const int64_t pixels = sizes.batch * tiles(sizes.out_height) * tiles(sizes.out_width);
  const int64_t products = 16 * pixels * sizes.channels;
  const int64_t row = tiles(sizes.out_width) * sizes.out_channels;
  int64_t ps = 35 * moves.call_ps + 24 * addition_ps(moves, pixels * sizes.out_channels, row);
  const int64_t bytes = 4 * pixels * sizes.out_channels * kBytes;
  ps += moves.concat.copy_ps(bytes, sizes.out_channels * kBytes);
  ps += moves.concat.copy_ps(bytes, 2 * row * kBytes);
  if (sizes.out_height % 2 != 0) ps += moves.slice.copy_ps(bytes, 2 * row * kBytes);
  if (sizes.out_width % 2 != 0) ps += moves.slice.copy_ps(bytes, 2 * row * kBytes);
  return products_us(static_cast<double>(products) * 4, target.products.depthwise_fs) +
         products_us(static_cast<double>(products) * static_cast<double>(sizes.out_channels),
                     target.products.pointwise_fs) +
         static_cast<double>(ps) / 1e6;
}

}  // namespace

bool winograd_convs(Graph& graph, PassContext& context) {
  const ProductCosts& products = context.target().products;
  if (products.window_fs == 0) return false;
  std::vector<std::pair<Node*, ConvSizes>> chosen;
  for (Node* node : graph) {
    if (!node->is(Op::conv)) continue;
    const auto& attrs = node->attrs<ConvAttrs>();
    const auto sizes = float_conv_sizes(*node);
    if (!sizes || !has_form(*sizes, attrs)) continue;
    if (pays(context, *node, products_us(sizes->products(attrs.groups), products.window_fs),
             winograd_us(*sizes, context.target()), "16 products of a tile"))
      chosen.emplace_back(node, *sizes);
  }
  // To sum up the filters takes a third of the time of compiling a ResNet-18.
  std::vector<Weights> weights(chosen.size());
  in_parallel(chosen.size(), [&](size_t i) {
    weights[i] = weights_of(*constant_of(chosen[i].first->operand(1)));
  });
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto& [node, sizes] = chosen[i];
    const BuildBefore build(graph, node);
    replace(graph, node, Winograd(build, *node, sizes, weights[i]).result());
  }
  return !chosen.empty();
}

}  // namespace layline
