// What the names of an exported program stand for while it is imported.
//
// torch's tensors alias: a view shares its base's storage, and an in-place op changes both. Core IR
// has values only. So every name is bound to a storage and the path of views that leads from it;
// writing through a name gives the storage a new value, and other names on it are read anew.
#pragma once

#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ir/builder.h"

namespace layline::pt2 {

/// A core op that views its operand: a relayout, a slice or an expand.
struct ViewOp {
  Op op;
  Attributes attributes;
};

/// A view in torch that the importer had to copy, such as overlapping windows. It does not see
/// later writes, so reading it after one is refused.
struct Copied {};

/// One step from a tensor to a view of it.
using ViewStep = std::variant<ViewOp, Copied>;

class TensorEnv {
 public:
  /// Defines `name` as a tensor of its own.
  void define(std::string_view name, Value* value);
  /// Defines `name` as a view of `base` through `steps`; `value` is its present value.
  void define_view(std::string_view name, std::string_view base, std::vector<ViewStep> steps,
                   Value* value);
  bool contains(std::string_view name) const { return bindings_.contains(name); }
  /// The present value of `name`.
  Value* read(std::string_view name, const Builder& builder);
  /// Makes all aliases of `name` see `value` from now on. Throws UserError if the write cannot be
  /// undone through the views. Writing the present value is no write.
  void write(std::string_view name, Value* value, const Builder& builder);

 private:
  struct Storage {
    Value* value;
    int version = 0;
  };
  struct Binding {
    size_t storage;
    std::vector<ViewStep> path;
    Value* value;
    int version;
  };

  std::vector<Storage> storages_;
  std::unordered_map<std::string_view, Binding> bindings_;
};

}  // namespace layline::pt2
