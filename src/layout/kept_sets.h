// In which copies a value may be kept, so that each is paid once, however many read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace layline {

/// The sets of copies in which a value may be kept, by their places in a list of copies. Sets too
/// large to be told apart are one: the rest.
class KeptSets {
 public:
  /// `reads` is how often the value is read, at most. Sets that are too dear are left out, and so
  /// are those that contain them.
  KeptSets(size_t copies, size_t reads, size_t most_sets,
           const std::function<bool(std::span<const int>)>& too_dear) {
    const size_t most = std::min(copies, reads);
    sets_.push_back({-1, -1});
    std::vector<int> members;
    for (size_t begin = 0; largest_ < most; ++largest_) {
      const size_t end = sets_.size();
      for (size_t i = begin; i < end && sets_.size() <= most_sets; ++i) {
        members.assign(1, -1);  // the copy that is added
        for (Set set = sets_[i]; set.without >= 0; set = sets_[static_cast<size_t>(set.without)])
          members.push_back(set.last);
        for (int next = sets_[i].last + 1; next < static_cast<int>(copies); ++next) {
          members[0] = next;
          if (!too_dear(members)) sets_.push_back({static_cast<int>(i), next});
        }
      }
      if (sets_.size() > most_sets) {
        sets_.resize(end);
        break;
      }
      begin = end;
    }
    has_rest_ = largest_ < most;
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
