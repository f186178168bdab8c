// In which copies a value may be kept, so that each is paid once, however many read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace layline {

/// The sets of copies in which a value may be kept, by their places in a list of copies. Sets too
/// large to be told apart are one: the rest.
class KeptSets {
 public:
  /// `reads` is how often the value is read, at most. Sets that are too dear are left out, and so
  /// are those that contain them.
  KeptSets(size_t copies, size_t reads, size_t most_sets,
           const std::function<bool(const std::vector<int>&)>& too_dear) {
    const size_t most = std::min(copies, reads);
    sets_.emplace_back();
    for (size_t begin = 0; largest_ < most; ++largest_) {
      const size_t end = sets_.size();
      for (size_t i = begin; i < end && sets_.size() <= most_sets; ++i)
        for (int next = sets_[i].empty() ? 0 : sets_[i].back() + 1; next < static_cast<int>(copies);
             ++next) {
          sets_.push_back(sets_[i]);
          sets_.back().push_back(next);
          if (too_dear(sets_.back())) sets_.pop_back();
        }
      if (sets_.size() > most_sets) {
        sets_.resize(end);
        break;
      }
      begin = end;
    }
    has_rest_ = largest_ < most;
  }
  const std::vector<std::vector<int>>& all() const { return sets_; }
  size_t largest() const { return largest_; }
  bool has_rest() const { return has_rest_; }
  int count() const { return static_cast<int>(sets_.size()) + has_rest_; }

 private:
  std::vector<std::vector<int>> sets_;
  size_t largest_ = 0;
  bool has_rest_ = false;
};

}  // namespace layline
