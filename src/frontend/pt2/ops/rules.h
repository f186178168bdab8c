// What each ATen op becomes: tables of rules, one table for each family of ops.
//
// A rule reads the arguments of its op by name and calls the op library (frontend/ops), which knows
// what the op means.
#pragma once

#include <span>

#include "frontend/pt2/call.h"

namespace layline::pt2 {

/// Whose memory the results of an op lie in.
enum class Memory : uint8_t {
  own,
  /// The memory of the first argument: a write to one of them changes the other.
  shared,
  /// The memory of the first argument, unless torch has to copy it: reshape, contiguous, to.
  shared_unless_copied,
};

/// One row for each ATen overload.
struct OpRule {
  std::string_view target;  // without "torch.ops."
  void (*import)(Call& call);
  Memory memory = Memory::own;
  /// The arguments that the op writes to, beside what the `_` of its name says.
  std::span<const std::string_view> writes = {};
};

/// Another name that torch has for an op, both without overload. Arguments and overloads are the
/// same.
struct Alias {
  std::string_view alias;
  std::string_view name;
};

/// The rule of an overload, or of the one that it is an alias of; null if there is none.
const OpRule* find_rule(std::string_view target);
/// All rows, for the op support table of the documentation.
std::vector<OpRule> all_rules();
std::span<const Alias> all_aliases();

std::span<const OpRule> activation_rules();
std::span<const OpRule> arithmetic_rules();
std::span<const OpRule> attention_rules();
std::span<const OpRule> cache_rules();
std::span<const OpRule> conv_rules();
std::span<const OpRule> creation_rules();
std::span<const OpRule> diagonal_rules();
std::span<const OpRule> einsum_rules();
std::span<const OpRule> function_rules();
std::span<const OpRule> grid_rules();
std::span<const OpRule> index_rules();
std::span<const OpRule> join_rules();
std::span<const OpRule> loss_rules();
std::span<const OpRule> norm_rules();
std::span<const OpRule> pad_rules();
std::span<const OpRule> pool_rules();
std::span<const OpRule> product_rules();
std::span<const OpRule> quantise_rules();
std::span<const OpRule> recurrent_rules();
std::span<const OpRule> reduction_rules();
std::span<const OpRule> resize_rules();
std::span<const OpRule> scatter_rules();
std::span<const OpRule> sort_rules();
std::span<const OpRule> unfold_rules();
std::span<const OpRule> view_rules();

}  // namespace layline::pt2
