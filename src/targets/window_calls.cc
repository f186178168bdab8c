#include "targets/window_calls.h"

#include <algorithm>
#include <cmath>

namespace layline::window_calls {
namespace {

Shape channels_first(const Shape& s) { return {s[0], s[3], s[1], s[2]}; }

/// The operand as the kernels want it, and a place for what they give.
struct Images {
  Images(MethodBuilder& builder, const Node& node)
      : method(builder),
        result(node.result()),
        in(method.temporary({result->dtype(), channels_first(node.operand(0)->shape())})),
        out(method.temporary({result->dtype(), channels_first(result->shape())})) {
    method.call("aten::permute_copy", "out",
                {method.tensor(node.operand(0)), method.ints({0, 3, 1, 2})}, in);
  }
  void give_back() {
    method.call("aten::permute_copy", "out", {out, method.ints({0, 2, 3, 1})}, result);
  }

  MethodBuilder& method;
  const Value* result;
  pte::ValueId in, out;
};

/// A constant is moved at compile time, anything else when it is called.
pte::ValueId moved(MethodBuilder& method, const Value* weight, const Relayout& relayout) {
  if (const Constant* constant = constant_of(weight))
    return method.constant(constant->relaid(relayout));
  const auto [factors, order] = relayout.as_transpose();
  const DType dtype = weight->dtype();
  Shape permuted;
  for (int factor : order) permuted.push_back(factors[static_cast<size_t>(factor)]);
  auto view = [&](pte::ValueId from, const Shape& shape) {
    const pte::ValueId to = method.temporary({dtype, shape});
    method.call("aten::view_copy", "out", {from, method.sizes(shape)}, to);
    return to;
  };
  const pte::ValueId split = view(method.tensor(weight), factors);
  const pte::ValueId turned = method.temporary({dtype, permuted});
  method.call("aten::permute_copy", "out", {split, method.ints({order.begin(), order.end()})},
              turned);
  return view(turned, relayout.target());
}

std::string refuse_window(const Ints& stride, const Ints& low, const Ints& high,
                          const Bounds& bounds) {
  if (stride.size() != 2) return "windows of other than two spatial axes";
  if (low != high) return "different padding on both sides outside a delegate";
  return bounds.unbounded() ? "" : "a fused clamp outside a delegate";
}

template <typename Attrs>
void convolve(MethodBuilder& method, const Node& node, const Attrs& attrs, const Relayout& weight,
              const Ints& extra, bool transposed) {
  Images images(method, node);
  const pte::ValueId bias =
      node.operand_count() > 2 ? method.tensor(node.operand(2)) : method.none();
  method.call("aten::convolution", "out",
              {images.in, moved(method, node.operand(1), weight), bias, method.ints(attrs.stride),
               method.ints(attrs.low), method.ints(attrs.dilation), method.boolean(transposed),
               method.ints(extra), method.integer(attrs.groups)},
              images.out);
  images.give_back();
}

}  // namespace

std::string refuse_conv(const Node& node) {
  const auto& attrs = node.attrs<ConvAttrs>();
  return refuse_window(attrs.stride, attrs.low, attrs.high, attrs.bounds);
}

/// The weight goes from [O, H, W, I] to [O, I, H, W].
void conv(MethodBuilder& method, const Node& node) {
  static constexpr int kOrder[] = {0, 3, 1, 2};
  convolve(method, node, node.attrs<ConvAttrs>(),
           Relayout::permute(node.operand(1)->shape(), kOrder), {0, 0}, false);
}

std::string refuse_conv_transpose(const Node& node) {
  const auto& attrs = node.attrs<ConvTransposeAttrs>();
  return refuse_window(attrs.stride, attrs.low, attrs.high, attrs.bounds);
}

/// The weight goes from [groups * O, H, W, I] to [groups * I, O, H, W].
void conv_transpose(MethodBuilder& method, const Node& node) {
  const auto& attrs = node.attrs<ConvTransposeAttrs>();
  const Shape& s = node.operand(1)->shape();
  const Dim outputs = *divide(s[0], attrs.groups);
  const Relayout weight =
      Relayout::from_factors(s, {attrs.groups, outputs, s[1] * s[2], s[3]}, {0, 3, 1, 2},
                             {s[3] * Dim(attrs.groups), outputs, s[1], s[2]});
  convolve(method, node, attrs, weight, attrs.extra, true);
}

std::string refuse_pool(const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  for (size_t i = 0; i < attrs.low.size(); ++i)
    if (2 * attrs.low[i] > attrs.kernel[i]) return "padding of more than half the kernel";
  return refuse_window(attrs.stride, attrs.low, attrs.high, attrs.bounds);
}

void max_pool(MethodBuilder& method, const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  Images images(method, node);
  const pte::ValueId places =
      method.temporary({DType::i64, channels_first(node.result()->shape())});
  method.method().instructions.push_back(
      pte::KernelCall{"aten::max_pool2d_with_indices",
                      "out",
                      {images.in, method.ints(attrs.kernel), method.ints(attrs.stride),
                       method.ints(attrs.low), method.ints(attrs.dilation), method.boolean(false),
                       images.out, places, method.tensors({images.out, places})}});
  images.give_back();
}

std::string refuse_avg_pool(const Node& node) {
  const auto& dilation = node.attrs<PoolAttrs>().dilation;
  if (std::ranges::any_of(dilation, [](int64_t step) { return step != 1; }))
    return "an average over every other element";
  return refuse_pool(node);
}

void avg_pool(MethodBuilder& method, const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  Images images(method, node);
  method.call(
      "aten::avg_pool2d", "out",
      {images.in, method.ints(attrs.kernel), method.ints(attrs.stride), method.ints(attrs.low),
       method.boolean(false), method.boolean(attrs.count_padding), method.none()},
      images.out);
  images.give_back();
}

namespace {

/// What the kernel is given so that it computes the same as the node, if anything does. From the
/// sizes it computes how far the places in the source are apart; from the scales, the sizes.
enum class ResizeBy { sizes, scales, neither };

ResizeBy resize_by(const Node& node) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  bool by_sizes = true, by_scales = !attrs.align_corners;
  for (size_t i = 0; i < attrs.size.size(); ++i) {
    const Dim from = node.operand(0)->shape()[i + 1];
    if (!from.is_static() || !attrs.size[i].is_static()) {
      // A dynamic size follows from the scale in torch as it does in the kernel.
      by_sizes = by_sizes && attrs.step[i] == ResizeAttrs::kRatio;
      by_scales = by_scales && attrs.step[i] != ResizeAttrs::kRatio;
      continue;
    }
    const auto in = static_cast<double>(from.value());
    const auto out = static_cast<double>(attrs.size[i].value());
    const bool corners = attrs.align_corners && attrs.mode == ResizeMode::bilinear;
    const double step = !corners ? in / out : out > 1 ? (in - 1) / (out - 1) : 0;
    by_sizes = by_sizes && std::abs(attrs.step[i] - step) <= 1e-9 * step;
    by_scales = by_scales && static_cast<int64_t>(in / attrs.step[i]) == attrs.size[i].value();
  }
  return by_sizes ? ResizeBy::sizes : by_scales ? ResizeBy::scales : ResizeBy::neither;
}

}  // namespace

