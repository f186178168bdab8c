// Tensors that are made of numbers: constants.
#include <cmath>

#include "frontend/pt2/ops/rules.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

Value* filled(Call& call, double value) {
  const TensorType type = call.recorded();
  return call.expand(call.scalar(type.dtype, value), type.shape);
}

template <int value>
void filled_with(Call& call) {
  call.result(filled(call, value));
}

void full(Call& call) { call.result(filled(call, call.number("fill_value", 0))); }

void fill(Call& call) {
  if (call.scalar("value")) return call.result(filled(call, call.number("value", 0)));
  Value* value = call.convert(call.tensor("value"), call.recorded().dtype);
  call.result(call.expand(value, call.recorded().shape));
}

void scalar_tensor(Call& call) {
  call.result(call.scalar(call.recorded().dtype, call.number("s", 0)));
}

void arange(Call& call) {
  call.result(call.arange(call.recorded(), call.number("start", 0), call.number("step", 1)));
}

/// From start to end in equal steps, as torch counts them: the second half from the end.
template <bool powers>
void linspace(Call& call) {
  const TensorType type = call.recorded();
  if (!is_static(type.shape)) call.fail("of a dynamic length is not supported");
  const double start = call.number("start", 0), end = call.number("end", 0);
  Tensor numbers(type);
  const int64_t count = numbers.count();
  const double step = count > 1 ? (end - start) / static_cast<double>(count - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = i < count / 2 ? start + step * static_cast<double>(i)
                                   : end - step * static_cast<double>(count - 1 - i);
    numbers.set(i, count == 1 ? start : powers ? std::pow(call.number("base", 10), x) : x);
  }
  if (powers && count == 1) numbers.set(0, std::pow(call.number("base", 10), start));
  call.result(call.constant(Constant::of(numbers)));
}

constexpr OpRule kRules[] = {
    {"aten.full.default", full},
    {"aten.full_like.default", full},
    {"aten.new_full.default", full},
    {"aten.zeros.default", filled_with<0>},
    {"aten.zeros_like.default", filled_with<0>},
    {"aten.new_zeros.default", filled_with<0>},
    // What nothing has been written to yet may hold anything.
    {"aten.empty.memory_format", filled_with<0>},
    {"aten.empty_like.default", filled_with<0>},
    {"aten.new_empty.default", filled_with<0>},
    {"aten.ones.default", filled_with<1>},
    {"aten.ones_like.default", filled_with<1>},
    {"aten.new_ones.default", filled_with<1>},
    {"aten.fill.Scalar", fill},
    {"aten.fill.Tensor", fill},
    {"aten.zero.default", filled_with<0>},
    {"aten.scalar_tensor.default", scalar_tensor},
    {"aten.linspace.default", linspace<false>},
    {"aten.logspace.default", linspace<true>},
    {"aten.arange.default", arange},
    {"aten.arange.start", arange},
    {"aten.arange.start_step", arange},
};

}  // namespace

std::span<const OpRule> creation_rules() { return kRules; }

}  // namespace layline::pt2
