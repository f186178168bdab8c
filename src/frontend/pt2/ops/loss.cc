// Losses.
#include "frontend/ops/loss.h"

#include "frontend/ops/arithmetic.h"
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"

namespace layline::pt2 {
namespace {

/// torch numbers the ways to average.
void give(Call& call, Value* loss) {
  constexpr ops::Average kWays[] = {ops::Average::none, ops::Average::mean, ops::Average::sum};
  const int64_t way = call.integer("reduction", 1);
  if (way < 0 || way > 2) call.fail("reduction {} is not known", way);
  call.result(ops::averaged(call, loss, kWays[way]));
}

template <Value* (*error)(const Builder&, Value*, Value*)>
void loss(Call& call) {
  Value* x = self_as_recorded(call);
  give(call, error(call, x, as_recorded(call, "target")));
}

/// smooth_l1_loss is a Huber loss in units of `beta`; of width 0 it is the absolute error.
void smooth_l1_loss(Call& call) {
  Value* x = self_as_recorded(call);
  Value* y = as_recorded(call, "target");
  const double beta = call.number("beta", 1);
  if (beta == 0) return give(call, ops::absolute_error(call, x, y));
  give(call, ops::times(call, ops::huber(call, x, y, beta), 1 / beta));
}

void huber_loss(Call& call) {
  Value* x = self_as_recorded(call);
  Value* y = as_recorded(call, "target");
  give(call, ops::huber(call, x, y, call.number("delta", 1)));
}

constexpr OpRule kRules[] = {
    {"aten.mse_loss.default", loss<ops::squared_error>},
    {"aten.l1_loss.default", loss<ops::absolute_error>},
    {"aten.smooth_l1_loss.default", smooth_l1_loss},
    {"aten.huber_loss.default", huber_loss},
};

}  // namespace

std::span<const OpRule> loss_rules() { return kRules; }

}  // namespace layline::pt2
