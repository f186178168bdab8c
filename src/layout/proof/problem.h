// A placement problem as a proof tells it: ops, their orders, and the movements of their values, by
// number (docs/proof.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/placement.h"

namespace layline::proof {

/// Time, and at equal time permutes, as one number.
__extension__ using Price = __int128;
constexpr Price kPermutes = Price{1} << 32;
constexpr Price kForbidden = Price{1} << 100;
Price price_of(const Cost& cost);
/// Two numbers: picoseconds and permutes.
std::string to_text(Price price);

/// Forms of a value that have the same movement are one here: views cost nothing.
struct Value {
  std::string name;
  int64_t bytes_of_element = 0;
  int64_t elements = 0;
  bool is_dynamic = false;                     // some size is not a number
  std::vector<Relayout> movements = {};        // the first is the value's own
  std::vector<std::vector<Price>> price = {};  // of going from one movement to another
  std::optional<size_t> producer = {};
  std::vector<size_t> readers = {};  // ops; distinct
  std::vector<size_t> outputs = {};  // the movements in which it leaves the graph
};

struct Order {
  Price price = 0;
  size_t written = 0;              // the movement of the result
  std::vector<size_t> reads = {};  // for each operand that is not constant, its movement
};

struct Op {
  std::string name;
  bool has_all = false;  // all its orders are known; otherwise only the chosen one is told
  size_t result = 0;
  std::vector<size_t> operands = {};        // values; no constants
  std::vector<std::string> from_root = {};  // for each of them, the model's relayout from the value
  std::vector<Order> orders = {};
  size_t chosen = 0;
};

struct Problem {
  std::vector<Op> ops;
  std::vector<Value> values;
};

Problem describe(const Placement& placement, const MoveCosts& moves);

/// What a value costs that is written in one movement and held in others, too.
Price price_of_copies(const Value& value, size_t written, const std::vector<size_t>& held);
/// What the chosen orders cost.
Price price_of_choice(const Problem& problem);

/// The lines from "costs" to "cost".
std::string to_text(const Problem& problem, const MoveCosts& moves);

}  // namespace layline::proof
