#include "targets/rewrites/weights.h"

#include <algorithm>

namespace layline::rewrites {

bool is_plain_weight(const Value* weight) {
  const QuantisationRef& own = weight->type().quantisation;
  if (stored_constant(weight) == nullptr) return false;
  if (!own) return true;
  return own->zero_points.empty() &&
         (own->dims.empty() || std::all_of(own->dims.begin() + 1, own->dims.end(),
                                           [](int64_t dim) { return dim == 1; }));
}

Tensor numbers_of(const Value* weight) {
  const Constant& data = *stored_constant(weight);
  return Tensor({data.dtype(), data.shape()}, data.bytes());
}

Value* weight_of(const Builder& build, const Value* like, const Tensor& numbers) {
  QuantisationRef quantisation = like->type().quantisation;
  if (quantisation && !quantisation->dims.empty()) {
    Quantisation own = *quantisation;
    own.dims.assign(numbers.type().shape.size(), 1);
    own.dims[0] = static_cast<int64_t>(own.scales.size());
    quantisation = std::move(own);
  }
  return build.constant(Constant::of(numbers), std::move(quantisation));
}

}  // namespace layline::rewrites
