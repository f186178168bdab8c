// How far placement looks before it gives up. Less makes a choice dearer and a bound lower, never a
// bound wrong: tests set limits at random and compare with brute force.
#pragma once

#include <cstddef>

namespace layline {

struct PlacementLimits {
  // Candidates: enough for every network that we know. More are not looked for unless a proof needs
  // them.
  size_t orders = 16;  // of an op
  size_t forms = 12;   // of a value
  size_t joined_orders = 40;

  // All orders of an op, for a proof: so many, over so many digits of one port.
  size_t all_orders = 120;
  size_t digits = 5;

  // Sets of copies of one value that are told apart. Values with more readers than this get a
  // variable of their own for the set of copies that are kept; below it a table over all of them is
  // smaller.
  size_t kept_sets = 1000;
  size_t readers_in_one_table = 2;
  size_t entries_in_one_table = size_t{1} << 10;

  // Entries of a table during elimination: first a size that is quickly exhausted, then what memory
  // allows. In parts of the graph that are searched for a proof, it depends on how many ops they
  // have.
  size_t small_tables = size_t{1} << 10;
  size_t large_tables = size_t{1} << 18;
  size_t part_tables = size_t{1} << 15;
  size_t few_ops_tables = size_t{1} << 20;
  size_t few_ops = 24;

  // How often the parts of the graph that a proof looks at may grow, and how much work it may be,
  // counted in entries of tables that are looked at: some hundredths of a second, and more for each
  // op that is looked at. An op that has too many orders for all of them to be looked at, and pays
  // for its order or its result, leaves nothing to be proved of the whole: then a cheaper choice is
  // looked for, in small parts only.
  int rounds = 30;
  int growth_without_proof = 2;
  size_t work = 2'300'000;
  size_t work_of_op = 20'000;
  size_t work_of_part_without_proof = 400'000;
};

}  // namespace layline
