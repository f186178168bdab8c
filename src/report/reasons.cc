#include "report/reasons.h"

#include <string_view>
#include <unordered_map>

namespace layline {

std::vector<std::vector<const Reason*>> reasons_at(const Picture& picture,
                                                   const std::vector<Reason>& reasons) {
  std::unordered_map<std::string_view, size_t> by_value, by_origin;
  for (size_t i = 0; i < picture.nodes.size(); ++i) {
    const PictureNode& node = picture.nodes[i];
    if (!is_boundary(node)) by_value.emplace(node.name, i);
    if (!node.origin.empty()) by_origin.emplace(node.origin, i);
  }
  std::vector<std::vector<const Reason*>> told(picture.nodes.size());
  for (const Reason& reason : reasons) {
    if (const auto node = by_value.find(reason.value); node != by_value.end()) {
      told[node->second].push_back(&reason);
    } else if (const auto first = by_origin.find(reason.origin); first != by_origin.end()) {
      told[first->second].push_back(&reason);
    }
  }
  return told;
}

}  // namespace layline
