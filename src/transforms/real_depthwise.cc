// Computes depthwise convolutions of integers on real numbers, if the target's costs say that this
// is faster, quantising included. Kernels multiply and add as many integers at a time as reals, but
// must widen them first. A window that no depthwise kernel has is one matrix for each channel; on
// real numbers, split_depthwise makes small windows of it. The result is the same: by definition a
// quantised op is computed on reals and quantised again (docs/quantisation.md).
#include "ir/evaluate.h"
#include "ir/quantised_tensor.h"
#include "ir/tensor.h"
#include "transforms/conv_choice.h"
#include "transforms/passes.h"

namespace layline {
namespace {

bool is_depthwise_of_integers(const Node& conv) {
  return conv.attrs<ConvAttrs>().groups > 1 && conv.operand(1)->shape().back().is_one() &&
         conv.operand(0)->type().quantisation && conv.result()->type().quantisation;
}

/// What a product on integers costs. Matrices for each channel are no faster on integers than on
/// reals.
int64_t integer_fs(const ProductCosts& products, int64_t places, int64_t most_places) {
  if (places > most_places) return products.grouped_fs;
  return places <= 9 ? products.integer_depthwise9_fs : products.integer_depthwise25_fs;
}

Value* on_reals(const Builder& build, const Node& conv) {
  std::vector<Value*> operands = {build.add(Op::dequantize, {conv.operand(0)})};
  for (int i = 1; i < conv.operand_count(); ++i)
    operands.push_back(build.constant(real_tensor(tensor_of(conv.operand(i)))));
  ConvAttrs attrs = conv.attrs<ConvAttrs>();
  attrs.quantisation = {};
  Value* y = build.add(Op::conv, std::move(operands), std::move(attrs));
  return build.add(Op::quantize, {y}, QuantisationAttrs{conv.result()->type().quantisation});
}

}  // namespace

bool real_depthwise(Graph& graph, PassContext& context) {
  const ProductCosts& products = context.target().products;
  const std::vector<int64_t>& kernels = context.target().depthwise_places;
  if (kernels.empty()) return false;
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::conv) || !is_depthwise_of_integers(*node)) continue;
    const auto sizes = conv_sizes(*node);
    if (!sizes) continue;
    if (node->operand_count() > 2 && !stored_constant(node->operand(2))) continue;
    const double count = sizes->products(node->attrs<ConvAttrs>().groups);
    const int64_t numbers = sizes->batch * sizes->height * sizes->width * sizes->channels +
                            sizes->out_pixels() * sizes->out_channels;
    const int64_t on_integers_fs =
        integer_fs(products, sizes->rows * sizes->columns, kernels.back());
    if (on_integers_fs == 0) continue;
    if (!pays(context, *node, products_us(count, on_integers_fs),
              products_us(count, products.depthwise_fs) +
                  products_us(static_cast<double>(numbers), products.convert_fs),
              "one of real numbers"))
      continue;
    replace(graph, node, on_reals(BuildBefore(graph, node), *node));
    changed = true;
  }
  return changed;
}

}  // namespace layline
