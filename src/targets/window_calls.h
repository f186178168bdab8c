// Calls of the runtime's kernels that slide windows over images, or resample them. The kernels are
// channels-first: operand and result are permuted around them.
#pragma once

#include <string>

#include "targets/kernel_calls.h"

namespace layline::window_calls {

std::string refuse_conv(const Node& node);
void conv(MethodBuilder& method, const Node& node);

std::string refuse_conv_transpose(const Node& node);
void conv_transpose(MethodBuilder& method, const Node& node);

std::string refuse_pool(const Node& node);
/// Calls the kernel for a max pool, which also gives the places of the maxima.
void max_pool(MethodBuilder& method, const Node& node);
std::string refuse_avg_pool(const Node& node);
void avg_pool(MethodBuilder& method, const Node& node);

std::string refuse_resize(const Node& node);
void resize(MethodBuilder& method, const Node& node);

void grid_sample(MethodBuilder& method, const Node& node);

}  // namespace layline::window_calls
