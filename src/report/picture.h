// The graph of a method as it is drawn: what `--report FILE.html` shows before and after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace layline {

struct PictureNode {
  std::string name;  // the value's, as in the text form
  std::string op;    // "input" and "output" for the boundary
  std::string type;
  std::string source, module;          // in the user's own code
  std::string origin;                  // the node in the model that it comes from
  std::vector<size_t> inputs;          // the nodes that it reads
  std::vector<std::string> constants;  // the types of constant operands
  int64_t bytes = 0;                   // the size of the result
  std::string moves;                   // a permute that moves data: its relayout
  std::string where;                   // a node in the program: where it runs, and why there
};

inline bool is_boundary(const PictureNode& node) {
  return node.op == "input" || node.op == "output";
}

struct Picture {
  std::string method;
  std::vector<PictureNode> nodes;  // in the order in which they run
};

/// A decision of a pass about a node.
struct Reason {
  std::string pass;
  std::string value;
  std::string origin;
  std::string text;
};

/// A tensor in the arena: its place, and the instructions between which it lives.
struct ArenaTensor {
  std::string method;
  std::string type;
  int64_t offset = 0, bytes = 0;
  int64_t first = 0, last = 0;
};

struct Pictures {
  std::vector<Picture> before, after;  // one for each method
  std::vector<Reason> reasons;
  std::vector<std::string> certificates;
  std::vector<ArenaTensor> arena;
};

}  // namespace layline
