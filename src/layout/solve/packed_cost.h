// A cost as one number. Eliminating variables spends its time on adding and comparing costs.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "layout/cost.h"

namespace layline {

/// Time is in the upper word. Permutes, views and reordered ops share the lower word; none of the
/// three may exceed kMostTies in a sum.
class PackedCost {
 public:
  static constexpr int kTieBits = 21;
  static constexpr int64_t kMostTies = (int64_t{1} << kTieBits) - 1;
  __extension__ using Bits = unsigned __int128;

  PackedCost() = default;
  PackedCost(const Cost& cost)
      : bits_((Bits{static_cast<uint64_t>(cost.time_ps)} << kWord) +
              static_cast<Bits>((cost.permutes << (2 * kTieBits)) + (cost.views << kTieBits) +
                                cost.reordered)) {}

  Cost unpacked() const {
    const auto ties = static_cast<int64_t>(bits_);
    return {static_cast<int64_t>(bits_ >> kWord), ties >> (2 * kTieBits),
            (ties >> kTieBits) & kMostTies, ties & kMostTies};
  }
  int64_t time_ps() const { return static_cast<int64_t>(bits_ >> kWord); }
  /// `ps` may be negative, but the total may not become so.
  void add_time(int64_t ps) { bits_ += static_cast<Bits>(ps) << kWord; }

  /// As Cost::price.
  Bits price() const { return bits_ >> (2 * kTieBits); }
  /// All but time.
  uint64_t ties() const { return static_cast<uint64_t>(bits_); }
  static PackedCost of_ties(uint64_t ties) { return PackedCost(Bits{ties}); }

  /// The sum of two costs. A forbidden cost stays forbidden.
  friend PackedCost operator+(PackedCost a, PackedCost b) {
    const Bits both = a.bits_ + b.bits_;
    const auto time =
        std::min(static_cast<uint64_t>(both >> kWord), uint64_t{Cost::kForbiddenTime});
    return PackedCost((Bits{time} << kWord) + static_cast<uint64_t>(both));
  }
  PackedCost& operator+=(PackedCost other) { return *this = *this + other; }
  /// How much more `a` is than `b`, for sums that `b` is part of: sum + (a - b) has `a` instead.
  friend PackedCost operator-(PackedCost a, PackedCost b) { return PackedCost(a.bits_ - b.bits_); }
  auto operator<=>(const PackedCost&) const = default;

 private:
  static constexpr int kWord = 64;
  explicit PackedCost(Bits bits) : bits_(bits) {}

  Bits bits_ = 0;
};

}  // namespace layline
