#include "algebra/relayout.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "algebra/refine.h"
#include "base/error.h"
#include "base/few.h"
#include "base/hash.h"

namespace layline {
namespace {

bool is_permutation(std::span<const int> order) {
  Few<char> seen(order.size(), 0);
  for (const int index : order) {
    if (index < 0 || index >= std::ssize(order) || seen[index]) return false;
    seen[index] = 1;
  }
  return true;
}

Permutation inverse_permutation(std::span<const int> order) {
  Permutation inverse(order.size());
  for (int i = 0; i < std::ssize(order); ++i) inverse[order[i]] = i;
  return inverse;
}

/// The row-major stride of each dim.
Dims strides(std::span<const Dim> sizes) {
  Dims result(sizes.size());
  Dim stride;
  for (size_t i = sizes.size(); i-- > 0; stride = stride * sizes[i]) result[i] = stride;
  return result;
}

/// The digits 0..n-1 sorted by `key`, and in their own order where the keys are equal.
template <typename Key>
Permutation digits_by(size_t count, Key key) {
  Permutation digits(count);
  std::iota(digits.begin(), digits.end(), 0);
  // Not stable_sort, which takes memory for a handful of digits.
  std::ranges::sort(digits, {}, [&](int digit) { return std::pair(key(digit), digit); });
  return digits;
}

/// Where each group of digits begins, and where the last one ends. The digits are sorted by
/// `group`, 0 first.
template <typename Group>
Few<int> group_ends(const SharedDigits& digits, size_t groups, Group group) {
  Few<int> ends(groups + 1, 0);
  for (const SharedDigit& digit : digits) ++ends[group(digit) + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  return ends;
}

/// The canonical form of a movement of a non-empty tensor.
struct Movement {
  Dims factors;
  Permutation order;
};

Movement canonical(std::span<const Dim> factors, std::span<const int> order) {
  Few<int> rank;  // each factor's, among those that are not 1
  int count = 0;
  for (const Dim& factor : factors) rank.push_back(factor.is_one() ? -1 : count++);
  // Runs of neighbours that the order keeps become one factor.
  struct Run {
    int first, last;  // by rank
    Dim size;
  };
  Few<Run> runs;
  for (const int factor : order) {
    if (rank[factor] < 0) continue;
    if (!runs.empty() && rank[factor] == runs.back().last + 1) {
      runs.back().last = rank[factor];
      runs.back().size = runs.back().size * factors[factor];
    } else {
      runs.push_back({rank[factor], rank[factor], factors[factor]});
    }
  }
  Few<int> run_at(count, -1);  // that begins at each rank
  for (int run = 0; run < std::ssize(runs); ++run) run_at[runs[run].first] = run;
  Movement result;
  result.factors.reserve(runs.size());
  result.order.resize(runs.size());
  for (const int run : run_at) {
    if (run < 0) continue;
    result.order[run] = static_cast<int>(result.factors.size());
    result.factors.push_back(runs[run].size);
  }
  return result;
}

}  // namespace

Relayout::Relayout(Shape source, Dims factors, Permutation order, Shape target) {
  size_t movement = 0, shapes = 0;
  for (const Dim& factor : factors) movement = mixed(movement, factor.hash());
  for (const int factor : order) movement = mixed(movement, static_cast<size_t>(factor));
  for (const Dim& dim : source) shapes = mixed(shapes, dim.hash());
  shapes = mixed(shapes, source.size());
  for (const Dim& dim : target) shapes = mixed(shapes, dim.hash());
  form_ = std::make_shared<const Form>(Form{movement, shapes, std::move(source), std::move(factors),
                                            std::move(order), std::move(target)});
}

Relayout::Relayout() {
  static const Relayout scalar({}, {}, {}, {});
  form_ = scalar.form_;
}

Relayout Relayout::identity(Shape shape) {
  Shape target = shape;
  return view(std::move(shape), std::move(target));
}

Relayout Relayout::view(Shape from, Shape to) {
  const Dim count = element_count(to);
  LAYLINE_ASSERT(count == element_count(from), "{} and {} have not the same number of elements",
                 to_string(from), to_string(to));
  if (count.is_one()) return Relayout(std::move(from), {}, {}, std::move(to));
  return Relayout(std::move(from), {count}, {0}, std::move(to));
}

Relayout Relayout::permute(Shape from, std::span<const int> perm) {
  LAYLINE_ASSERT(perm.size() == from.size() && is_permutation(perm),
                 "not a permutation of the dims of {}", to_string(from));
  Shape to;
  to.reserve(perm.size());
  for (const int axis : perm) to.push_back(from[axis]);
  Shape factors = from;
  return from_factors(std::move(from), std::move(factors), {perm.begin(), perm.end()},
                      std::move(to));
}

Relayout Relayout::from_factors(Shape from, Dims factors, Permutation order, Shape to) {
  const Dim count = element_count(from);
  LAYLINE_ASSERT(count == element_count(to) && count == product(factors),
                 "{} and {} have not the same number of elements", to_string(from), to_string(to));
  LAYLINE_ASSERT(order.size() == factors.size() && is_permutation(order),
                 "the order of a relayout is no permutation of its factors");
  if (count.is_zero()) return Relayout(std::move(from), {count}, {0}, std::move(to));

  Movement movement = canonical(factors, order);
  return Relayout(std::move(from), std::move(movement.factors), std::move(movement.order),
                  std::move(to));
}

Relayout Relayout::inverse() const {
  if (is_identity()) return *this;
  Dims moved;
  moved.reserve(factors().size());
  for (const int factor : order()) moved.push_back(factors()[factor]);
  return Relayout(target(), std::move(moved), inverse_permutation(order()), source());
}

std::optional<Relayout> Relayout::then(const Relayout& next) const {
  LAYLINE_ASSERT(target() == next.source(), "cannot go on from {} with a relayout of {}",
                 to_string(target()), to_string(next.source()));
  // Views refine anything, and of an empty tensor there is nothing to refine.
  if (next.is_view()) return with_target(next.target());
  if (is_view()) return next.with_source(source());

  // The digits between the two, and where those of each factor begin, on either side.
  Few<Dim> moved;
  for (const int factor : order()) moved.push_back(factors()[factor]);
  const auto digits = refine(moved, next.factors());
  if (!digits) return std::nullopt;
  const auto left = group_ends(*digits, moved.size(), [](const auto& digit) { return digit.left; });
  const auto right =
      group_ends(*digits, next.factors().size(), [](const auto& digit) { return digit.right; });
  Few<int> left_of(order().size()), place(digits->size()), moved_order;
  for (int i = 0; i < std::ssize(order()); ++i) left_of[order()[i]] = i;
  Few<Dim> sizes;
  for (const int group : left_of) {
    for (int digit = left[group]; digit < left[group + 1]; ++digit) {
      place[digit] = static_cast<int>(sizes.size());
      sizes.push_back((*digits)[digit].size);
    }
  }
  for (const int group : next.order())
    for (int digit = right[group]; digit < right[group + 1]; ++digit)
      moved_order.push_back(place[digit]);
  Movement movement = canonical(sizes, moved_order);
  return Relayout(source(), std::move(movement.factors), std::move(movement.order), next.target());
}

Relayout Relayout::with_source(Shape shape) const {
  if (shape == source()) return *this;
  LAYLINE_ASSERT(element_count(shape) == element_count(source()),
                 "{} and {} have not the same number of elements", to_string(shape),
                 to_string(source()));
  return Relayout(std::move(shape), factors(), order(), target());
}

Relayout Relayout::with_target(Shape shape) const {
  if (shape == target()) return *this;
  LAYLINE_ASSERT(element_count(shape) == element_count(target()),
                 "{} and {} have not the same number of elements", to_string(shape),
                 to_string(target()));
  return Relayout(source(), factors(), order(), std::move(shape));
}

std::optional<Dim> Relayout::target_stride(Dim stride, Dim size) const {
  // Factors are maximal pieces that move as one, so the digit must lie inside one of them.
  const Dims source_strides = strides(factors());
  for (int factor = 0; factor < std::ssize(factors()); ++factor) {
    const auto offset = divide(stride, source_strides[factor]);
    if (!offset || !divide(factors()[factor], *offset * size)) continue;
    Dim result = *offset;
    for (size_t i = order().size(); order()[--i] != factor;)
      result = result * factors()[order()[i]];
    return result;
  }
  return std::nullopt;
}

std::optional<int> Relayout::target_axis(int source_axis) const {
  LAYLINE_ASSERT(source_axis >= 0 && source_axis < std::ssize(source()), "{} has no dim {}",
                 to_string(source()), source_axis);
  const Dim size = source()[source_axis];
  if (size.is_one() || element_count(source()).is_zero()) {
    if (std::ranges::count(source(), size) != 1 || std::ranges::count(target(), size) != 1)
      return std::nullopt;
    return static_cast<int>(std::ranges::find(target(), size) - target().begin());
  }
  const auto stride = target_stride(strides(source())[source_axis], size);
  if (!stride) return std::nullopt;
  const Dims target_strides = strides(target());
  for (int axis = 0; axis < std::ssize(target()); ++axis)
    if (target_strides[axis] == *stride && target()[axis] == size) return axis;
  return std::nullopt;
}

std::optional<Permutation> Relayout::as_permutation() const {
  if (source().size() != target().size()) return std::nullopt;
  const bool empty = element_count(source()).is_zero();
  const auto has_digit = [&](Dim size) { return !empty && !size.is_one(); };
  constexpr int kOpen = -1;
  Permutation perm(target().size(), kOpen);
  for (int axis = 0; axis < std::ssize(source()); ++axis) {
    if (!has_digit(source()[axis])) continue;
    const auto place = target_axis(axis);
    if (!place) return std::nullopt;
    perm[*place] = axis;
  }
  for (int axis = 0; axis < std::ssize(source()); ++axis) {
    if (has_digit(source()[axis])) continue;
    size_t place = 0;
    while (place < perm.size() && (perm[place] != kOpen || target()[place] != source()[axis]))
      ++place;
    if (place == perm.size()) return std::nullopt;
    perm[place] = axis;
  }
  return perm;
}

std::optional<Relayout> Relayout::for_broadcast(const Shape& operand) const {
  LAYLINE_ASSERT(operand.size() <= source().size(), "{} does not broadcast to {}",
                 to_string(operand), to_string(source()));
  Shape padded(source().size() - operand.size());
  padded.insert(padded.end(), operand.begin(), operand.end());
  for (size_t i = 0; i < padded.size(); ++i)
    LAYLINE_ASSERT(padded[i].is_one() || padded[i] == source()[i], "{} does not broadcast to {}",
                   to_string(operand), to_string(source()));

  if (element_count(source()).is_zero()) {
    const auto perm = as_permutation();
    if (!perm) return std::nullopt;
    return permute(std::move(padded), *perm).with_source(operand);
  }

  // Runs of source dims that are alike: all kept by the operand, or all broadcast.
  struct Run {
    Dim size;
    bool kept;
  };
  std::vector<Run> runs;
  const auto append = [](std::vector<Run>& list, Dim size, bool kept) {
    if (!list.empty() && list.back().kept == kept)
      list.back().size = list.back().size * size;
    else
      list.push_back({size, kept});
  };
  for (size_t i = 0; i < padded.size(); ++i)
    if (!source()[i].is_one()) append(runs, source()[i], !padded[i].is_one());
  Dims run_sizes;
  for (const Run& run : runs) run_sizes.push_back(run.size);

  const auto digits = refine(run_sizes, factors());
  if (!digits) return std::nullopt;
  const Permutation place = inverse_permutation(order());
  const Permutation in_target =
      digits_by(digits->size(), [&](int digit) { return place[(*digits)[digit].right]; });
  const auto is_kept = [&](int digit) { return runs[(*digits)[digit].left].kept; };

  // Every target dim must lie inside one run of the target.
  std::vector<Run> target_runs;
  for (const int digit : in_target) append(target_runs, (*digits)[digit].size, is_kept(digit));
  Shape target;
  auto run = target_runs.begin();
  Dim covered;
  for (const Dim size : this->target()) {
    if (size.is_one()) {
      target.push_back(1);
      continue;
    }
    covered = covered * size;
    if (!divide(run->size, covered)) return std::nullopt;
    target.push_back(run->kept ? size : Dim(1));
    if (covered == run->size) {
      ++run;
      covered = 1;
    }
  }

  // The movement of the operand is that of the digits it has. A broadcast digit stays as a unit.
  Dims factors;
  for (int digit = 0; digit < std::ssize(*digits); ++digit)
    factors.push_back(is_kept(digit) ? (*digits)[digit].size : Dim(1));
  return from_factors(operand, std::move(factors), in_target, std::move(target));
}

int64_t Relayout::map_position(int64_t source_position) const {
  LAYLINE_ASSERT(source_position >= 0, "negative position");
  std::vector<int64_t> digits(factors().size());
  for (size_t i = factors().size(); i-- > 0;) {
    const int64_t size = factors()[i].value();
    LAYLINE_ASSERT(size > 0, "an empty tensor has no positions");
    digits[i] = source_position % size;
    source_position /= size;
  }
  LAYLINE_ASSERT(source_position == 0, "position outside {}", to_string(source()));
  int64_t target_position = 0;
  for (const int factor : order())
    target_position = target_position * factors()[factor].value() + digits[factor];
  return target_position;
}

}  // namespace layline
