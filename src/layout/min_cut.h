// Regions in which every op has two orders and every value two forms, solved by one minimum cut.
//
// An op on the source's side of the cut takes the order that fits form A, on the sink's side form
// B. A copy is paid once however many read it: if the producer writes A and any reader wants B, the
// gadget producer -> copy (its cost) and copy -> reader (infinite) is cut exactly once, and the
// mirror image for the other direction.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace layline {

/// A port of a value: an op that has a choice, or a side that is fixed.
struct CutPort {
  int node = -1;      // or -1
  bool side = false;  // the side that the op's first order means (true: B); or the fixed side
};

/// A value with two forms, its producer and its readers.
struct CutValue {
  CutPort producer;
  std::vector<CutPort> readers;
  int64_t to_b = 0;  // the cost of a copy in form B of a value written in form A
  int64_t to_a = 0;
};

struct CutProblem {
  int nodes = 0;
  std::vector<int64_t> second_order_cost;  // what the second order of each op costs more, or less
  std::vector<CutValue> values;
};

struct Cut {
  std::vector<int> order;  // 0 or 1 for each op
  int64_t cost = 0;        // relative to all first orders' own costs
};

/// The exact minimum, or nullopt where no naming of the sides makes every value agree with its
/// ports: then the terms are not submodular and a cut does not express them.
std::optional<Cut> minimum_cut(const CutProblem& problem);

}  // namespace layline
