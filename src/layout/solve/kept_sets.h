// In which copies a value may be kept, so that each copy is paid once, however many read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "layout/solve/packed_cost.h"

namespace layline {

/// The sets of copies in which a value may be kept, by their places in a list of copies. The empty
/// set comes first, then sets by their size. Sets too large to be told apart are one: the rest.
///
///   Three copies, two reads: {} {0} {1} {2} {0,1} {0,2} {1,2}
class KeptSets {
 public:
  /// What is paid for a set.
  struct Paid {
    std::vector<PackedCost> fixed;  // for each form that may be written, what is read in any case
    std::vector<PackedCost> copy;   // for each copy and, within it, each form, the copy besides
  };

  /// `reads` is how often the value is read, at most. Sets that cost `most` or more, whatever is
  /// written, are left out, and so are those that contain them.
  KeptSets(size_t copies, size_t reads, size_t most_sets, const Paid& paid, PackedCost most) {
    const size_t largest = std::min(copies, reads), forms = paid.fixed.size();
    sets_.push_back({kEmpty, 0});
    std::vector<std::pair<size_t, PackedCost>> cheap;  // forms, and what the set costs if written
    const auto is_cheap = [&](PackedCost cost) { return cost.price() < most.price(); };
    for (size_t begin = 0; largest_ < largest; ++largest_) {
      const size_t end = sets_.size();
      for (size_t i = begin; i < end && sets_.size() <= most_sets; ++i) {
        cheap.clear();
        for (size_t form = 0; form < forms; ++form) {
          PackedCost sum = paid.fixed[form];
          for (size_t s = i; s != kEmpty; s = sets_[s].without)
            sum += paid.copy[sets_[s].last() * forms + form];
          if (is_cheap(sum)) cheap.emplace_back(form, sum);
        }
        for (size_t next = sets_[i].end; next < copies; ++next) {
          const PackedCost* copy = &paid.copy[next * forms];
          if (std::ranges::any_of(cheap, [&](const auto& written) {
                return is_cheap(written.second + copy[written.first]);
              }))
            sets_.push_back({i, next + 1});
        }
      }
      if (sets_.size() > most_sets) {
        sets_.resize(end);
        break;
      }
      begin = end;
    }
    has_rest_ = largest_ < largest;
  }
  /// How many copies the largest set has that is told apart.
  size_t largest() const { return largest_; }
  bool has_rest() const { return has_rest_; }
  size_t count() const { return sets_.size() + has_rest_; }

  /// For each set but the rest, the sum of what its copies have, beginning with `none`.
  template <typename T>
  std::vector<T> sums(T none, const std::vector<T>& of_copy) const {
    std::vector<T> result = {none};
    result.reserve(sets_.size());
    for (size_t i = 1; i < sets_.size(); ++i)
      result.push_back(result[sets_[i].without] + of_copy[sets_[i].last()]);
    return result;
  }

 private:
  static constexpr size_t kEmpty = 0;  // the place of the empty set

  /// A set is another one, which stands before it, and a copy behind all copies of that one.
  struct Set {
    size_t without;
    size_t end;  // copies from here on are not in the set
    size_t last() const { return end - 1; }
  };
  std::vector<Set> sets_;
  size_t largest_ = 0;
  bool has_rest_ = false;
};

}  // namespace layline
