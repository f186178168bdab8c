#include "report/repeats.h"

#include <cctype>
#include <limits>
#include <string>
#include <unordered_map>

namespace layline {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();
constexpr size_t kMostPeriods = 32;       // tried at a node
constexpr size_t kMostComparisons = 256;  // for each node of the picture

/// The module's name without its numbers: "layers.12.norm" is "layers.#.norm".
std::string without_numbers(const std::string& module) {
  std::string text;
  for (const char c : module) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit) {
      text += c;
    } else if (!text.ends_with('#')) {
      text += '#';
    }
  }
  return text;
}

/// What nodes at the same place of two blocks have in common, besides what they read.
std::string kind_of(const PictureNode& node) {
  std::string text = node.op;
  const auto add = [&](const std::string& part) {
    text += '\n';
    text += part;
  };
  add(node.type);
  add(node.source);
  add(without_numbers(node.module));
  add(node.moves);
  add(node.where);
  add(std::to_string(node.inputs.size()));
  for (const std::string& constant : node.constants) add(constant);
  return text;
}

class Search {
 public:
  explicit Search(const Picture& picture)
      : nodes_(picture.nodes), work_left_(kMostComparisons * picture.nodes.size()) {
    kinds_.reserve(nodes_.size());
    std::unordered_map<std::string, size_t> numbers;
    for (const PictureNode& node : nodes_)
      kinds_.push_back(numbers.try_emplace(kind_of(node), numbers.size()).first->second);
    std::vector<size_t> last(numbers.size(), kNone);
    next_.assign(nodes_.size(), kNone);
    for (size_t i = nodes_.size(); i-- > 0;) {
      // Inputs and outputs are told apart by their names alone, and never drawn as one.
      if (is_boundary(nodes_[i])) continue;
      next_[i] = last[kinds_[i]];
      last[kinds_[i]] = i;
    }
  }

  std::vector<Repeat> run() {
    search(0, nodes_.size());
    return std::move(found_);
  }

 private:
  void search(size_t begin, size_t end) {
    for (size_t i = begin; i < end;) {
      const Repeat repeat = largest_at(i, end);
      if (repeat.count == 0) {
        ++i;
        continue;
      }
      found_.push_back(repeat);
      for (size_t block = 0; block < repeat.count; ++block, i += repeat.period)
        search(i, i + repeat.period);
    }
  }

  /// The repeat from `first` on that has the most nodes; none if its count is 0.
  Repeat largest_at(size_t first, size_t end) {
    Repeat largest;
    size_t tried = 0;
    for (size_t second = next_[first]; second != kNone && tried < kMostPeriods;
         second = next_[second], ++tried) {
      const size_t period = second - first;
      if (first + kLeastRepeats * period > end) break;
      // Two periods of a repeat are one of the same nodes.
      if (largest.count > 0 && period % largest.period == 0) continue;
      const Repeat repeat = {first, period, count_blocks(first, period, end)};
      if (repeat.count < kLeastRepeats || (repeat.count - 1) * period < kLeastRepeatedNodes)
        continue;
      if (repeat.count * period > largest.count * largest.period) largest = repeat;
    }
    return largest;
  }

  size_t count_blocks(size_t first, size_t period, size_t end) {
    size_t i = first + period;
    while (i < end && work_left_ > 0 && fits(first, period, i)) {
      ++i;
      --work_left_;
    }
    if (work_left_ > 0) --work_left_;
    return (i - first) / period;
  }

  /// Whether a node in a block after the first is as the repeat wants it.
  bool fits(size_t first, size_t period, size_t node) const {
    const size_t block = (node - first) / period;
    const size_t in_first = node - block * period;
    if (kinds_[node] != kinds_[in_first] || is_boundary(nodes_[node])) return false;
    for (size_t i = 0; i < nodes_[node].inputs.size(); ++i) {
      const size_t input = nodes_[node].inputs[i];
      const size_t at_first = nodes_[in_first].inputs[i];
      const size_t at_second = nodes_[in_first + period].inputs[i];
      if (at_first >= first) {  // its own block
        if (input != at_first + block * period) return false;
      } else if (at_second >= first) {  // the block before
        if (at_second >= first + period || input != at_second + (block - 1) * period) return false;
      } else {  // before all blocks, by equal steps
        if (input >= first || input + block * at_first != at_first + block * at_second)
          return false;
      }
    }
    return true;
  }

  const std::vector<PictureNode>& nodes_;
  std::vector<size_t> kinds_;  // the same number for nodes of one kind
  std::vector<size_t> next_;   // the next node of the same kind
  std::vector<Repeat> found_;
  size_t work_left_;
};

}  // namespace

std::vector<Repeat> find_repeats(const Picture& picture) { return Search(picture).run(); }

}  // namespace layline
