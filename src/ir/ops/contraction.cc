// Ops that multiply and add along an axis.
#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "ir/ops/checks.h"
#include "ir/ops/walk.h"
#include "ir/ops/window.h"

namespace layline::rules {
namespace {

void expect_bias(Types operands, const Dim& channels) {
  if (operands.size() > 2 && operands[2].shape != Shape{channels})
    throw UserError("expected a bias of shape [{}], found {}", to_string(channels),
                    to_string(operands[2]));
}

/// The spatial sizes of a weight [O, k..., C/groups].
Ints kernel_of(const Shape& weight) {
  Ints kernel;
  for (size_t i = 1; i + 1 < weight.size(); ++i)
    kernel.push_back(static_size(weight[i], "the kernel size"));
  return kernel;
}

/// Checks what conv and conv_transpose both demand of x, weight and bias; returns the kernel's
/// sizes.
Ints expect_convolution(Types operands, int64_t groups) {
  const TensorType& x = operands[0];
  const TensorType& weight = operands[1];
  expect_float(x);
  expect_same_dtype(operands);
  expect_channels_last(x);
  expect_rank(weight, x.rank(), "weight");
  const int64_t channels = static_size(x.shape.back(), "the number of channels");
  const int64_t outputs = static_size(weight.shape.front(), "the number of output channels");
  const int64_t group_channels = static_size(weight.shape.back(), "the channels of a group");
  if (groups < 1) throw UserError("groups must be at least 1, found {}", groups);
  if (channels % groups != 0 || outputs % groups != 0)
    throw UserError("{} groups do not divide {} input and {} output channels evenly", groups,
                    channels, outputs);
  if (group_channels != channels / groups)
    throw UserError("expected a weight with {} input channels ({} in {} groups), found {}",
                    channels / groups, channels, groups, to_string(weight));
  expect_bias(operands, outputs);
  return kernel_of(weight.shape);
}

}  // namespace

// ---- Types ----

TensorType infer_linear(Types operands, const Attributes& attributes, SymbolTable&) {
  const TensorType& x = operands[0];
  const TensorType& weight = operands[1];
  expect_numeric(x);
  expect_same_dtype(operands);
  expect_rank(weight, 2, "weight");
  if (x.rank() == 0 || x.shape.back() != weight.shape[1])
    throw UserError(
        "expected an operand whose last axis is {} long, as the weight {} needs, found {}",
        to_string(weight.shape[1]), to_string(weight), to_string(x));
  expect_bias(operands, weight.shape[0]);
  expect_bounds(std::get<LinearAttrs>(attributes).bounds);
  Shape shape = x.shape;
  shape.back() = weight.shape[0];
  return result_type(x.dtype, std::move(shape));
}

TensorType infer_matmul(Types operands, const Attributes& attributes, SymbolTable&) {
  const bool transpose_b = std::get<MatmulAttrs>(attributes).transpose_b;
  const TensorType& a = operands[0];
  const TensorType& b = operands[1];
  expect_numeric(a);
  expect_same_dtype(operands);
  if (a.rank() < 2 || b.rank() < 2)
    throw UserError("expected matrices or batches of them, found {} and {}", to_string(a),
                    to_string(b));
  const auto [k, n] = transpose_b ? std::pair(*(b.shape.end() - 1), *(b.shape.end() - 2))
                                  : std::pair(*(b.shape.end() - 2), *(b.shape.end() - 1));
  if (a.shape.back() != k)
    throw UserError("expected equal inner sizes, found {} and {}{}", to_string(a), to_string(b),
                    transpose_b ? " transposed" : "");
  std::optional<Shape> shape = broadcast(Shape(a.shape.begin(), a.shape.end() - 2),
                                         Shape(b.shape.begin(), b.shape.end() - 2));
  if (!shape)
    throw UserError("expected batches that broadcast, found {} and {}", to_string(a), to_string(b));
  shape->push_back(*(a.shape.end() - 2));
  shape->push_back(n);
  return result_type(a.dtype, *std::move(shape));
}

TensorType infer_conv(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  const ConvAttrs& conv = std::get<ConvAttrs>(attributes);
  const TensorType& x = operands[0];
  const Ints kernel = expect_convolution(operands, conv.groups);
  expect_sliding(kernel.size(), kernel, conv.stride, conv.dilation, conv.low, conv.high);
  expect_bounds(conv.bounds);
  Shape shape = {x.shape[0]};
  for (size_t i = 0; i < kernel.size(); ++i)
    shape.push_back(window_count(x.shape[i + 1], kernel[i], conv.stride[i], conv.dilation[i],
                                 conv.low[i], conv.high[i], symbols));
  shape.push_back(operands[1].shape[0]);
  return result_type(x.dtype, std::move(shape));
}

TensorType infer_conv_transpose(Types operands, const Attributes& attributes,
                                SymbolTable& symbols) {
  const ConvTransposeAttrs& conv = std::get<ConvTransposeAttrs>(attributes);
  const TensorType& x = operands[0];
  const Ints kernel = expect_convolution(operands, conv.groups);
  expect_sliding(kernel.size(), kernel, conv.stride, conv.dilation, conv.low, conv.high);
  expect_entries(conv.extra, kernel.size(), "extra");
  expect_at_least(conv.extra, 0, "extra");
  expect_bounds(conv.bounds);
  Shape shape = {x.shape[0]};
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (x.shape[i + 1].is_zero())
      throw UserError("expected spatial axes with elements, found {}", to_string(x));
    // (in - 1) * stride + kernel, less what is cropped.
    const int64_t added = exact_add(dilated_kernel(kernel[i], conv.dilation[i]), conv.extra[i]) -
                          exact_add(conv.low[i], conv.high[i]) - conv.stride[i];
    const Sum out =
        symbols.expand(x.shape[i + 1]) * Sum::number(conv.stride[i]) + Sum::number(added);
    if (symbols.range(out).min < 1)
      throw UserError("low {} and high {} leave nothing of the results along spatial axis {}",
                      conv.low[i], conv.high[i], i);
    shape.push_back(symbols.dim(out));
  }
  shape.push_back(operands[1].shape[0]);
  return result_type(x.dtype, std::move(shape));
}

