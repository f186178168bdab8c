// Repeats in a picture: blocks of nodes that follow each other and are alike, such as the steps of
// a recurrence that is unrolled, or the layers of a transformer.
#pragma once

#include <cstddef>
#include <vector>

#include "report/picture.h"

namespace layline {

/// `count` blocks of `period` nodes each, one after the other, from node `first` on. Node q of
/// block r has the op, type, source line and constants of node q of block 0, and the same module
/// but for numbers in it. Where node q of block 0 reads
/// - its own block, node q of block r reads the same place of block r;
/// - a node before all blocks, node q of every later block reads the same place of the block before
///   it, as a state is carried on; or all read nodes before all blocks, and what is read moves by
///   the same number of nodes from block to block: 0 where it is shared.
struct Repeat {
  size_t first = 0;
  size_t period = 0;
  size_t count = 0;
};

/// Fewer are not worth a box of their own.
inline constexpr size_t kLeastRepeats = 3;
inline constexpr size_t kLeastRepeatedNodes = 16;  // in the blocks after the first

/// Repeats that do not overlap, and those within blocks of others; the outer before the inner ones.
/// The work is linear in the picture: after a fixed number of comparisons for each node, the search
/// ends with what it has found.
std::vector<Repeat> find_repeats(const Picture& picture);

}  // namespace layline
