// Computes 3x3 convolutions by Winograd's method F(2x2,3x3): a tile of 2x2 results takes 16
// products for each pair of channels instead of 36. Along one axis, with the inputs d0..d3 of a
// tile and the window g0..g2,
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
#include <cstring>
#include <memory>
#include <span>

#include "base/parallel.h"
#include "ir/computed_block.h"
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

/// Turns a filter [3,3,C] into sixteen of [C]: g0, (g0 + g1 + g2)/2, (g0 - g1 + g2)/2, g2 along
/// either axis.
class FilterSums {
 public:
  explicit FilterSums(size_t channels)
      : channels_(channels), rows_(kTile * 3 * (channels + kApart)) {}

  /// `filter` may stand anywhere in memory.
  void sum(const std::byte* filter, const std::array<float*, kTile * kTile>& to) {
    const auto row = [&](size_t i, size_t j) {
      return rows_.data() + (i * 3 + j) * (channels_ + kApart);
    };
    const auto place = [&](size_t i, size_t j) {
      return filter + (i * 3 + j) * channels_ * sizeof(float);
    };
    for (size_t j = 0; j < 3; ++j)
      sum({place(0, j), place(1, j), place(2, j)}, {row(0, j), row(1, j), row(2, j), row(3, j)});
    const auto summed = [&](size_t i, size_t j) {
      return reinterpret_cast<const std::byte*>(row(i, j));
    };
    for (size_t i = 0; i < kTile; ++i)
      sum({summed(i, 0), summed(i, 1), summed(i, 2)},
          {to[4 * i], to[4 * i + 1], to[4 * i + 2], to[4 * i + 3]});
  }

 private:
  using Window = std::array<const std::byte*, 3>;

  void sum(const Window& g, const std::array<float*, kTile>& to) const {
    constexpr size_t kLength = 16;
    size_t c = 0;
    for (; c + kLength <= channels_; c += kLength) sum_some<kLength>(g, to, c);
    for (; c < channels_; ++c) sum_some<1>(g, to, c);
  }

  /// Sums in arrays of a fixed length, which the compiler makes vectors of.
  template <size_t kLength>
  static void sum_some(const Window& g, const std::array<float*, kTile>& to, size_t c) {
    std::array<float, kLength> first, middle, last;
    std::memcpy(first.data(), g[0] + c * sizeof(float), sizeof first);
    std::memcpy(middle.data(), g[1] + c * sizeof(float), sizeof middle);
    std::memcpy(last.data(), g[2] + c * sizeof(float), sizeof last);
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

/// The sixteen sums of a weight [K,3,3,C], each [K,C], one after the other.
class WeightSums {
 public:
  explicit WeightSums(Constant weight)
      : weight_(std::move(weight)),
        outputs_(static_cast<size_t>(weight_.shape()[0].value())),
        channels_(static_cast<size_t>(weight_.shape()[3].value())) {}

  size_t part_bytes() const { return outputs_ * channels_ * sizeof(float); }
  /// The distance from the beginning of one part to that of the next.
  size_t stride() const { return part_bytes() + kApart * sizeof(float); }

  /// The sums as a block that is computed when a program with them is written; until then they take
  /// no memory.
  static std::shared_ptr<ComputedBlock> block_of(const Constant& weight) {
    const WeightSums sums(weight);
    const auto first = sums.of_filter(0), last = sums.of_filter(sums.outputs_ - 1);
    std::vector<ComputedBlock::Part> parts(kTile * kTile);
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].begin = i * sums.stride();
      parts[i].size = sums.part_bytes();
      std::memcpy(parts[i].first.data(), &first[i * sums.channels_], sizeof(float));
      std::memcpy(parts[i].last.data(), &last[(i + 1) * sums.channels_ - 1], sizeof(float));
    }
    return std::make_shared<ComputedBlock>(
        kTile * kTile * sums.stride(), std::move(parts),
        [sums](std::span<std::byte> block) { sums.compute(block); });
  }

 private:
  /// The sums [16,C] of one filter.
  std::vector<float> of_filter(size_t filter) const {
    std::vector<float> sums(kTile * kTile * channels_);
    write(filter, filter + 1, sums.data(), channels_);
    return sums;
  }

  void compute(std::span<std::byte> block) const {
    auto* sums = reinterpret_cast<float*>(block.data());
    in_parallel_pieces(outputs_, 9 * channels_ * sizeof(float), [&](size_t begin, size_t end) {
      write(begin, end, sums + begin * channels_, stride() / sizeof(float));
    });
  }

  /// The sums of some filters, each part `stride` floats after the one before. The filters are
  /// read one by one as they stream by: there is no copy of all weights.
  void write(size_t begin, size_t end, float* sums, size_t stride) const {
    std::array<float*, kTile * kTile> to;
    for (size_t i = 0; i < to.size(); ++i) to[i] = sums + i * stride;
    FilterSums filter_sums(channels_);
    std::vector<std::byte> rest;  // the rest of a filter that pieces cut
    const size_t size = 9 * channels_ * sizeof(float);
    const auto sum = [&](const std::byte* filter) {
      filter_sums.sum(filter, to);
      for (float*& next : to) next += channels_;
    };
    weight_.rows(begin, end).stream([&](std::span<const std::byte> piece) {
      while (!piece.empty()) {
        if (rest.empty() && piece.size() >= size) {
          sum(piece.data());
          piece = piece.subspan(size);
          continue;
        }
        const auto part = piece.first(std::min(piece.size(), size - rest.size()));
        rest.insert(rest.end(), part.begin(), part.end());
        piece = piece.subspan(part.size());
        if (rest.size() < size) continue;
        sum(rest.data());
        rest.clear();
      }
    });
  }

  Constant weight_;
  size_t outputs_, channels_;
};

Weights weights_of(const Constant& weight) {
  const auto block = WeightSums::block_of(weight);
  const Shape shape = {weight.shape()[0], 1, 1, weight.shape()[3]};
  Weights weights;
  for (size_t i = 0; i < kTile * kTile; ++i)
    weights[i / kTile][i % kTile] = Constant::computed(DType::f32, shape, block, i);
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
    const std::array<float, 4> window = {
        vertical.sign * horizontal.sign, vertical.sign * horizontal.second_sign,
        vertical.second_sign * horizontal.sign, vertical.second_sign * horizontal.second_sign};
    std::vector<std::byte> signs;
    signs.reserve(static_cast<size_t>(sizes_.channels) * sizeof window);
    const auto bytes = std::as_bytes(std::span(window));
    for (int64_t c = 0; c < sizes_.channels; ++c)
      signs.insert(signs.end(), bytes.begin(), bytes.end());
    const auto weight = Constant::owned(DType::f32, {sizes_.channels, 2, 2, 1}, std::move(signs));
    const int64_t top = low_[0] - vertical.first, left = low_[1] - horizontal.first;
    return build_.add(Op::conv, {conv_.operand(0), build_.constant(weight)},
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
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::conv)) continue;
    const auto& attrs = node->attrs<ConvAttrs>();
    const auto sizes = float_conv_sizes(*node);
    if (!sizes || !has_form(*sizes, attrs)) continue;
    if (!pays(context, *node, products_us(sizes->products(attrs.groups), products.window_fs),
              winograd_us(*sizes, context.target()), "16 products of a tile"))
      continue;
    const Weights weights = weights_of(*constant_of(node->operand(1)));
    const BuildBefore build(graph, node);
    replace(graph, node, Winograd(build, *node, *sizes, weights).result());
    changed = true;
  }
  return changed;
}

}  // namespace layline
