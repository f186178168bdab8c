// Ops of a model that have no rule. They are refused all at once.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace layline {

class UnsupportedOps {
 public:
  /// `remedy` is what is said about the op, or empty.
  void add(const std::string& op, const Origin& origin, const std::string& remedy = {});
  bool empty() const { return places_.empty(); }
  /// "2 unsupported ops".
  std::string count() const;
  /// "Cbrt at a; Erfcx at b (remedy) and 3 more": sorted, with the first place of each.
  std::string list() const;

 private:
  struct Places {
    int count = 0;
    std::string first;
  };
  std::map<std::string, Places> places_;
};

}  // namespace layline
