// In which copies a value may be kept, so that each is paid once, however many read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "layout/packed_cost.h"

namespace layline {

/// The sets of copies in which a value may be kept, by their places in a list of copies. Sets too
/// large to be told apart are one: the rest.
class KeptSets {
 public:
  /// What is paid for a set: for each form that may be written, what is read whatever is chosen,
  /// and then each copy, in rows of forms.
  struct Paid {
    std::vector<PackedCost> fixed;
    std::vector<PackedCost> copy;
  };

  /// `reads` is how often the value is read, at most. Sets that cost `most` or more, whatever is
  /// written, are left out, and so are those that contain them.
  KeptSets(size_t copies, size_t reads, size_t most_sets, const Paid& paid, PackedCost most) {
    const size_t largest = std::min(copies, reads), forms = paid.fixed.size();
    sets_.push_back({-1, -1});
    std::vector<std::pair<size_t, PackedCost>> cheap;  // forms, and what the set costs if written
    const auto is_cheap = [&](PackedCost cost) { return cost.price() < most.price(); };
    for (size_t begin = 0; largest_ < largest; ++largest_) {
      const size_t end = sets_.size();
      for (size_t i = begin; i < end && sets_.size() <= most_sets; ++i) {
        cheap.clear();
        for (size_t form = 0; form < forms; ++form) {
          PackedCost sum = paid.fixed[form];
          for (Set set = sets_[i]; set.without >= 0; set = sets_[static_cast<size_t>(set.without)])
            sum += paid.copy[static_cast<size_t>(set.last) * forms + form];
          if (is_cheap(sum)) cheap.emplace_back(form, sum);
        }
        for (int next = sets_[i].last + 1; next < static_cast<int>(copies); ++next) {
          const PackedCost* copy = &paid.copy[static_cast<size_t>(next) * forms];
          if (std::ranges::any_of(cheap, [&](const auto& written) {
                return is_cheap(written.second + copy[written.first]);
              }))
            sets_.push_back({static_cast<int>(i), next});
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
  size_t largest() const { return largest_; }
  bool has_rest() const { return has_rest_; }
  int count() const { return static_cast<int>(sets_.size()) + has_rest_; }

  /// For each set but the rest, the sum of what its copies have, beginning with `none`.
  template <typename T>
  std::vector<T> sums(T none, const std::vector<T>& of_copy) const {
    std::vector<T> result = {none};
    result.reserve(sets_.size());
    for (size_t i = 1; i < sets_.size(); ++i)
      result.push_back(result[static_cast<size_t>(sets_[i].without)] +
                       of_copy[static_cast<size_t>(sets_[i].last)]);
    return result;
  }

 private:
  /// A set is another one, which stands before it, and a copy.
  struct Set {
    int without;
    int last;
  };
  std::vector<Set> sets_;
  size_t largest_ = 0;
  bool has_rest_ = false;
};

}  // namespace layline
