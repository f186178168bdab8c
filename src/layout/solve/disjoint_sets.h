// Which of a number of things belong together.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace layline {

/// At first each thing is a set by itself.
class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  /// One thing that stands for its whole set.
  size_t find(size_t thing) {
    while (parent_[thing] != thing) thing = parent_[thing] = parent_[parent_[thing]];
    return thing;
  }
  void join(size_t a, size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<size_t> parent_;
};

}  // namespace layline
