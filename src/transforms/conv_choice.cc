#include "transforms/conv_choice.h"

#include <algorithm>

namespace layline {

constexpr double kMostOfTheTime = 0.8;
constexpr int64_t kBytes = 4;  // the size of an f32

std::optional<ConvSizes> conv_sizes(const Node& conv) {
  const Shape& x = conv.operand(0)->shape();
  const Shape& weight = conv.operand(1)->shape();
  const Shape& y = conv.result()->shape();
  if (x.size() != 4 || conv.attrs<ConvAttrs>().dynamic || !is_static(x) || !is_static(y))
    return std::nullopt;
  if (stored_constant(conv.operand(1)) == nullptr) return std::nullopt;
  if (element_count(y).is_zero() || element_count(weight).is_zero()) return std::nullopt;
  return ConvSizes{x[0].value(),      x[1].value(), x[2].value(), x[3].value(), weight[1].value(),
                   weight[2].value(), y[1].value(), y[2].value(), y[3].value()};
}

std::optional<ConvSizes> float_conv_sizes(const Node& conv) {
  const auto is_real = [](const Value* value) {
    return value->dtype() == DType::f32 && !value->type().quantisation;
  };
  if (!std::ranges::all_of(conv.operands(), is_real) || !is_real(conv.result()))
    return std::nullopt;
  return conv_sizes(conv);
}

double products_us(double count, int64_t fs_each) {
  return count * static_cast<double>(fs_each) / 1e9;
}

int64_t addition_ps(const MoveCosts& moves, int64_t elements, int64_t run) {
  return moves.call_ps + 2 * moves.slice.copy_ps(elements * kBytes, run * kBytes);
}

bool pays(PassContext& context, const Node& conv, double as_it_is_us, double instead_us,
          std::string_view instead) {
  const bool does = instead_us <= as_it_is_us * kMostOfTheTime;
  if (does)
    context.rewrite(conv, "becomes {}: {:.0f} us instead of {:.0f} us", instead, instead_us,
                    as_it_is_us);
  else
    context.explain(conv, "stays as it is: {:.0f} us; {}: {:.0f} us", as_it_is_us, instead,
                    instead_us);
  return does;
}

}  // namespace layline
