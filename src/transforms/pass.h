// What a pass is, and what it is given besides the graph.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "layout/placement.h"
#include "transforms/target_rules.h"

namespace layline {

/// Why something was done or not done, recorded where it was decided.
struct Explanation {
  std::string_view pass;
  std::string value;  // the value's name in the text form
  OriginRef origin;   // may be null
  std::string text;
};

class PassContext {
 public:
  /// `explanations` may be null: then no text is made.
  PassContext(std::string_view pass, const TargetRules& target,
              std::vector<Explanation>* explanations, bool last_time = true,
              const PlacementLimits& placement_limits = {}, std::string* proof = nullptr)
      : pass_(pass),
        target_(target),
        explanations_(explanations),
        last_time_(last_time),
        placement_limits_(placement_limits),
        proof_(proof) {}

  const TargetRules& target() const { return target_; }
  /// Whether the pass will not run again. What it finds now is what stays.
  bool last_time() const { return last_time_; }
  const PlacementLimits& placement_limits() const { return placement_limits_; }

  /// Records what a placement proves.
  void certify(const Certificate& certificate) { certificate_ = certificate; }
  const std::optional<Certificate>& certificate() const { return certificate_; }

  /// Where the proof of a placement is written (layout/proof); null if nobody asks for it.
  std::string* proof() const { return proof_; }

  /// Records that `node` is rewritten, with a fmt format string and its arguments. Call it before
  /// the node changes.
  template <typename... Args>
  void rewrite(const Node& node, fmt::format_string<Args...> format, Args&&... args) {
    ++rewrites_;
    explain(node, format, std::forward<Args>(args)...);
  }

  /// Records the reason for leaving `node` as it is.
  template <typename... Args>
  void explain(const Node& node, fmt::format_string<Args...> format, Args&&... args) {
    if (explanations_ == nullptr) return;
    explanations_->push_back({pass_, node.result()->name(), node.origin(),
                              fmt::format(format, std::forward<Args>(args)...)});
  }

  /// Whether explanations are kept: text that is costly to make is made only then.
  bool explains() const { return explanations_ != nullptr; }

  size_t rewrites() const { return rewrites_; }

 private:
  std::string_view pass_;
  const TargetRules& target_;
  std::vector<Explanation>* explanations_;
  bool last_time_;
  PlacementLimits placement_limits_;
  std::string* proof_;
  std::optional<Certificate> certificate_;
  size_t rewrites_ = 0;
};

struct Pass {
  std::string_view name;
  std::string_view summary;  // one line, for --help
  /// Returns whether it changed the graph. What a pass leaves without uses, it erases.
  bool (*run)(Graph&, PassContext&);
  /// The pass changes how numbers are rounded, by design. What follows is validated against its
  /// result.
  bool rounds_anew = false;
  /// The pass does more in its last run, which takes place even if nothing has changed since.
  bool proves = false;
};

}  // namespace layline
