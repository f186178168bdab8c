#include "ir/boundary_order.h"

#include <algorithm>

#include "ir/evaluate.h"

namespace layline {

Tensor stored(const Tensor& logical, const std::vector<int>& dim_order) {
  if (std::ranges::is_sorted(dim_order)) return logical;
  return evaluate_op(Op::relayout, std::span(&logical, 1),
                     RelayoutAttrs{Relayout::permute(logical.type().shape, dim_order)});
}

Tensor logical(const Tensor& stored, const std::vector<int>& dim_order) {
  std::vector<int> inverse(dim_order.size());
  for (size_t i = 0; i < dim_order.size(); ++i)
    inverse[static_cast<size_t>(dim_order[i])] = static_cast<int>(i);
  return layline::stored(stored, inverse);
}

}  // namespace layline
