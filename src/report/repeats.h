// Repeats in a picture: blocks of nodes that follow each other and are alike, such as the steps of
// a recurrence that is unrolled, or the layers of a transformer.
#pragma once

#include <cstddef>
#include <vector>

#include "report/picture.h"

namespace layline {

/// `count` blocks of `period` nodes each, one after the other, from node `first` on. Node q of
/// block r has the op, type, source line and constants of node q of block 0, and the same module
/// but for numbers in it. What node q of block 0 reads is of one of three kinds:
/// - It is in its own block. Node q of block r then reads the same place of block r.
/// - It is before all blocks, and carried on as a state is. Node q of every later block then reads
///   the same place of the block before it.
/// - It is before all blocks, and so is what node q of every later block reads. What is read moves
///   by the same number of nodes from block to block, 0 if it is shared.
struct Repeat {
  size_t first = 0;
  size_t period = 0;
  size_t count = 0;
};

/// Fewer repeats, or fewer nodes, are not worth a box of their own.
inline constexpr size_t kLeastRepeats = 3;
inline constexpr size_t kLeastRepeatedNodes = 16;  // in the blocks after the first

/// Repeats that do not overlap, and those within blocks of others; the outer before the inner ones.
/// The work is linear in the picture: after a fixed number of comparisons for each node, the search
/// ends with what it has found.
std::vector<Repeat> find_repeats(const Picture& picture);

}  // namespace layline
