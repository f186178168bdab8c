#include "frontend/pt2/tensor_env.h"

#include "base/error.h"
#include "frontend/ops/overwrite.h"

namespace layline::pt2 {
namespace {

[[noreturn]] void refuse_write(const Builder& builder) {
  builder.fail(
      "writes in place to an expanded tensor, or to overlapping windows; clone it before the "
      "write");
}

/// `base` with the part that `view` views replaced by `part`.
Value* write_back(const ViewOp& view, Value* base, Value* part, const Builder& builder) {
  if (view.op == Op::relayout)
    return builder.relayout(part, std::get<RelayoutAttrs>(view.attributes).relayout.inverse());
  if (view.op != Op::slice) refuse_write(builder);
  const auto& slice = std::get<SliceAttrs>(view.attributes);
  for (size_t a = 0; a < slice.start.size(); ++a) {
    if (slice.size[a] == base->shape()[a]) continue;
    LAYLINE_ASSERT(slice.size == part->shape(), "a view slices one axis at a time");
    return ops::overwrite(builder, base, part, static_cast<int64_t>(a), slice.start[a],
                          slice.step[a]);
  }
  return part;
}

}  // namespace

void TensorEnv::define(std::string_view name, Value* value) {
  storages_.push_back({value, 0});
  bindings_.insert_or_assign(name, Binding{storages_.size() - 1, {}, value, 0});
}

void TensorEnv::define_view(std::string_view name, std::string_view base,
                            std::vector<ViewStep> steps, Value* value) {
  const Binding& from = bindings_.at(base);
  Binding binding{from.storage, from.path, value, storages_[from.storage].version};
  binding.path.insert(binding.path.end(), std::make_move_iterator(steps.begin()),
                      std::make_move_iterator(steps.end()));
  bindings_.insert_or_assign(name, std::move(binding));
}

Value* TensorEnv::read(std::string_view name, const Builder& builder) {
  Binding& binding = bindings_.at(name);
  const Storage& storage = storages_[binding.storage];
  if (binding.version != storage.version) {
    binding.value = storage.value;
    for (const ViewStep& step : binding.path) {
      const auto* view = std::get_if<ViewOp>(&step);
      if (view == nullptr)
        builder.fail(
            "reads `{}`, a view of a tensor that has been written to in place since; clone the "
            "view, or take it after the write",
            name);
      binding.value = builder.add(view->op, {binding.value}, view->attributes);
    }
    binding.version = storage.version;
  }
  return binding.value;
}

void TensorEnv::write(std::string_view name, Value* value, const Builder& builder) {
  Binding& binding = bindings_.at(name);
  Storage& storage = storages_[binding.storage];
  const Value* before = read(name, builder);
  if (before == value) return;
  if (before->type() != value->type())
    builder.fail("writes {} in place to `{}`, which is {}", to_string(value->type()), name,
                 to_string(before->type()));
  // The values along the path, so that each step knows what surrounds the part it views.
  std::vector<Value*> along = {storage.value};
  std::vector<const ViewOp*> path;
  for (const ViewStep& step : binding.path) {
    path.push_back(std::get_if<ViewOp>(&step));
    if (path.back() == nullptr) refuse_write(builder);
    if (path.size() < binding.path.size())
      along.push_back(builder.add(path.back()->op, {along.back()}, path.back()->attributes));
  }
  Value* changed = value;
  for (size_t i = path.size(); i-- > 0;) changed = write_back(*path[i], along[i], changed, builder);
  storage.value = changed;
  ++storage.version;
  binding.value = value;
  binding.version = storage.version;
}

}  // namespace layline::pt2
