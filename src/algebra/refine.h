// The common refinement of two factorisations of one range of positions.
#pragma once

#include <optional>
#include <span>

#include "algebra/dim.h"
#include "base/few.h"

namespace layline {

/// A digit that lies inside factor `left` of one factorisation and factor `right` of the other.
struct SharedDigit {
  Dim size;
  int left;
  int right;
};

using SharedDigits = Few<SharedDigit>;

/// The coarsest digits that make up the factors of both `left` and `right`, outermost first and
/// none of size 1. The two are row-major factorisations with equal, non-zero products. Nullopt if
/// there are no such digits: a stride of one and a stride of the other do not divide each other.
///
///   refine((6,4), (3,8))  ==  3:0,0  2:0,1  4:1,1
///   refine((2,3), (3,2))  ==  nullopt: the strides 3 and 2 do not divide each other
///   refine((s1,4), (2*s1,2))  ==  s1:0,0  2:1,0  2:1,1
///   refine((s1,4), (4,s1))  ==  nullopt: 4 need not divide s1, nor s1 4
std::optional<SharedDigits> refine(std::span<const Dim> left, std::span<const Dim> right);

}  // namespace layline