std::string refuse_resize(const Node& node) {
  if (node.operand(0)->shape().size() != 4) return "a resize of other than two spatial axes";
  return resize_by(node) == ResizeBy::neither ? "a resize that is not by the ratio of sizes" : "";
}

void resize(MethodBuilder& method, const Node& node) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  Images images(method, node);
  std::vector<double> scales;
  for (double step : attrs.step) scales.push_back(1 / step);
  const bool by_sizes = resize_by(node) == ResizeBy::sizes;
  const pte::ValueId sizes = by_sizes ? method.sizes(attrs.size) : method.none();
  const pte::ValueId factors =
      by_sizes ? method.none() : method.method().add(pte::DoubleList(scales));
  const bool bilinear = attrs.mode == ResizeMode::bilinear;
  std::vector<pte::ValueId> arguments = {images.in, sizes};
  if (bilinear) arguments.push_back(method.boolean(attrs.align_corners));
  arguments.push_back(factors);
  method.call(bilinear ? "aten::upsample_bilinear2d" : "aten::upsample_nearest2d", "vec_out",
              std::move(arguments), images.out);
  images.give_back();
}

void grid_sample(MethodBuilder& method, const Node& node) {
  const auto& attrs = node.attrs<GridSampleAttrs>();
  Images images(method, node);
  // The numbers of ATen's GridSamplerInterpolation and GridSamplerPadding.
  method.call(
      "aten::grid_sampler_2d", "out",
      {images.in, method.tensor(node.operand(1)),
       method.integer(attrs.mode == ResizeMode::bilinear ? 0 : 1),
       method.integer(static_cast<int64_t>(attrs.outside)), method.boolean(attrs.align_corners)},
      images.out);
  images.give_back();
}

}  // namespace layline::window_calls
