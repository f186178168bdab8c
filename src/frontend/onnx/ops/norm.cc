// Normalisation.
#include "frontend/ops/norm.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/pool.h"
#include "frontend/ops/reduction.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"

namespace layline::onnx {
namespace {

double epsilon(const Call& call) { return call.number("epsilon", 1e-5); }

/// The statistics of the batch, and the running ones, which move towards them.
void batch_norm_in_training(Call& call, Value* x, const ops::Affine& affine,
                            const ops::Statistics& running) {
  if (x->shape().size() < 2) call.fail("takes no {}", to_string(x->type()));
  Ints axes = ops::all_axes(x);
  axes.erase(axes.begin() + 1);
  const DType dtype = running.mean->dtype();
  const auto [mean, variance] =
      ops::moments(call, ops::Spread::variance, call.convert(x, dtype), {axes, false}, 0);
  const double momentum = call.number("momentum", 0.9F);
  const auto moved = [&](Value* from, Value* to) {
    Value* kept = ops::times(call, from, momentum);
    return call.add(Op::add, {kept, ops::times(call, to, 1 - momentum)});
  };
  call.result(ops::batch_norm(call, x, affine, epsilon(call)));
  call.result(moved(running.mean, mean));
  call.result(moved(running.variance, variance));
  // Up to opset 13 the statistics of the batch are results, too.
  call.result(mean);
  call.result(variance);
}

/// Before opset 9, `spatial` may say that each element of an image has its own parameters: they
/// are then channels.
void batch_norm(Call& call) {
  Value* x = call.input(0);
  const Shape shape = x->shape();
  std::vector<Value*> parameters = {call.input(1), call.input(2), call.input(3), call.input(4)};
  if (call.opset() < 9 && !call.flag("spatial", true)) {
    if (shape.empty()) call.fail("takes no {}", to_string(x->type()));
    const Dim channels = layline::product({shape.begin() + 1, shape.end()});
    x = call.view(x, {shape[0], channels});
    for (Value*& parameter : parameters) parameter = ops::view(call, parameter, {channels});
  }
  const ops::Affine affine{parameters[0], parameters[1]};
  const ops::Statistics running{parameters[2], parameters[3]};
  const bool trains =
      call.opset() >= 14 ? call.flag("training_mode", false) : call.wants(1) || call.wants(2);
  if (trains && x->shape() != shape) call.fail("in training without `spatial` is not supported");
  if (trains) return batch_norm_in_training(call, x, affine, running);
  call.result(call.view(ops::batch_norm(call, x, running, affine, epsilon(call)), shape));
}

void instance_norm(Call& call) {
  Value* x = call.input(0);
  call.result(ops::instance_norm(call, x, {call.input(1), call.input(2)}, epsilon(call)));
}

/// Before opset 21 each group has parameters, since then each channel.
void group_norm(Call& call) {
  Value* x = call.input(0);
  const int64_t groups = call.integer("num_groups");
  ops::Affine affine{call.input(1), call.input(2)};
  if (call.opset() < 21 && groups > 0 && x->shape().size() >= 2) {
    const int64_t each = ops::static_length(call, x, 1) / groups;
    affine.weight = ops::repeat_elements(call, affine.weight, 0, each);
    affine.bias = ops::repeat_elements(call, affine.bias, 0, each);
  }
  call.result(ops::group_norm(call, x, groups, affine, epsilon(call)));
}

/// The first of the axes that are normalised together.
int64_t first_axis(const Call& call, const Value* x) {
  return call.axis(call.integer("axis", -1), x->type().rank());
}

/// A parameter, which broadcasts to the axes of x from the first normalised one on.
Value* repeated(const Call& call, Value* parameter, const Value* x, int64_t first) {
  return parameter ? call.expand(parameter, {x->shape().begin() + first, x->shape().end()})
                   : nullptr;
}

void layer_norm(Call& call) {
  Value* x = call.input(0);
  const int64_t first = first_axis(call, x), rank = x->type().rank();
  ops::Affine affine;
  affine.weight = repeated(call, call.optional(1), x, first);
  affine.bias = repeated(call, call.optional(2), x, first);
  call.result(ops::layer_norm(call, x, static_cast<size_t>(rank - first), affine, epsilon(call)));
  if (!call.wants(1) && !call.wants(2)) return;
  Ints axes = ops::all_axes(x);
  axes.erase(axes.begin(), axes.begin() + first);
  const DType dtype = call.dtype("stash_type", DType::f32);
  const auto [mean, variance] =
      ops::moments(call, ops::Spread::variance, call.convert(x, dtype), {axes, true}, 0);
  Value* shifted = call.add(Op::add, {variance, call.scalar(dtype, epsilon(call))});
  call.result(mean);
  call.result(call.add(Op::rsqrt, {shifted}));
}

void rms_norm(Call& call) {
  Value* x = call.input(0);
  const int64_t first = first_axis(call, x), rank = x->type().rank();
  Value* weight = repeated(call, call.optional(1), x, first);
  call.result(
      ops::rms_norm(call, x, static_cast<size_t>(rank - first), {weight, nullptr}, epsilon(call)));
}

/// x divided by its norm along an axis; where the norm is 0, x is 0, too, and stays.
void lp_norm(Call& call) {
  Value* x = call.input(0);
  const int64_t axis = call.axis(call.integer("axis", -1), x->type().rank());
  const auto p = static_cast<double>(call.integer("p", 2));
  if (p != 1 && p != 2) call.fail("the norm of order {} is not supported", p);
  constexpr double kLeast = 6.103515625e-05 * 6.103515625e-05;  // the square of f16's least
  Value* norm = ops::vector_norm(call, x, {{axis}, true}, p);
  norm = call.add(Op::maximum, {norm, call.scalar(x->dtype(), kLeast)});
  call.result(call.add(Op::div, {x, norm}));
}

/// (x - mean) / (deviation + 1e-9).
void mean_variance_norm(Call& call) {
  Value* x = call.input(0);
  constexpr double kEpsilon = 1e-18;  // below the root
  const Ints axes = call.axes(call.ints("axes", {0, 2, 3}), x->type().rank());
  call.result(call.add(Op::normalize, {x}, NormalizeAttrs{axes, kEpsilon, true}));
}

/// x / (bias + alpha * mean of the squares of neighbouring channels)^beta.
void local_response_norm(Call& call) {
  Value* x = call.input(0);
  const Shape& shape = x->shape();
  const int64_t size = call.integer("size");
  if (shape.size() < 2 || size < 1) call.fail("takes no {}", to_string(x->type()));
  // The channels as rows of an image.
  Value* squares = call.add(Op::square, {x});
  squares = call.view(squares,
                      {shape[0], 1, shape[1], layline::product({shape.begin() + 2, shape.end()})});
  ops::PoolWindow window;
  window.kernel = {size, 1};
  window.stride = window.dilation = {1, 1};
  window.low = {(size - 1) / 2, 0};
  window.high = {size / 2, 0};
  Value* mean = call.view(ops::avg_pool(call, squares, window, {}), shape);
  Value* base = ops::times(call, mean, call.number("alpha", 1e-4F));
  base = call.add(Op::add, {base, call.scalar(x->dtype(), call.number("bias", 1))});
  call.result(call.add(Op::div, {x, ops::power(call, base, call.number("beta", 0.75))}));
}

constexpr OpRule kRules[] = {
    {"BatchNormalization", batch_norm},
    {"InstanceNormalization", instance_norm},
    {"GroupNormalization", group_norm},
    {"LayerNormalization", layer_norm},
    {"RMSNormalization", rms_norm},
    {"LpNormalization", lp_norm},
    {"MeanVarianceNormalization", mean_variance_norm},
    {"LRN", local_response_norm},
};

}  // namespace

std::span<const OpRule> norm_rules() { return kRules; }

}  // namespace layline::onnx
