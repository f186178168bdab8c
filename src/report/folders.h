// The folders in which the nodes of a picture are drawn. They are closed at first, so that a graph
// of any size opens as some dozens of boxes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/picture.h"

namespace layline {

/// How many nodes and other folders a folder holds at most.
inline constexpr size_t kMostInFolder = 200;

struct Folders {
  std::vector<std::string> paths;       // names of folders, the outermost first, joined by '.'
  std::vector<size_t> of_node;          // the place in `paths` of each node's folder
  std::vector<std::string> of_repeats;  // the paths of folders for blocks after the first
  /// How many blocks a node stands for. It is in the first of them; the others are in a folder.
  std::vector<size_t> repeats;
};

/// The modules of the user's own code are folders. The first of some blocks that repeat (repeats.h)
/// is drawn where it is; the others together are one folder beside it, "13 more like NAME". What is
/// still too much for one folder is cut into parts, "1 to 100".
Folders folders_of(const Picture& picture);

}  // namespace layline
