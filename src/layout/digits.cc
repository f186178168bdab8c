#include "layout/digits.h"

#include <algorithm>

#include "algebra/refine.h"

namespace layline {

std::optional<Digits> digits(const Relayout& relayout) {
  if (element_count(relayout.source()).is_zero()) return std::nullopt;
  // Source positions: the factors against the source dims.
  const auto from = refine(relayout.factors(), relayout.source());
  if (!from) return std::nullopt;
  Dims moved;          // sizes in target order
  Few<size_t> origin;  // for each, which of `from` it is
  for (int factor : relayout.order()) {
    for (size_t i = 0; i < from->size(); ++i) {
      if ((*from)[i].left != factor) continue;
      moved.push_back((*from)[i].size);
      origin.push_back(i);
    }
  }
  // Target positions: what has been moved against the target dims; this may split further.
  const auto to = refine(moved, relayout.target());
  if (!to) return std::nullopt;

  Digits result;
  result.source.resize(relayout.source().size());
  result.target.resize(relayout.target().size());
  DigitLists pieces(from->size());
  for (const SharedDigit& digit : *to) {
    const auto id = static_cast<Digit>(result.size.size());
    result.size.push_back(digit.size);
    result.target[static_cast<size_t>(digit.right)].push_back(id);
    pieces[origin[static_cast<size_t>(digit.left)]].push_back(id);
  }
  for (size_t i = 0; i < from->size(); ++i) {
    auto& dim = result.source[static_cast<size_t>((*from)[i].right)];
    dim.insert(dim.end(), pieces[i].begin(), pieces[i].end());
  }
  return result;
}

Relayout relayout_of_digits(const Dims& size, const DigitLists& source, const DigitLists& target) {
  auto shape = [&](const DigitLists& dims) {
    Shape result;
    for (const auto& dim : dims) {
      Dim product = 1;
      for (Digit digit : dim) product = product * size[digit];
      result.push_back(product);
    }
    return result;
  };
  Dims factors;
  Few<int> place(size.size());  // for each digit, its factor in the source
  for (const auto& dim : source)
    for (Digit digit : dim) {
      place[digit] = static_cast<int>(factors.size());
      factors.push_back(size[digit]);
    }
  Permutation order;
  for (const auto& dim : target)
    for (Digit digit : dim) order.push_back(place[digit]);
  return Relayout::from_factors(shape(source), std::move(factors), std::move(order), shape(target));
}

}  // namespace layline
