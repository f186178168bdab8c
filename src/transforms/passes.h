// The passes, each in the file of its name; pipeline.cc lists them in the order in which they run.
#pragma once

#include "transforms/pass.h"

namespace layline {

bool block_convs(Graph& graph, PassContext& context);
bool cut_before_products(Graph& graph, PassContext& context);
bool dead_code(Graph& graph, PassContext& context);
bool expand_scatters(Graph& graph, PassContext& context);
bool fold_affine(Graph& graph, PassContext& context);
bool fold_branches(Graph& graph, PassContext& context);
bool fold_constants(Graph& graph, PassContext& context);
bool fold_relayouts(Graph& graph, PassContext& context);
bool fold_repeats(Graph& graph, PassContext& context);
bool fold_scale(Graph& graph, PassContext& context);
bool fold_signs(Graph& graph, PassContext& context);
bool fuse_clamp(Graph& graph, PassContext& context);
bool fuse_pad(Graph& graph, PassContext& context);
bool gather_one_hot(Graph& graph, PassContext& context);
bool gather_quantised(Graph& graph, PassContext& context);
bool legalise(Graph& graph, PassContext& context);
bool merge_duplicates(Graph& graph, PassContext& context);
bool merge_linears(Graph& graph, PassContext& context);
bool place_layouts(Graph& graph, PassContext& context);
bool quantise_dynamically(Graph& graph, PassContext& context);
bool real_depthwise(Graph& graph, PassContext& context);
bool recognise_attention(Graph& graph, PassContext& context);
bool recognise_causal_attention(Graph& graph, PassContext& context);
bool attend_to_filled(Graph& graph, PassContext& context);
bool recognise_gelu(Graph& graph, PassContext& context);
bool recognise_hardswish(Graph& graph, PassContext& context);
bool scan_bodies(Graph& graph, PassContext& context);
bool simplify(Graph& graph, PassContext& context);
bool slice_quantised(Graph& graph, PassContext& context);
bool split_depthwise(Graph& graph, PassContext& context);
bool type_quantised(Graph& graph, PassContext& context);
bool unfold_convs(Graph& graph, PassContext& context);
bool winograd_convs(Graph& graph, PassContext& context);

}  // namespace layline
