// Relayout: every way of moving the elements of a tensor without looking at them, in one form.
// docs/layout.md tells the algebra with worked examples and proofs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "algebra/dim.h"
#include "base/few.h"

namespace layline {

/// A list of up to four takes no more room than the address of a longer one.
using Permutation = Few<int, 4>;

/// A bijection between the row-major positions of two shapes of equal element count: split the
/// source range into factors, permute the factors, read the result as the target shape.
///
/// view, reshape, permute, transpose, squeeze, flatten, pixel shuffle, channel shuffle and window
/// partition are all relayouts. A relayout is a *movement* (what happens to the bytes) between two
/// *shapes* (how the bytes are read); the two are independent.
///
///   NCHW to NHWC    [1,3,4,5] (3,20)->(1,0) [1,4,5,3]
///   pixel shuffle   [1,8,5,6] (2,2,2,5,6)->(0,3,1,4,2) [1,2,10,12]
///   flatten         [1,3,4,5] -> [1,60]
///
/// Canonical form, an invariant of the class: no factor is 1, and no two factors that are
/// neighbours in the source stand as the same neighbours in the target (they are one factor). It is
/// unique, so two relayouts move elements alike if and only if their factors and orders are equal.
///
/// Nothing moves in an empty tensor: each of its relayouts has the identity movement.
class Relayout {
 public:
  /// The identity of a scalar.
  Relayout();

  static Relayout identity(Shape shape);
  /// Same bytes, other shape. Requires equal element counts, as every factory does.
  static Relayout view(Shape from, Shape to);
  /// Dim i of the target is dim perm[i] of the source, as in torch.permute.
  static Relayout permute(Shape from, std::span<const int> perm);
  /// Any factorisation, brought to canonical form: `factors` in source order; order[i] is the index
  /// of the factor that stands at place i of the target.
  static Relayout from_factors(Shape from, Dims factors, Permutation order, Shape to);

  const Shape& source() const { return form_->source; }
  const Shape& target() const { return form_->target; }
  /// The canonical factors in source order, outermost first; their product is the element count.
  const Dims& factors() const { return form_->factors; }
  /// order()[i] is the index of the factor that stands at place i of the target.
  const Permutation& order() const { return form_->order; }

  /// Whether the movement is the identity: the bytes stay, at most the shape changes.
  bool is_view() const { return factors().size() <= 1; }
  /// Whether it is a view to the same shape.
  bool is_identity() const { return is_view() && source() == target(); }
  /// Whether both have the same movement, whatever their shapes.
  bool moves_like(const Relayout& other) const {
    return form_ == other.form_ || (form_->movement_hash == other.form_->movement_hash &&
                                    factors() == other.factors() && order() == other.order());
  }
  friend bool operator==(const Relayout& a, const Relayout& b) {
    return a.form_ == b.form_ || *a.form_ == *b.form_;
  }

  /// Equal relayouts have equal hashes.
  size_t hash() const { return form_->movement_hash ^ form_->shapes_hash; }

  Relayout inverse() const;
  /// First this, then `next`, as one relayout. Requires target() == next.source().
  ///
  /// With static shapes, nullopt proves that the two movements are not one: no relayout has the
  /// composed map of positions. With symbols it proves that none does for all values of the
  /// symbols; for some values, or under a constraint such as "s1 is even" that a Dim cannot say,
  /// one may exist.
  std::optional<Relayout> then(const Relayout& next) const;

  /// The same movement between other shapes of equal element count.
  Relayout with_source(Shape shape) const;
  Relayout with_target(Shape shape) const;

  /// The target dim that is exactly the given source dim: its index is the same for every element.
  ///
  /// A dim without a digit (a unit dim, or any dim of an empty tensor) has no place among the
  /// positions; it is matched only when it is the one dim of its size in the source and in the
  /// target.
  std::optional<int> target_axis(int source_axis) const;
  /// The perm for which permute(source(), perm) is this relayout, if there is one. Dims without a
  /// digit are paired in order.
  std::optional<Permutation> as_permutation() const;

  /// What a kernel needs: view the source as `dims`, permute by `perm`, view as the target. No
  /// transpose of lower rank has this movement.
  struct Transpose {
    Shape dims;
    Permutation perm;
  };
  Transpose as_transpose() const { return {factors(), order()}; }

  /// For an operand that broadcasts to source() (right-aligned, each dim equal or 1): the relayout
  /// after which it broadcasts to target() and gives the same elements as broadcasting first and
  /// then moving. Its target has the rank of target(), and 1 wherever the operand is broadcast.
  /// Nullopt if a target dim would be broadcast in part.
  ///
  ///   NCHW to NHWC, operand [1,C,1,1]: to [1,1,1,C];  operand [W]: to [1,1,W,1]
  ///   flatten [C,H] to [C*H], operand [C,1]: nullopt
  ///
  /// An empty source is treated conservatively: only permutations are carried over.
  std::optional<Relayout> for_broadcast(const Shape& operand) const;

  /// The target position of the element at a source position. Requires static shapes.
  int64_t map_position(int64_t source_position) const;

 private:
  Relayout(Shape source, Dims factors, Permutation order, Shape target);

  /// Where the digit of `size` at `stride` of the source positions stands in the target, if it
  /// moves as one piece: its stride there. Requires a size other than 1 and a non-empty tensor.
  std::optional<Dim> target_stride(Dim stride, Dim size) const;

  /// A form never changes once it is made, so copies share it: a placement holds a relayout at
  /// every port of every op.
  struct Form {
    size_t movement_hash;  // tells most unequal movements apart without looking further
    size_t shapes_hash;
    Shape source;
    Dims factors;
    Permutation order;
    Shape target;
    friend bool operator==(const Form&, const Form&) = default;
  };
  std::shared_ptr<const Form> form_;
};

/// Moves data: element p of `in` becomes element map_position(p) of `out`. Requires static shapes,
/// both spans of exactly the tensor's size, and no overlap. Any alignment.
void apply(const Relayout& relayout, std::span<const std::byte> in, std::span<std::byte> out,
           size_t element_size);

/// "[1,3,4,5] (3,20)->(1,0) [1,4,5,3]": source, factors, order, target; "[2,3] -> [6]" for a view.
std::string to_string(const Relayout& relayout);
/// Reads the text form, canonical or not; throws UserError on text that is no relayout.
Relayout parse_relayout(std::string_view text);

}  // namespace layline
