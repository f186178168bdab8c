// Ops that show the same elements in another shape or order.
#include "frontend/ops/view.h"

#include <algorithm>

#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/shapes.h"

namespace layline::onnx {
namespace {

/// A size of 0 stands for the one of the input at that place, unless `allowzero` is set; -1 for
/// what is left over.
void reshape(Call& call) {
  Value* x = call.input(0);
  std::vector<Sum> wanted;
  if (call.opset() >= 5) {
    wanted = call.sums(1, "`shape`");
  } else {
    for (const int64_t size : call.ints("shape", {})) wanted.push_back(Sum::number(size));
  }
  SymbolTable& symbols = call.graph().symbol_table();
  std::vector<std::optional<Dim>> sizes;
  int open = 0;
  for (const Sum& size : wanted) {
    if (size == Sum::number(-1)) {
      sizes.emplace_back(std::nullopt);
      ++open;
    } else if (size == Sum() && !call.flag("allowzero", false)) {
      if (sizes.size() >= x->shape().size())
        call.fail("copies size {} of {}", sizes.size(), to_string(x->type()));
      sizes.emplace_back(x->shape()[sizes.size()]);
    } else {
      sizes.emplace_back(symbols.dim(size));
    }
  }
  if (open > 1) call.fail("leaves more than one size open");
  call.result(call.view(x, ops::complete_shape(call, sizes, element_count(x->shape()), 0)));
}

/// Two axes: those before the given one, and the rest.
void flatten(Call& call) {
  Value* x = call.input(0);
  const int64_t rank = x->type().rank();
  const int64_t given = call.integer("axis", 1);
  if (given < -rank || given > rank) call.fail("there is no axis {} of {}", given, rank);
  const auto split = x->shape().begin() + (given < 0 ? given + rank : given);
  call.result(
      call.view(x, {product({x->shape().begin(), split}), product({split, x->shape().end()})}));
}

void transpose(Call& call) {
  Value* x = call.input(0);
  const int64_t rank = x->type().rank();
  if (!call.has("perm")) return call.result(ops::reverse_axes(call, x));
  const Ints order = call.ints("perm", {});
  if (std::ssize(order) != rank || std::ssize(call.axes(order, rank)) != rank)
    call.fail("`perm` has {} entries for {}", order.size(), to_string(x->type()));
  std::vector<int> permutation;
  for (const int64_t axis : order) permutation.push_back(static_cast<int>(call.axis(axis, rank)));
  call.result(call.permute(x, permutation));
}

void squeeze(Call& call) {
  Value* x = call.input(0);
  const int64_t rank = x->type().rank();
  Ints axes;
  if (const auto given = call.attribute_or_input("axes", 1)) {
    axes = call.axes(*given, rank);
    for (const int64_t axis : axes)
      if (!x->shape()[static_cast<size_t>(axis)].is_one())
        call.fail("axis {} of {} is not of length 1", axis, to_string(x->type()));
  } else {
    for (int64_t axis = 0; axis < rank; ++axis)
      if (x->shape()[static_cast<size_t>(axis)].is_one()) axes.push_back(axis);
  }
  call.result(ops::without_axes(call, x, axes));
}

/// Axes are counted in the result.
void unsqueeze(Call& call) {
  Value* x = call.input(0);
  const auto given = call.attribute_or_input("axes", 1);
  if (!given) call.fail("has no `axes`");
  const Ints axes = call.axes(*given, x->type().rank() + std::ssize(*given));
  Shape shape = x->shape();
  for (const int64_t axis : axes) shape.insert(shape.begin() + axis, Dim(1));
  call.result(call.view(x, shape));
}

/// [N, C*b*b, H, W] to [N, C, H*b, W*b]; the blocks come before the channels (DCR) or behind (CRD).
void depth_to_space(Call& call) {
  Value* x = call.input(0);
  const int64_t block = call.integer("blocksize");
  if (x->shape().size() != 4 || block < 1) call.fail("takes no {}", to_string(x->type()));
  if (call.string("mode", "DCR") == "CRD") return call.result(ops::pixel_shuffle(call, x, block));
  const Shape& shape = x->shape();
  const auto channels = divide(shape[1], Dim(block) * block);
  if (!channels) call.fail("{} channels do not divide by {}^2", to_string(shape[1]), block);
  static constexpr int kOrder[] = {0, 3, 4, 1, 5, 2};
  Value* y = call.view(x, {shape[0], block, block, *channels, shape[2], shape[3]});
  call.result(call.view(call.permute(y, kOrder),
                        {shape[0], *channels, shape[2] * block, shape[3] * block}));
}

void space_to_depth(Call& call) {
  Value* x = call.input(0);
  const int64_t block = call.integer("blocksize");
  if (x->shape().size() != 4 || block < 1) call.fail("takes no {}", to_string(x->type()));
  const Shape& shape = x->shape();
  const auto rows = divide(shape[2], block), columns = divide(shape[3], block);
  if (!rows || !columns) call.fail("{} does not divide into blocks", to_string(x->type()));
  static constexpr int kOrder[] = {0, 3, 5, 1, 2, 4};
  Value* y = call.view(x, {shape[0], shape[1], *rows, block, *columns, block});
  call.result(call.view(call.permute(y, kOrder),
                        {shape[0], shape[1] * Dim(block) * block, *rows, *columns}));
}

constexpr OpRule kRules[] = {
    {"Reshape", reshape},
    {"Flatten", flatten},
    {"Transpose", transpose},
    {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze},
    {"DepthToSpace", depth_to_space},
    {"SpaceToDepth", space_to_depth},
};

}  // namespace

std::span<const OpRule> view_rules() { return kRules; }

}  // namespace layline::onnx
