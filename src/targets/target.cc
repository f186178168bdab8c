#include "targets/target.h"

#include <utility>

namespace layline {

FinalNode final_node(const Node& node, std::string where) {
  return {node.result()->name(), node.origin(), std::string(name(node.op())),
          to_string(node.result()->type()), std::move(where)};
}

}  // namespace layline
