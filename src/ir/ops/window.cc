// Pools and resampling over the spatial axes of channels-last tensors.
#include "ir/ops/window.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ir/ops/checks.h"
#include "ir/ops/walk.h"

namespace layline::rules {

// ---- Types ----

int64_t dilated_kernel(int64_t kernel, int64_t dilation) {
  return exact_add(exact_mul(kernel - 1, dilation), 1);
}

size_t expect_channels_last(const TensorType& x) {
  if (x.rank() < 3 || x.rank() > 5)
    throw UserError("expected a channels-last operand with 1, 2 or 3 spatial axes, found {}",
                    to_string(x));
  return x.shape.size() - 2;
}

void expect_sliding(size_t spatial, const Ints& kernel, const Ints& stride, const Ints& dilation,
                    const Ints& low, const Ints& high) {
  struct Demand {
    const Ints& list;
    int64_t minimum;
    std::string_view name;
  };
  for (const auto& [list, minimum, name] :
       {Demand{kernel, 1, "kernel"}, Demand{stride, 1, "stride"}, Demand{dilation, 1, "dilation"},
        Demand{low, 0, "padding (low)"}, Demand{high, 0, "padding (high)"}}) {
    expect_entries(list, spatial, name);
    expect_at_least(list, minimum, name);
    // Backends store them in 32 bits, and no window reaches as far.
    for (const int64_t value : list)
      if (value > std::numeric_limits<int32_t>::max())
        throw UserError("{} is too large: {}", name, value);
  }
}

Dim window_count(const Dim& in, int64_t kernel, int64_t stride, int64_t dilation, int64_t low,
                 int64_t high, SymbolTable& symbols) {
  const int64_t padding = exact_add(low, high);
  const int64_t reach = dilated_kernel(kernel, dilation);
  const int64_t padded = exact_add(in.is_static() ? in.value() : symbols.least(in), padding);
  if (reach > padded)
    throw UserError("a kernel of {} with dilation {} does not fit a padded axis of {}{}", kernel,
                    dilation, padded,
                    in.is_static() ? "" : fmt::format(", the least that {} can be", to_string(in)));
  if (in.is_static()) return (padded - reach) / stride + 1;
  const Sum room = symbols.expand(in) + Sum::number(padding - reach);
  return symbols.dim(symbols.quotient(room, stride) + Sum::number(1));
}

TensorType infer_pool(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  const PoolAttrs& pool = std::get<PoolAttrs>(attributes);
  const TensorType& x = operands[0];
  expect_float(x);
  const size_t spatial = expect_channels_last(x);
  expect_sliding(spatial, pool.kernel, pool.stride, pool.dilation, pool.low, pool.high);
  expect_bounds(pool.bounds);
  Shape shape = x.shape;
  for (size_t i = 0; i < spatial; ++i) {
    // Otherwise a window could lie in the padding alone and would have no result.
    const int64_t reach = dilated_kernel(pool.kernel[i], pool.dilation[i]);
    if (std::max(pool.low[i], pool.high[i]) >= reach)
      throw UserError(
          "padding must be smaller than the kernel, found padding {} and {} for a "
          "kernel of {} with dilation {}",
          pool.low[i], pool.high[i], pool.kernel[i], pool.dilation[i]);
    shape[i + 1] = window_count(shape[i + 1], pool.kernel[i], pool.stride[i], pool.dilation[i],
                                pool.low[i], pool.high[i], symbols);
  }
  return result_type(x.dtype, std::move(shape));
}

TensorType infer_resize(Types operands, const Attributes& attributes, SymbolTable&) {
  const ResizeAttrs& resize = std::get<ResizeAttrs>(attributes);
  const TensorType& x = operands[0];
  expect_float(x);
  if (x.rank() != 4)
    throw UserError("expected a 4-D channels-last operand, found {}", to_string(x));
  if (resize.size.size() != 2 || resize.step.size() != 2)
    throw UserError("expected 2 entries in size and step, found {} and {}", resize.size.size(),
                    resize.step.size());
  Shape shape = x.shape;
  for (size_t i = 0; i < 2; ++i) {
    if (shape[i + 1].is_zero())
      throw UserError("expected spatial axes with elements, found {}", to_string(x));
    if (resize.size[i].is_zero())
      throw UserError("size must be at least 1, found {}", to_string(resize.size[i]));
    const bool is_ratio = resize.step[i] == ResizeAttrs::kRatio;
    if (!is_ratio && (!std::isfinite(resize.step[i]) || resize.step[i] < 0))
      throw UserError("step must be finite and not negative, found {}", resize.step[i]);
    shape[i + 1] = resize.size[i];
  }
  return result_type(x.dtype, std::move(shape));
}

// ---- Elements ----

namespace {

/// For each window and channel, `combine` folds the elements inside a window, from `start`;
/// `finish` makes the result of the fold, given how many elements were inside.
template <typename Combine, typename Finish>
Tensor pool(const Tensor& input, const PoolAttrs& attrs, const TensorType& result, double start,
            Combine combine, Finish finish) {
  const auto [d, h, w] = sliding(input, attrs.kernel, attrs, result);
  const std::vector<double> x = values<double>(input);
  const int64_t channels = input.dims().back();
  Tensor out(result);
  std::vector<double> folded;
  int64_t position = 0;
  for (int64_t image = 0; image < input.dim(0); ++image)
    each3(d.out, h.out, w.out, [&, d = d, h = h, w = w](const std::array<int64_t, 3>& o) {
      folded.assign(static_cast<size_t>(channels), start);
      int64_t inside = 0;
      each3(d.kernel, h.kernel, w.kernel, [&](const std::array<int64_t, 3>& k) {
        const int64_t z = d.source(o[0], k[0]);
        const int64_t y = h.source(o[1], k[1]);
        const int64_t i = w.source(o[2], k[2]);
        if (!d.inside(z) || !h.inside(y) || !w.inside(i)) return;
        ++inside;
        const int64_t row = ((image * d.in + z) * h.in + y) * w.in + i;
        for (int64_t c = 0; c < channels; ++c) {
          double& value = folded[static_cast<size_t>(c)];
          value = combine(value, x[static_cast<size_t>(row * channels + c)]);
        }
      });
      for (const double value : folded)
        out.set(position++, clamp(finish(value, inside), attrs.bounds));
    });
  return out;
}

/// Where one output index of a resized axis reads: `second` with `weight`, `first` with the rest.
struct Tap {
  int64_t first, second;
  double weight;
};

/// torch computes nearest coordinates in single precision, and which element is nearest can depend
/// on it.
Tap nearest_tap(int64_t i, double step, int64_t in) {
  const float coordinate = std::floor(static_cast<float>(i) * static_cast<float>(step));
  const int64_t source = coordinate < static_cast<float>(in)
                             ? std::min(static_cast<int64_t>(coordinate), in - 1)
                             : in - 1;
  return {source, source, 0};
}

Tap bilinear_tap(int64_t i, double step, int64_t in, bool align_corners) {
  const double index = static_cast<double>(i);
  const double wanted = align_corners ? index * step : std::max((index + 0.5) * step - 0.5, 0.0);
  const double coordinate = std::min(wanted, static_cast<double>(in - 1));
  const int64_t first = static_cast<int64_t>(coordinate);
  return {first, std::min(first + 1, in - 1), coordinate - static_cast<double>(first)};
}

double resize_step(const ResizeAttrs& attrs, size_t axis, int64_t in, int64_t out) {
  if (attrs.step[axis] != ResizeAttrs::kRatio) return attrs.step[axis];
  const auto from = static_cast<double>(in), to = static_cast<double>(out);
  if (!attrs.align_corners) return from / to;
  return out > 1 ? (from - 1) / (to - 1) : 0;
}

std::vector<Tap> taps(const ResizeAttrs& attrs, size_t axis, int64_t in) {
  std::vector<Tap> result;
  const int64_t out = attrs.size[axis].value();
  const double step = resize_step(attrs, axis, in, out);
  for (int64_t i = 0; i < out; ++i)
    result.push_back(attrs.mode == ResizeMode::nearest
                         ? nearest_tap(i, step, in)
                         : bilinear_tap(i, step, in, attrs.align_corners));
  return result;
}

double mix(double a, double b, double weight_of_b) {
  // An element of weight 0 is not read: it may be infinite.
  return weight_of_b == 0 ? a : a * (1 - weight_of_b) + b * weight_of_b;
}

}  // namespace

Tensor evaluate_max_pool(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return pool(operands[0], std::get<PoolAttrs>(attributes), result,
              -std::numeric_limits<double>::infinity(), larger<double>,
              [](double value, int64_t) { return value; });
}

/// Divides by the number of elements inside the input, or with count_padding by the kernel's size.
Tensor evaluate_avg_pool(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const PoolAttrs& attrs = std::get<PoolAttrs>(attributes);
  int64_t taps_in_all = 1;
  for (const int64_t size : attrs.kernel) taps_in_all *= size;
  return pool(operands[0], attrs, result, 0.0, static_cast<double (*)(double, double)>(plus),
              [&](double value, int64_t inside) {
                return value / static_cast<double>(attrs.count_padding ? taps_in_all : inside);
              });
}

Tensor evaluate_resize(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const ResizeAttrs& attrs = std::get<ResizeAttrs>(attributes);
  const Tensor& x = operands[0];
  const int64_t height = x.dim(1), width = x.dim(2), channels = x.dim(3);
  const std::vector<Tap> rows = taps(attrs, 0, height);
  const std::vector<Tap> columns = taps(attrs, 1, width);
  Tensor out(result);
  int64_t position = 0;
  for (int64_t image = 0; image < x.dim(0); ++image)
    for (const Tap& row : rows)
      for (const Tap& column : columns)
        for (int64_t c = 0; c < channels; ++c) {
          const auto at = [&](int64_t y, int64_t i) {
            return x.get(((image * height + y) * width + i) * channels + c);
          };
          const auto across = [&](int64_t y) {
            return mix(at(y, column.first), at(y, column.second), column.weight);
          };
          out.set(position++, mix(across(row.first), across(row.second), row.weight));
        }
  return out;
}

}  // namespace layline::rules