// ---- Elements ----

namespace {

/// sums[j] += sum over i < count of a[i] * b[i * b_step + j * b_next], from the first to the last.
/// Some sums are taken at a time, because each waits for every one of its additions.
template <typename T>
void add_dots(const T* a, const T* b, int64_t b_step, int64_t b_next, int64_t count,
              std::span<T> sums) {
  constexpr size_t kTogether = 8;
  size_t j = 0;
  for (; j + kTogether <= sums.size(); j += kTogether, b += b_next * int64_t{kTogether}) {
    std::array<T, kTogether> together;
    std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(j), kTogether, together.begin());
    for (int64_t i = 0; i < count; ++i)
      for (size_t u = 0; u < kTogether; ++u)
        together[u] =
            plus(together[u], times(a[i], b[i * b_step + static_cast<int64_t>(u) * b_next]));
    std::ranges::copy(together, sums.begin() + static_cast<std::ptrdiff_t>(j));
  }
  for (; j < sums.size(); ++j, b += b_next)
    for (int64_t i = 0; i < count; ++i) sums[j] = plus(sums[j], times(a[i], b[i * b_step]));
}

/// The bias, or zeros where the op has none.
template <typename T>
std::vector<T> bias_values(Tensors operands, int64_t channels) {
  return operands.size() > 2 ? values<T>(operands[2])
                             : std::vector<T>(static_cast<size_t>(channels));
}

/// The row of x at a spatial position: x is [N, three spatial axes, C].
const double* pixel(const std::vector<double>& x, const std::array<Sliding, 3>& axes, int64_t image,
                    const std::array<int64_t, 3>& at, int64_t channels) {
  const int64_t row = ((image * axes[0].in + at[0]) * axes[1].in + at[1]) * axes[2].in + at[2];
  return x.data() + row * channels;
}

