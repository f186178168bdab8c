// How far placement looks before it gives up. A lower limit may make a choice dearer and a bound
// lower, but never a bound wrong: tests set limits at random and compare with brute force.
#pragma once

#include <cstddef>

namespace layline {

struct PlacementLimits {
  // Candidates. These are enough for every network that we know; a proof may ask for more.
  size_t orders = 16;         // for each op
  size_t forms = 12;          // for each value
  size_t joined_orders = 40;  // for each op, with those that are joined from two

  // All orders of an op, for a proof. An op that has more of them, or more digits at one port, is
  // refused.
  size_t all_orders = 120;
  size_t digits = 5;

  // Kept sets of one value that are told apart.
  size_t kept_sets = 1000;
  // A value with few readers gets one table over all of them, if that is small. Any other value
  // gets a variable for its kept set.
  size_t readers_in_one_table = 2;
  size_t entries_in_one_table = size_t{1} << 10;
  // Where the kept sets are too many, copies for one reader are no part of them, if the tables of
  // all readers have no more entries with that.
  size_t entries_of_own_copies = size_t{1} << 19;

  // Entries of one table during elimination. The first attempt is with small tables, which is
  // quick. The second is with large ones; in a part, their size depends on how many ops the part
  // has.
  size_t small_tables = size_t{1} << 10;
  size_t large_tables = size_t{1} << 18;
  size_t part_tables = size_t{1} << 15;
  size_t few_ops_tables = size_t{1} << 20;
  size_t few_ops = 24;  // a part with no more gets few_ops_tables

  // How often parts may grow, and how much work they may take. Work is counted in entries of tables
  // that are looked at: some hundredths of a second, and more for each op in a part. A refused op
  // that pays for its order or its result leaves no proof of the whole. Then a cheaper choice is
  // still looked for, in small parts only.
  int rounds = 30;
  int growth_without_proof = 2;
  size_t work = 3'000'000;
  size_t work_of_op = 20'000;
  size_t work_of_part_without_proof = 400'000;

  /// Limits for a proof that may take some seconds more. A second stands for an amount of work, so
  /// that what is found does not depend on the machine.
  static PlacementLimits for_seconds(double seconds);
};

}  // namespace layline
