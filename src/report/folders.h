// The folders in which the nodes of a picture are drawn. They are closed at first, so that a graph
// of any size opens as some dozens of boxes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/picture.h"

namespace layline {

/// What a folder holds at most: nodes and other folders.
inline constexpr size_t kMostInFolder = 200;

struct Folders {
  std::vector<std::string> paths;       // names of folders, the outermost first, joined by '.'
  std::vector<size_t> of_node;          // the place in `paths` of each node's folder
  std::vector<std::string> of_repeats;  // the paths of those that hold blocks after the first
  /// How many blocks a node stands for: it is in the first of them, and the others are in a folder.
  std::vector<size_t> repeats;
};

/// The modules of the user's own code are folders. Of blocks that repeat (repeats.h), the first is
/// drawn where it is, and the others together are one folder beside it, "13 more like NAME". What
/// is still too much for one folder is cut into parts, "1 to 100".
Folders folders_of(const Picture& picture);

}  // namespace layline