/// Both convolutions are the same sum over taps; they differ in where a tap reads. `source` gives,
/// for an axis, an output index and a tap, the input index, or -1 where there is none.
template <typename Attrs, typename Source>
Tensor convolve(Tensors operands, const Attrs& conv, const TensorType& result, Source source) {
  const auto axes = sliding(operands[0], kernel_of(operands[1].type().shape), conv, result);
  const auto [d, h, w] = axes;
  const std::vector<double> x = values<double>(operands[0]);
  const std::vector<double> weight = values<double>(operands[1]);
  const int64_t channels = operands[0].dims().back();
  const int64_t outputs = operands[1].dims().front();
  const int64_t group_channels = operands[1].dims().back();
  const int64_t group_outputs = outputs / conv.groups;
  const std::vector<double> bias = bias_values<double>(operands, outputs);
  const int64_t taps = d.kernel * h.kernel * w.kernel;

  Tensor out(result);
  std::vector<double> sums(static_cast<size_t>(outputs));
  int64_t position = 0;
  for (int64_t image = 0; image < operands[0].dim(0); ++image)
    each3(d.out, h.out, w.out, [&](const std::array<int64_t, 3>& o) {
      sums = bias;
      int64_t tap = 0;
      each3(d.kernel, h.kernel, w.kernel, [&](const std::array<int64_t, 3>& k) {
        std::array<int64_t, 3> at;
        bool inside = true;
        for (size_t a = 0; a < 3; ++a) {
          at[a] = source(axes[a], o[a], k[a]);
          inside = inside && axes[a].inside(at[a]);
        }
        const int64_t this_tap = tap++;
        if (!inside) return;
        const double* row = pixel(x, axes, image, at, channels);
        for (int64_t group = 0; group < conv.groups; ++group) {
          const int64_t first = group * group_outputs;
          add_dots<double>(row + group * group_channels,
                           weight.data() + (first * taps + this_tap) * group_channels, 1,
                           taps * group_channels, group_channels,
                           std::span(sums).subspan(static_cast<size_t>(first),
                                                   static_cast<size_t>(group_outputs)));
        }
      });
      for (const double value : sums) out.set(position++, clamp(value, conv.bounds));
    });
  return out;
}

}  // namespace

Tensor evaluate_linear(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const Bounds& bounds = std::get<LinearAttrs>(attributes).bounds;
  const int64_t n = operands[1].dim(0);
  const int64_t k = operands[1].dim(1);
  Tensor out(result);
  with_number_type(result.dtype, [&]<typename T>(T) {
    const std::vector<T> x = values<T>(operands[0]);
    const std::vector<T> weight = values<T>(operands[1]);
    const std::vector<T> bias = bias_values<T>(operands, n);
    std::vector<T> sums;
    for (int64_t i = 0; i < out.count(); i += n) {
      sums = bias;
      add_dots<T>(x.data() + i / n * k, weight.data(), 1, k, k, sums);
      for (int64_t j = 0; j < n; ++j)
        store(out, i + j, clamp(sums[static_cast<size_t>(j)], bounds));
    }
  });
  return out;
}

Tensor evaluate_matmul(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const bool transpose_b = std::get<MatmulAttrs>(attributes).transpose_b;
  Tensor out(result);
  const Ints batch(out.dims().begin(), out.dims().end() - 2);
  const int64_t m = out.dim(out.rank() - 2);
  const int64_t n = out.dim(out.rank() - 1);
  const int64_t k = operands[0].dims().back();
  // How far b moves with k and with n.
  const auto [k_step, n_step] =
      transpose_b ? std::pair<int64_t, int64_t>(1, k) : std::pair<int64_t, int64_t>(n, 1);
  const auto batch_strides = [&](const Tensor& x) {
    return broadcast_strides(Ints(x.dims().begin(), x.dims().end() - 2), batch);
  };
  with_number_type(result.dtype, [&, k_step = k_step, n_step = n_step]<typename T>(T) {
    const std::vector<T> a = values<T>(operands[0]);
    const std::vector<T> b = values<T>(operands[1]);
    const std::array strides = {batch_strides(operands[0]), batch_strides(operands[1])};
    std::vector<T> sums(static_cast<size_t>(n));
    walk(batch, strides, [&](int64_t matrix, const auto& from) {
      for (int64_t i = 0; i < m; ++i) {
        std::ranges::fill(sums, T());
        // Without rows to multiply there is nothing to point at.
        if (k > 0)
          add_dots<T>(a.data() + (from[0] * m + i) * k, b.data() + from[1] * k * n, k_step, n_step,
                      k, sums);
        for (int64_t j = 0; j < n; ++j)
          store(out, (matrix * m + i) * n + j, sums[static_cast<size_t>(j)]);
      }
    });
  });
  return out;
}

Tensor evaluate_conv(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return convolve(operands, std::get<ConvAttrs>(attributes), result,
                  [](const Sliding& axis, int64_t o, int64_t k) { return axis.source(o, k); });
}

/// Input i adds to output i * stride + k * dilation - low. The source of an output is that i.
Tensor evaluate_conv_transpose(Tensors operands, const Attributes& attributes,
                               const TensorType& result) {
  return convolve(operands, std::get<ConvTransposeAttrs>(attributes), result,
                  [](const Sliding& axis, int64_t o, int64_t k) -> int64_t {
                    const int64_t scaled = o + axis.low - k * axis.dilation;
                    return scaled >= 0 && scaled % axis.stride == 0 ? scaled / axis.stride : -1;
                  });
}

}  // namespace layline::rules
