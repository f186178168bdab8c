// Convolutions with few outputs and long windows compute blocks of neighbouring places at once, as
// channels. Neighbours read nearly the same elements:
//
//   x   as  [N, H, blocks, B * stride * C]
//   y   as  [N, H', blocks, B * O],   from as many blocks of x as hold the windows of one
//
// Kernels compute as many channels at once as their vectors hold, whether or not there are so many:
// one output takes the time of eight. And XNNPACK keeps a pointer for each element of each window:
// 256 of them for each of 22,000 samples are 45 MB. A block has them once.
//
// The windows of a block's later places begin later, so some of its weights are 0.
#include "ir/evaluate.h"
#include "transforms/conv_choice.h"
#include "transforms/passes.h"

namespace layline {
namespace {

struct Blocks {
  int64_t places;    // of the result in a block, along its row
  int64_t elements;  // of x in a block, each with all channels
  int64_t window;    // how many blocks of x one of the result reads
};

int64_t rounded_up(int64_t number, int64_t step) { return (number + step - 1) / step * step; }

Blocks blocks_of(const ConvSizes& conv, int64_t stride, int64_t places) {
  const int64_t elements = places * stride;
  const int64_t read = (places - 1) * stride + conv.columns;
  return {places, elements, rounded_up(read, elements) / elements};
}

/// The products in the result, with those of lanes that compute nothing.
double products(const ConvSizes& conv, int64_t columns, int64_t places, int64_t lanes) {
  const int64_t outputs = rounded_up(places * conv.out_channels, lanes);
  return static_cast<double>(conv.out_pixels() * conv.rows * columns * conv.channels) *
         static_cast<double>(outputs) / static_cast<double>(places);
}

double products(const ConvSizes& conv, const Blocks& blocks, int64_t lanes) {
  return products(conv, blocks.window * blocks.elements, blocks.places, lanes);
}

/// The blocks that take the fewest products on vectors of so many lanes; nothing if blocks take
/// more.
std::optional<Blocks> best_blocks(const ConvSizes& conv, int64_t stride, int64_t lanes) {
  constexpr int64_t kMostWeights = 1 << 16;
  std::optional<Blocks> best;
  double least = products(conv, conv.columns, 1, lanes);
  for (int64_t places = 2; places <= 2 * lanes && places <= conv.out_width; places *= 2) {
    const Blocks blocks = blocks_of(conv, stride, places);
    const int64_t weights = blocks.window * blocks.elements * conv.rows * conv.channels *
                            blocks.places * conv.out_channels;
    if (weights > kMostWeights || products(conv, blocks, lanes) >= least) continue;
    least = products(conv, blocks, lanes);
    best = blocks;
  }
  return best;
}

/// Whether blocks pay on the shortest vectors, too: by half of the products, if there are many
/// of them for each element that is moved; or by the pointers, if these take much more memory than
/// the image.
bool pay_everywhere(const ConvSizes& conv, const Blocks& blocks, int64_t lanes) {
  constexpr double kManyProducts = 1 << 20, kManyForAnElement = 32, kManyPointers = 1 << 21;
  const double before = products(conv, conv.columns, 1, lanes);
  const double after = products(conv, blocks, lanes);
  const auto elements = static_cast<double>(conv.batch * conv.height * conv.width * conv.channels);
  const auto pointers = static_cast<double>(conv.out_pixels() * conv.rows * conv.columns);
  if (pointers >= kManyPointers && pointers >= 4 * elements && after <= 1.05 * before) return true;
  return after <= before / 2 && before - after >= kManyProducts &&
         before - after >= kManyForAnElement * elements;
}

/// The weight [O, rows, columns, C] as one [B * O, rows, window, elements * C].
Tensor block_weight(const Tensor& weight, const Blocks& blocks, int64_t stride) {
  const int64_t outputs = weight.dim(0), rows = weight.dim(1), columns = weight.dim(2),
                channels = weight.dim(3), width = blocks.window * blocks.elements;
  Tensor result(
      {weight.dtype(), {blocks.places * outputs, rows, blocks.window, blocks.elements * channels}});
  for (int64_t place = 0; place < blocks.places; ++place)
    for (int64_t output = 0; output < outputs; ++output)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < columns * channels; ++i) {
          const int64_t from = (output * rows + row) * columns * channels + i;
          const int64_t to = ((place * outputs + output) * rows + row) * width * channels +
                             place * stride * channels + i;
          result.set(to, weight.get(from));
        }
  return result;
}

/// The number of each output, for each place of a block.
Tensor block_bias(const Tensor& bias, const Blocks& blocks) {
  Tensor result({bias.dtype(), {blocks.places * bias.count()}});
  for (int64_t i = 0; i < result.count(); ++i) result.set(i, bias.get(i % bias.count()));
  return result;
}

/// x as rows of `width` elements, with `low` zeros before it and as many behind as are needed.
Value* fitted(const Builder& build, Value* x, int64_t low, int64_t width) {
  const int64_t high = width - low - x->shape()[2].value();
  if (high < 0) x = build.slice(x, 2, 0, width - low);
  if (low == 0 && high <= 0) return x;
  return build.add(Op::pad, {x}, PadAttrs{{0, 0, low, 0}, {0, 0, std::max<int64_t>(high, 0), 0}});
}

Value* in_blocks(const Builder& build, const Node& conv, const ConvSizes& sizes,
                 const Blocks& blocks) {
  ConvAttrs attrs = conv.attrs<ConvAttrs>();
  const int64_t count = rounded_up(sizes.out_width, blocks.places) / blocks.places;
  const int64_t read = count + blocks.window - 1;
  Value* x = fitted(build, conv.operand(0), attrs.low[1], read * blocks.elements);
  std::vector<Value*> operands = {
      build.view(x, {sizes.batch, sizes.height, read, blocks.elements * sizes.channels}),
      build.constant(
          block_weight(tensor_of(*constant_of(conv.operand(1))), blocks, attrs.stride[1]))};
  if (conv.operand_count() > 2)
    operands.push_back(
        build.constant(block_bias(tensor_of(*constant_of(conv.operand(2))), blocks)));
  attrs.stride[1] = 1;
  attrs.low[1] = attrs.high[1] = 0;
  Value* y = build.add(Op::conv, std::move(operands), std::move(attrs));
  y = build.view(y, {sizes.batch, sizes.out_height, count * blocks.places, sizes.out_channels});
  return count * blocks.places == sizes.out_width ? y : build.slice(y, 2, 0, sizes.out_width);
}

}  // namespace

bool block_convs(Graph& graph, PassContext& context) {
  const int64_t lanes = context.target().least_lanes;
  if (lanes == 0) return false;
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::conv)) continue;
    const auto& attrs = node->attrs<ConvAttrs>();
    const auto sizes = float_conv_sizes(*node);
    if (!sizes || attrs.groups != 1 || attrs.dilation[1] != 1 ||
        (node->operand_count() > 2 && constant_of(node->operand(2)) == nullptr))
      continue;
    const auto blocks = best_blocks(*sizes, attrs.stride[1], 2 * lanes);
    if (!blocks || !pay_everywhere(*sizes, *blocks, lanes)) continue;
    context.rewrite(*node, "computes {} neighbours at once, as channels", blocks->places);
    const BuildBefore build(graph, node);
    replace(graph, node, in_blocks(build, *node, *sizes, *blocks));
    changed = true;
  }
  return changed;
}

}  // namespace layline
