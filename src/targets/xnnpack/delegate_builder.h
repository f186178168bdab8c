// Builds the payload of one delegate: values of the IR on one side, XNNPACK's on the other.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "targets/constant_pool.h"
#include "targets/xnnpack/payload.h"

namespace layline::xnnpack {

Datatype datatype(DType dtype);

class DelegateBuilder {
 public:
  /// `inputs` and `outputs` become the externals, in that order.
  DelegateBuilder(ConstantPool& constants, const SymbolTable& symbols,
                  std::span<Value* const> inputs, std::span<Value* const> outputs);

  /// The XNNPACK value of an operand; a constant is defined when it is first read.
  ValueId in(const Value* value);
  /// The XNNPACK value that a node's result is written to.
  ValueId out(const Value* value);
  /// The value of a filter or bias. XNNPACK packs it, so it is never the same value as a plain
  /// operand.
  ValueId packed(const Value* value);
  ValueId packed(const Constant& data, const std::string& name);
  /// The value of an integer filter or bias. It has one scale for each index of dim `channel`, or
  /// for groups of `group` along the last dim. The scales are f32, those of groups bf16.
  ValueId packed_integers(const Constant& data, Datatype datatype, const Shape& shape,
                          const std::string& name, const Constant& scales, int channel,
                          int64_t group = 0);
  /// x with a scale for each index of all but its last `unscaled` dims, chosen at run time. It is
  /// converted once for all nodes that read it like that.
  ValueId dynamic(const Value* x, int unscaled);
  /// An intermediate that the IR has no value for.
  ValueId temporary(const TensorType& type);
  /// The sizes, each at its upper bound.
  std::vector<uint32_t> dims(const Shape& shape) const;
  /// Nodes that follow come from here in the model (pte/debug_map.h).
  void set_debug_handle(uint32_t handle) { debug_handle_ = handle; }
  void add(PayloadNode node) { graph_.add(std::move(node), debug_handle_); }

  const SymbolTable& symbols() const { return symbols_; }
  const Payload& graph() const { return graph_; }

 private:
  /// The value as XNNPACK is told of it, each size at its upper bound.
  PayloadValue described(TensorType type) const;
  ValueId define_constant(const Constant& data, const TensorType& type, const std::string& name);

  ConstantPool& constants_;
  const SymbolTable& symbols_;
  Payload graph_;
  uint32_t debug_handle_ = 0;
  std::unordered_map<const Value*, ValueId> values_;
  std::unordered_map<const Value*, ValueId> packed_;
  std::map<std::pair<const Value*, int>, ValueId> dynamic_;
};

}  // namespace layline::xnnpack
