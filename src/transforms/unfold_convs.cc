// Turns convolutions into pointwise ones, if the target says that those are so much faster that
// copying pays. The input is unfolded along its rows: the places of a window's row stand behind
// each other as channels. Each row of the window is then one pointwise convolution on the rows that
// it sees, and their results are added:
//
//   y[h,w] = sum over i of W[i] * u[h*stride + i*dilation, w],
//   u[h,w] = x[h,w*stride], x[h,w*stride + dilation], ... as channels.
//
// In XNNPACK on AVX2 the kernel that gathers windows runs at less than half the speed of the one
// for plain products (docs/benchmarks.md, "Unfolded convolutions").
#include <cstring>
#include <memory>
#include <span>

#include "ir/computed_block.h"
#include "transforms/conv_choice.h"
#include "transforms/passes.h"

namespace layline {
namespace {

/// The cost of copying the input apart and adding the results, in picoseconds.
int64_t copying_ps(const ConvSizes& w, const ConvAttrs& attrs, const MoveCosts& moves) {
  constexpr int64_t kBytes = 4;
  const int64_t height = w.height + attrs.low[0] + attrs.high[0];
  const int64_t width = w.width + attrs.low[1] + attrs.high[1];
  const int64_t pixel = w.channels * kBytes, unfolded = pixel * w.columns;
  const int64_t in_row = attrs.stride[1] == 1 ? pixel * w.out_width : pixel;
  const int64_t in_image = attrs.stride[0] == 1 ? w.out_height : 1;
  int64_t ps = moves.call_ps * (2 + w.columns + 2 * w.rows);
  ps += moves.slice.copy_ps(w.batch * height * width * pixel, width * pixel);  // padding
  if (w.columns > 1) {
    const int64_t bytes = w.batch * height * w.out_width * unfolded;
    ps += moves.slice.copy_ps(bytes, in_row) + moves.concat.copy_ps(bytes, pixel);
  }
  if (w.rows > 1) {
    ps +=
        w.rows * moves.slice.copy_ps(w.out_pixels() * unfolded, in_image * w.out_width * unfolded);
    ps += (w.rows - 1) *
          addition_ps(moves, w.out_pixels() * w.out_channels, w.out_width * w.out_channels);
  }
  return ps;
}

/// The weights of one row of the window: [O,1,1,columns*C]. They are taken apart when a program is
/// written; until then they take no memory.
std::vector<Constant> rows_of(const Constant& weight) {
  const Shape shape = weight.shape();
  const int order[] = {1, 0, 2, 3};
  const Constant by_row = weight.relaid(Relayout::permute(shape, order));
  const auto outputs = static_cast<size_t>(shape[0].value());
  const auto count = static_cast<size_t>(shape[1].value());
  const size_t size = by_row.byte_count() / count;
  const std::vector<std::byte> first = weight.rows(0, 1).bytes();
  const std::vector<std::byte> last = weight.rows(outputs - 1, outputs).bytes();
  const size_t row = first.size() / count, element = byte_size(weight.dtype());
  std::vector<ComputedBlock::Part> parts(count);
  for (size_t i = 0; i < count; ++i) {
    parts[i].begin = i * size;
    parts[i].size = size;
    std::memcpy(parts[i].first.data(), &first[i * row], element);
    std::memcpy(parts[i].last.data(), &last[(i + 1) * row - element], element);
  }
  const auto block = std::make_shared<ComputedBlock>(
      by_row.byte_count(), std::move(parts),
      [by_row](std::span<std::byte> bytes) { by_row.materialise(bytes); });
  std::vector<Constant> rows;
  for (size_t i = 0; i < count; ++i)
    rows.push_back(
        Constant::computed(weight.dtype(), {shape[0], 1, 1, shape[2] * shape[3]}, block, i));
  return rows;
}

Value* part_of(const Builder& build, Value* x, int64_t axis, int64_t start, int64_t size,
               int64_t step) {
  if (x->shape()[static_cast<size_t>(axis)] == Dim(size)) return x;
  return build.slice(x, axis, start, size, step);
}

Value* unfold(const Builder& build, const Node& conv, const ConvSizes& window) {
  const auto& attrs = conv.attrs<ConvAttrs>();
  Value* x = conv.operand(0);
  if (attrs.low != Ints{0, 0} || attrs.high != Ints{0, 0})
    x = build.add(Op::pad, {x},
                  PadAttrs{{0, attrs.low[0], attrs.low[1], 0},
                           {0, attrs.high[0], attrs.high[1], 0},
                           PadMode::constant,
                           0});
  std::vector<Value*> places;
  for (int64_t i = 0; i < window.columns; ++i)
    places.push_back(
        part_of(build, x, 2, i * attrs.dilation[1], window.out_width, attrs.stride[1]));
  Value* unfolded = places.size() == 1 ? places[0] : build.concat(std::move(places), 3);

  const std::vector<Constant> weights = rows_of(*constant_of(conv.operand(1)));
  Value* sum = nullptr;
  for (int64_t i = 0; i < window.rows; ++i) {
    const bool last = i + 1 == window.rows;
    std::vector<Value*> operands = {
        part_of(build, unfolded, 1, i * attrs.dilation[0], window.out_height, attrs.stride[0]),
        build.constant(weights[static_cast<size_t>(i)])};
    if (i == 0 && conv.operand_count() > 2) operands.push_back(conv.operand(2));
    ConvAttrs pointwise{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}};
    if (last && sum == nullptr) pointwise.bounds = attrs.bounds;
    Value* row = build.add(Op::conv, std::move(operands), std::move(pointwise));
    if (sum == nullptr)
      sum = row;
    else
      sum = build.add(Op::add, {sum, row}, BinaryAttrs{last ? attrs.bounds : Bounds{}});
  }
  return sum;
}

}  // namespace

bool unfold_convs(Graph& graph, PassContext& context) {
  const ProductCosts& products = context.target().products;
  if (products.window_fs <= products.pointwise_fs) return false;
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::conv)) continue;
    const auto& attrs = node->attrs<ConvAttrs>();
    const auto sizes = float_conv_sizes(*node);
    if (!sizes || attrs.groups != 1) continue;
    // A pointwise one with a stride gathers as windows do.
    if (sizes->rows * sizes->columns == 1 && attrs.stride == Ints{1, 1}) continue;
    const double count = sizes->products(attrs.groups);
    const int64_t copying = copying_ps(*sizes, attrs, context.target().orders.moves);
    if (!pays(context, *node, products_us(count, products.window_fs),
              products_us(count, products.pointwise_fs) + static_cast<double>(copying) / 1e6,
              fmt::format("{} pointwise convolutions", sizes->rows)))
      continue;
    const BuildBefore build(graph, node);
    replace(graph, node, unfold(build, *node, *sizes));
    changed = true;
  }
  return changed;
}

}  // namespace layline
