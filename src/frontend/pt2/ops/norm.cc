// Normalisation, and the ops that do nothing at inference.
#include "frontend/ops/norm.h"

#include <limits>

#include "frontend/ops/shapes.h"
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

ops::Affine affine(const Call& call) {
  Value* weight = call.optional_tensor("weight");
  return {weight, call.optional_tensor("bias")};
}

double eps(const Call& call) { return call.number("eps", 1e-5); }

void batch_norm_with_statistics(Call& call) {
  Value* x = call.tensor("input");
  Value* mean = call.optional_tensor("running_mean");
  Value* variance = call.optional_tensor("running_var");
  if (call.flag("training", false) || mean == nullptr || variance == nullptr)
    call.fail("is in training mode or keeps no statistics; call model.eval() before the export");
  call.result(ops::batch_norm(call, x, {mean, variance}, affine(call), eps(call)));
}

/// What instance norm becomes when it is decomposed.
void batch_norm_without_statistics(Call& call) {
  call.result(ops::batch_norm(call, call.tensor("input"), affine(call), eps(call)));
}

/// Takes the statistics of the batch itself if the model has none, as when weights are
/// standardised.
void batch_norm(Call& call) {
  const bool statistics = call.has("running_mean") || call.has("running_var");
  statistics ? batch_norm_with_statistics(call) : batch_norm_without_statistics(call);
}

void layer_norm(Call& call) {
  const size_t axes = call.ints("normalized_shape", {}).size();
  call.result(ops::layer_norm(call, call.tensor("input"), axes, affine(call), eps(call)));
}

/// Whether the model reads the statistics that native norms give after their result. Few do.
bool reads_scaling(const Call& call) { return call.is_read(1) || call.is_read(2); }

void give_scaling(Call& call, Value* x, const Ints& axes) {
  const ops::Scaling found = ops::scaling(call, x, axes, eps(call));
  call.result(ops::view(call, found.mean, call.recorded(1).shape));
  call.result(ops::view(call, found.factor, call.recorded(2).shape));
}

void native_layer_norm(Call& call) {
  layer_norm(call);
  if (!reads_scaling(call)) return;
  Value* x = call.tensor("input");
  const int64_t rank = x->type().rank();
  Ints axes;
  for (int64_t axis = rank - std::ssize(call.ints("normalized_shape", {})); axis < rank; ++axis)
    axes.push_back(axis);
  give_scaling(call, x, axes);
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    case DType::f64:
      return std::numeric_limits<double>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

void rms_norm(Call& call) {
  Value* x = call.tensor("input");
  const size_t axes = call.ints("normalized_shape", {}).size();
  const double otherwise = epsilon(call.dtype_in_model("input"));
  call.result(ops::rms_norm(call, x, axes, affine(call), call.number("eps", otherwise)));
}

void group_norm(Call& call, std::string_view groups) {
  Value* x = call.tensor("input");
  call.result(ops::group_norm(call, x, call.integer(groups), affine(call), eps(call)));
}

void native_group_norm(Call& call) {
  group_norm(call, "group");
  if (!reads_scaling(call)) return;
  Value* x = call.tensor("input");
  const int64_t groups = call.integer("group");
  const Shape& shape = x->shape();
  const Dim each = *divide(shape[1], groups) * product(std::span(shape).subspan(2));
  give_scaling(call, call.view(x, {shape[0], groups, each}), {2});
}

void instance_norm(Call& call) {
  if (!call.flag("use_input_stats", true)) return batch_norm_with_statistics(call);
  call.result(ops::instance_norm(call, call.tensor("input"), affine(call), eps(call)));
}

void weight_norm(Call& call) {
  Value* direction = call.tensor("v");
  std::optional<int64_t> axis;
  if (call.integer("dim", 0) != -1) axis = call.axis("dim", 0, direction->type().rank());
  call.result(ops::weight_norm(call, direction, call.tensor("g"), axis));
}

void dropout(Call& call) {
  if (call.flag("train", false))
    call.fail("is in training mode; call model.eval() before the export");
  call.result(call.tensor(call.has("input") ? "input" : "self"));
}

constexpr OpRule kRules[] = {
    {"aten.batch_norm.default", batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm},
    {"aten._native_batch_norm_legit.no_stats", batch_norm_without_statistics},
    {"aten.layer_norm.default", layer_norm},
    {"aten.native_layer_norm.default", native_layer_norm},
    {"aten.rms_norm.default", rms_norm},
    {"aten.group_norm.default", [](Call& call) { group_norm(call, "num_groups"); }},
    {"aten.native_group_norm.default", native_group_norm},
    {"aten.instance_norm.default", instance_norm},
    {"aten._weight_norm.default", weight_norm},
    {"aten.dropout.default", dropout, Memory::shared},
    {"aten.feature_dropout.default", dropout, Memory::shared},
    {"aten.alpha_dropout.default", dropout, Memory::shared},
    {"aten.native_dropout.default", dropout, Memory::shared},
};

}  // namespace

std::span<const OpRule> norm_rules() { return kRules; }

}  // namespace layline::pt2
