#include "layout/slice_places.h"

#include <algorithm>

#include "layout/digits.h"

namespace layline {
namespace {

DigitList in_sequence(const DigitLists& dims) {
  DigitList all;
  for (const auto& dim : dims) all.insert(all.end(), dim.begin(), dim.end());
  return all;
}

/// The dims with one of them moved to stand directly before a digit of another, which is cut there.
DigitLists moved_before(const DigitLists& dims, size_t axis, Digit digit) {
  DigitLists result;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    if (dim == axis) continue;
    const auto place = std::ranges::find(dims[dim], digit);
    if (place != dims[dim].begin()) result.emplace_back(dims[dim].begin(), place);
    if (place == dims[dim].end()) continue;
    result.push_back(dims[axis]);
    result.emplace_back(place, dims[dim].end());
  }
  return result;
}

DigitLists reversed(DigitLists dims) {
  std::ranges::reverse(dims);
  for (auto& dim : dims) std::ranges::reverse(dim);
  return dims;
}

DigitLists moved_behind(const DigitLists& dims, size_t axis, Digit digit) {
  return reversed(moved_before(reversed(dims), dims.size() - 1 - axis, digit));
}

}  // namespace

std::vector<Relayout> slice_places(const Node& slice, const Relayout& from_root) {
  if (from_root.is_view()) return {};
  const auto moved = digits(from_root);
  if (!moved) return {};
  const DigitList root = in_sequence(moved->source);
  const auto& attrs = slice.attrs<SliceAttrs>();
  std::vector<Relayout> places;
  auto add = [&](const DigitLists& target) {
    places.push_back(relayout_of_digits(moved->size, moved->target, target));
  };
  for (size_t axis = 0; axis < attrs.size.size(); ++axis) {
    const DigitList& own = moved->target[axis];
    if (own.empty() || attrs.size[axis] == from_root.target()[axis]) continue;
    const auto place = std::ranges::search(root, own);
    if (place.empty()) continue;  // it is in pieces there, and has no neighbours
    if (place.begin() != root.begin()) add(moved_behind(moved->target, axis, *(place.begin() - 1)));
    if (place.end() != root.end()) add(moved_before(moved->target, axis, *place.end()));
  }
  return places;
}

}  // namespace layline
