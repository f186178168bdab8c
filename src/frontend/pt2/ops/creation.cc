// Tensors that are made of numbers.
#include "frontend/ops/creation.h"

#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"

namespace layline::pt2 {
namespace {

template <int value>
void filled_with(Call& call) {
  call.result(ops::filled(call, call.recorded(), value));
}

void full(Call& call) {
  call.result(call.expand(as_recorded(call, "fill_value"), call.recorded().shape));
}

void fill(Call& call) {
  call.result(call.expand(as_recorded(call, "value"), call.recorded().shape));
}

void scalar_tensor(Call& call) { call.result(as_recorded(call, "s")); }

void arange(Call& call) {
  const TensorType type = call.recorded();
  const double step = call.number("step", 1);
  Value* start = call.computed("start");
  if (!start) return call.result(ops::arange(call, type, call.number("start", 0), step));
  Value* offsets = ops::arange(call, type, 0, step);
  call.result(call.add(Op::add, {offsets, call.convert(start, type.dtype)}));
}

void linspace(Call& call) {
  call.result(ops::linspace(call, call.recorded(), call.number("start", 0), call.number("end", 0)));
}

void logspace(Call& call) {
  call.result(ops::logspace(call, call.recorded(), call.number("start", 0), call.number("end", 0),
                            call.number("base", 10)));
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
    {"aten.linspace.default", linspace},
    {"aten.logspace.default", logspace},
    {"aten.arange.default", arange},
    {"aten.arange.start", arange},
    {"aten.arange.start_step", arange},
};

}  // namespace

std::span<const OpRule> creation_rules() { return kRules; }

}  // namespace layline::pt2
