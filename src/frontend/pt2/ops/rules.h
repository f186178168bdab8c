// The tables of OpRules, one for each family of ATen ops.
#pragma once

#include <span>

#include "frontend/pt2/call.h"

namespace layline::pt2 {

std::span<const OpRule> activation_rules();
std::span<const OpRule> arithmetic_rules();
std::span<const OpRule> attention_rules();
std::span<const OpRule> conv_rules();
std::span<const OpRule> creation_rules();
std::span<const OpRule> diagonal_rules();
std::span<const OpRule> einsum_rules();
std::span<const OpRule> function_rules();
std::span<const OpRule> grid_rules();
std::span<const OpRule> index_rules();
std::span<const OpRule> join_rules();
std::span<const OpRule> linear_rules();
std::span<const OpRule> norm_rules();
std::span<const OpRule> pad_rules();
std::span<const OpRule> pool_rules();
std::span<const OpRule> product_rules();
std::span<const OpRule> quantise_rules();
std::span<const OpRule> recurrent_rules();
std::span<const OpRule> reduction_rules();
std::span<const OpRule> resample_rules();
std::span<const OpRule> resize_rules();
std::span<const OpRule> scatter_rules();
std::span<const OpRule> sort_rules();
std::span<const OpRule> unfold_rules();
std::span<const OpRule> view_rules();

}  // namespace layline::pt2
