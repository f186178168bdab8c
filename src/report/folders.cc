#include "report/folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <unordered_map>

#include "report/repeats.h"

namespace layline {
namespace {

constexpr size_t kRoot = 0;
constexpr size_t kNone = std::numeric_limits<size_t>::max();
constexpr size_t kPartSize = 100;

class Tree {
 public:
  explicit Tree(const Picture& picture) : nodes_(picture.nodes), repeats_(nodes_.size(), 1) {
    std::unordered_map<std::string_view, size_t> of_module;
    for (const PictureNode& node : nodes_) {
      const auto [known, is_new] = of_module.emplace(node.module, kRoot);
      if (is_new) known->second = of_path(node.module);
      of_node_.push_back(known->second);
    }
  }

  /// Puts all blocks but the first into a folder of their own.
  void fold(const Repeat& repeat) {
    const size_t end = repeat.first + repeat.period * repeat.count;
    for (size_t i = repeat.first; i < repeat.first + repeat.period; ++i)
      repeats_[i] *= repeat.count;
    size_t common = of_node_[repeat.first];
    for (size_t i = repeat.first; i < end; ++i) common = common_of(common, of_node_[i]);
    const std::vector<size_t> own = own_folders(repeat, common);
    const std::string& like = own.empty() ? nodes_[repeat.first].name : folders_[own[0]].name;
    const size_t others = child(common, fmt::format("{} more like {}", repeat.count - 1, like));
    of_repeats_.push_back(others);
    for (size_t block = 1; block < repeat.count; ++block) {
      const size_t above =
          own.empty() ? child(others, fmt::format("repeat {}", block + 1)) : others;
      const size_t begin = repeat.first + block * repeat.period;
      std::unordered_map<size_t, size_t> moved = {{common, above}};
      for (size_t i = begin; i < begin + repeat.period; ++i) of_node_[i] = move(of_node_[i], moved);
    }
  }

  /// Cuts folders that hold too much into parts.
  void cut() {
    // The place of each folder and of each node in the folder that holds it, in the order of nodes.
    std::vector<size_t> held(folders_.size(), 0), folder_place(folders_.size(), kNone), node_place;
    folder_place[kRoot] = 0;
    std::vector<size_t> unseen;
    for (size_t folder : of_node_) {
      for (size_t f = folder; folder_place[f] == kNone; f = folders_[f].parent) unseen.push_back(f);
      for (; !unseen.empty(); unseen.pop_back())
        folder_place[unseen.back()] = held[folders_[unseen.back()].parent]++;
      node_place.push_back(held[folder]++);
    }
    const auto part = [&](size_t folder, size_t place) {
      return held[folder] > kMostInFolder ? part_of(folder, place, held[folder]) : folder;
    };
    for (size_t i = 0; i < of_node_.size(); ++i) of_node_[i] = part(of_node_[i], node_place[i]);
    for (size_t folder = 1; folder < held.size(); ++folder)
      if (folder_place[folder] != kNone)
        folders_[folder].parent = part(folders_[folder].parent, folder_place[folder]);
  }

  Folders take() {
    Folders folders;
    std::unordered_map<size_t, size_t> places;
    for (const size_t folder : of_node_) {
      const auto [known, is_new] = places.emplace(folder, folders.paths.size());
      if (is_new) folders.paths.push_back(path(folder));
      folders.of_node.push_back(known->second);
    }
    for (const size_t folder : of_repeats_) folders.of_repeats.push_back(path(folder));
    folders.repeats = std::move(repeats_);
    return folders;
  }

 private:
  struct Folder {
    size_t parent = kRoot;
    std::string name;
    size_t depth = 0;
  };

  size_t child(size_t parent, std::string_view name) {
    const auto [known, is_new] =
        children_.emplace(fmt::format("{} {}", parent, name), folders_.size());
    if (is_new) folders_.push_back({parent, std::string(name), folders_[parent].depth + 1});
    return known->second;
  }

  size_t of_path(std::string_view module) {
    size_t folder = kRoot;
    while (!module.empty()) {
      const size_t end = std::min(module.find('.'), module.size());
      folder = child(folder, module.substr(0, end));
      module.remove_prefix(std::min(end + 1, module.size()));
    }
    return folder;
  }

  size_t common_of(size_t a, size_t b) const {
    while (a != b) {
      size_t& deeper = folders_[a].depth > folders_[b].depth ? a : b;
      deeper = folders_[deeper].parent;
    }
    return a;
  }

  /// The folder directly in `common` that has all of a block's nodes, for each block; nothing if a
  /// block has no folder that is its own.
  std::vector<size_t> own_folders(const Repeat& repeat, size_t common) const {
    std::vector<size_t> own;
    std::set<size_t> distinct;
    for (size_t block = 0; block < repeat.count; ++block) {
      const size_t begin = repeat.first + block * repeat.period;
      size_t folder = of_node_[begin];
      for (size_t i = begin; i < begin + repeat.period; ++i)
        folder = common_of(folder, of_node_[i]);
      while (folders_[folder].depth > folders_[common].depth + 1) folder = folders_[folder].parent;
      if (folder == common || !distinct.insert(folder).second) return {};
      own.push_back(folder);
    }
    return own;
  }

  /// The folder with the same names that is below another; `moved` has those that are known.
  size_t move(size_t folder, std::unordered_map<size_t, size_t>& moved) {
    std::vector<size_t> to_move;
    while (!moved.contains(folder)) {
      to_move.push_back(folder);
      folder = folders_[folder].parent;
    }
    size_t result = moved.at(folder);
    for (; !to_move.empty(); to_move.pop_back()) {
      const std::string name = folders_[to_move.back()].name;
      result = child(result, name);
      moved.emplace(to_move.back(), result);
    }
    return result;
  }

  /// The part of a folder for what is at `place` of all that it holds; parts of parts if need be.
  size_t part_of(size_t folder, size_t place, size_t all) {
    size_t size = kPartSize;
    while ((all - 1) / size + 1 > kMostInFolder) size *= kPartSize;
    for (; size > 1; size /= kPartSize) {
      const size_t begin = place / size * size;
      folder = child(folder, fmt::format("{} to {}", begin + 1, std::min(begin + size, all)));
    }
    return folder;
  }

  std::string path(size_t folder) const {
    std::vector<std::string_view> names;
    for (; folder != kRoot; folder = folders_[folder].parent)
      names.push_back(folders_[folder].name);
    std::ranges::reverse(names);
    return fmt::format("{}", fmt::join(names, "."));
  }

  const std::vector<PictureNode>& nodes_;
  std::vector<Folder> folders_ = {Folder()};
  std::unordered_map<std::string, size_t> children_;  // by the parent and the name
  std::vector<size_t> of_node_;
  std::vector<size_t> of_repeats_;
  std::vector<size_t> repeats_;
};

}  // namespace

Folders folders_of(const Picture& picture) {
  Tree tree(picture);
  for (const Repeat& repeat : find_repeats(picture)) tree.fold(repeat);
  tree.cut();
  return tree.take();
}

}  // namespace layline
