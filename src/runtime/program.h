// A `.pte` program, loaded into the ExecuTorch runtime and ready to run. This header and its
// neighbours are all that the rest of layline sees of that runtime.
//
// Errors that the program causes are UserErrors if a user gave it, and InternalErrors if it was
// compiled in this process: what layline compiles must run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "runtime/host_tensor.h"

namespace layline {

enum class IoKind { tensor, integer, real, boolean, string, none };

/// One input or output of a method.
struct IoInfo {
  /// The model's own name if layline compiled the program, else `input_0`, `output_0`...
  std::string name;
  IoKind kind = IoKind::tensor;

  // As a HostTensor. A number or bool has rank 0; anything else that is no tensor is empty.
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  ///< logical; upper bounds if `dynamic`

  // Only for tensors:
  std::vector<uint8_t> dim_order;
  bool dynamic = false;
  std::string symbolic;  ///< what is known about the sizes of a dynamic input; may be empty

  /// The value of an input that is not a tensor, which is fixed when a model is exported.
  std::string fixed_value;
};

/// `f32[1, 3, 224, 224]`, or `integer 3`; an upper bound is written `<=16`, and with the names of
/// sizes `f32[s1,3], s1 from 1 to 8`.
std::string describe(const IoInfo& io);

/// How many bytes the value has as a HostTensor; if it is dynamic, the most that it may have.
uint64_t most_bytes(const IoInfo& io);

/// Methods of a program, all of which are loaded before any runs: loading sets states to their
/// first values. They share one memory, so a state that several have is one.
using Methods = std::vector<std::string>;

class OpTimer;

class LoadedProgram {
 public:
  /// The names of all methods that a user's program has, in its order.
  static Methods methods_of(std::span<const std::byte> bytes, std::string_view name);

  /// With a timer, every execution tells it how long each op took.
  static LoadedProgram from_file(const std::string& path, const Methods& methods = {"forward"},
                                 OpTimer* timer = nullptr);
  /// A program that a user gave. Copies the bytes; `name` stands for the program in messages.
  static LoadedProgram from_bytes(std::span<const std::byte> bytes, std::string_view name,
                                  const Methods& methods = {"forward"});
  /// A program that this process compiled.
  static LoadedProgram from_compiled(std::span<const std::byte> bytes, std::string_view name,
                                     const Methods& methods = {"forward"},
                                     OpTimer* timer = nullptr);

  LoadedProgram(LoadedProgram&&) noexcept;
  LoadedProgram& operator=(LoadedProgram&&) noexcept;
  ~LoadedProgram();

  /// Chooses the method that the functions below use. Until then they use the first one.
  void use(const std::string& method);

  const std::vector<IoInfo>& inputs() const;
  const std::vector<IoInfo>& outputs() const;

  /// The shapes of all inputs if only some are given. The others follow from those, and are at
  /// their upper bounds if nothing follows. Throws UserError if the given ones do not agree.
  std::vector<std::vector<int64_t>> complete_shapes(
      const std::vector<std::optional<std::vector<int64_t>>>& given) const;

  /// Runs the method once. `inputs` has one entry per element of inputs(), in its order; the
  /// entry of an input that is not a tensor is ignored, its value being fixed. The result has one
  /// entry per element of outputs(): a number or bool becomes a tensor of rank 0, anything else an
  /// empty one. Shapes, dtypes and sizes are checked: UserError. Mutable buffers keep their state
  /// between runs.
  std::vector<HostTensor> run(const std::vector<HostTensor>& inputs);

  // A run in steps, for measuring `execute` alone. That is what an application pays per call (hand
  // over the inputs, run), without conversions between row-major and the dim order.
  void set_inputs(const std::vector<HostTensor>& inputs);
  void set_input_views(const std::vector<TensorView>& inputs);
  void execute();
  std::vector<HostTensor> get_outputs() const;
  /// Copies one output into memory of the caller. Its bytes, row-major, go to the front of `bytes`,
  /// which has at least most_bytes(outputs()[index]), and its shape to `shape`.
  void get_output(size_t index, std::span<std::byte> bytes, std::vector<int64_t>& shape) const;
  /// What the memory of an input holds: the tensor that was given, unless the program changes it.
  HostTensor get_input(size_t index) const;

 private:
  class Impl;
  explicit LoadedProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace layline
