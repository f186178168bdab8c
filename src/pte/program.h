// A `.pte` program in plain terms: what `write_program` serialises. Nothing here knows the
// compiler's IR, and nothing here holds a weight. Data is described by its size and by a function
// that streams it, so a model's weights go from the mapped file to the output exactly once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/sink.h"

namespace layline::pte {

/// ExecuTorch's numbering, which is ATen's.
enum class ScalarType : int8_t {
  kUInt8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
  kBool = 11,
  kBFloat16 = 15,
  kUInt16 = 27,
  kUInt32 = 28,
  kUInt64 = 29,
};

uint64_t size_of(ScalarType type);

/// Bytes to be written: how many, and a function that writes exactly that many, in any number of
/// calls to the sink. It may be called more than once and must give the same bytes.
struct DataSource {
  uint64_t size = 0;
  std::function<void(ByteSink&)> write;

  /// Bytes that outlive the program, such as those of a mapped file.
  static DataSource view(std::span<const std::byte> bytes);
  static DataSource owned(std::vector<std::byte> bytes);
};

/// Index into Method::values.
using ValueId = int32_t;

enum class ShapeDynamism : int8_t {
  kStatic = 0,
  kBound = 1,  ///< `sizes` is the upper bound
};

/// The caller gives the data pointer: an input or output that is not in the arena.
struct Unplanned {};
/// Index into Program::constants.
struct ConstantData {
  uint32_t index;
};
/// The memory that plan_arena plans. Other memories hold what outlives a run.
inline constexpr uint32_t kArena = 1;

/// A place in arena `memory_id` (1-based: Method::arena_bytes[memory_id - 1]). An initial state, an
/// index into Program::initial_states, is copied there when the method is loaded. The tensor is
/// then a mutable buffer, whose place no other tensor may share.
struct PlannedData {
  uint32_t memory_id = kArena;
  uint64_t offset = 0;
  std::optional<uint32_t> initial_state = std::nullopt;
};
using Storage = std::variant<Unplanned, ConstantData, PlannedData>;

constexpr size_t kMostAxes = 16;  // executorch::runtime::kTensorDimensionLimit

struct TensorDesc {
  ScalarType type = ScalarType::kFloat32;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;  ///< outermost first; empty means contiguous (0, 1, 2, ...)
  ShapeDynamism dynamism = ShapeDynamism::kStatic;
  Storage storage;
};

/// One entry of an integer list: a literal, or the Int value that a kernel computes (a size).
struct IntItem {
  int64_t literal;
  std::optional<ValueId> value;

  IntItem(int64_t number) : literal(number) {}  // NOLINT: literals are the common case
  static IntItem of(ValueId id) {
    IntItem item(0);
    item.value = id;
    return item;
  }
};

struct None {};
using IntList = std::vector<IntItem>;
using DoubleList = std::vector<double>;
using BoolList = std::vector<bool>;
/// The tensors must be defined before the list: the runtime resolves it in one pass.
struct TensorList {
  std::vector<ValueId> tensors;
};
struct OptionalTensorList {
  std::vector<std::optional<ValueId>> tensors;
};

using Value = std::variant<None, TensorDesc, int64_t, double, bool, std::string, IntList,
                           DoubleList, BoolList, TensorList, OptionalTensorList>;

/// `args` are all arguments of the operator's schema with no default left out, then the out
/// tensors, then the return value (the out tensor again, or a TensorList of several); prim ops
/// have only one output slot.
struct KernelCall {
  std::string name;      ///< "aten::add"
  std::string overload;  ///< "out"
  std::vector<ValueId> args;
};

/// `args` are the inputs, then the outputs; a position is an XNNPACK external id.
struct DelegateCall {
  uint32_t delegate;  ///< index into Method::delegates
  std::vector<ValueId> args;
};

/// Goes on at another instruction if a Bool value is false. Back to an earlier one: a loop.
struct JumpFalse {
  std::vector<ValueId> args;  ///< the one value
  uint32_t target;            ///< index into Method::instructions
};

using Instruction = std::variant<KernelCall, DelegateCall, JumpFalse>;

struct Delegate {
  std::string id;  ///< "XnnpackBackend"
  uint32_t blob;   ///< index into Program::blobs
};

struct Method {
  std::string name = "forward";
  std::vector<Value> values;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Instruction> instructions;
  std::vector<Delegate> delegates;
  std::vector<uint64_t> arena_bytes;  ///< sizes of memory 1, 2, ...

  ValueId add(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size() - 1);
  }
};

/// A name by which the runtime, and XNNPACK payloads, find a blob. Several names may share one.
struct NamedData {
  std::string key;
  uint32_t blob;  ///< index into Program::blobs
};

/// The same for bytes that are a constant tensor's, too: they are in the file once.
struct NamedConstant {
  std::string key;
  ConstantData data;
};

struct Program {
  std::vector<Method> methods;
  /// Data of constant tensors, all in one segment that is loaded with the program.
  std::vector<DataSource> constants;
  /// The first values of mutable buffers, all in one segment.
  std::vector<DataSource> initial_states;
  /// Delegate payloads and named data, each in a segment of its own that is loaded on demand.
  std::vector<DataSource> blobs;
  std::vector<NamedData> named_data;
  std::vector<NamedConstant> named_constants;

  uint32_t add_constant(DataSource data) {
    constants.push_back(std::move(data));
    return static_cast<uint32_t>(constants.size() - 1);
  }
  uint32_t add_initial_state(DataSource data) {
    initial_states.push_back(std::move(data));
    return static_cast<uint32_t>(initial_states.size() - 1);
  }
  uint32_t add_blob(DataSource data) {
    blobs.push_back(std::move(data));
    return static_cast<uint32_t>(blobs.size() - 1);
  }
};

}  // namespace layline::pte
