// Programs on the ExecuTorch runtime, for programs that embed layline:
//
//   layline::Session session = layline::Session::from_file("model.pte");
//   std::vector<layline::Array> outputs = session.run(inputs);
//
// Link layline::runtime. Errors are those of layline/error.h. What ExecuTorch shares in a process
// is shared here, too: its kernels' threads, and its log, which layline keeps for its messages from
// the first Session on. Where ExecuTorch itself gives up on a program, it ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layline/error.h"

namespace layline {

/// A tensor: bytes in row-major order over the logical shape.
struct Array {
  std::string dtype;  ///< f32 f16 bf16 f64 i8 i16 i32 i64 u8 u16 bool
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

/// A tensor whose bytes belong to somebody else, who keeps them for as long as this is used.
struct ArrayView {
  ArrayView() = default;
  ArrayView(std::string type, std::vector<int64_t> sizes, std::span<const std::byte> data)
      : dtype(std::move(type)), shape(std::move(sizes)), bytes(data) {}
  ArrayView(const Array& array)  // NOLINT: an array is a view
      : ArrayView(array.dtype, array.shape, array.bytes) {}

  std::string dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Memory of the caller for an output.
struct OutputBuffer {
  std::span<std::byte> bytes;  ///< Port::bytes many, or more
  std::vector<int64_t> shape;  ///< set by run_into: the bytes in front are row-major over it
};

/// One input or output.
struct Port {
  std::string name;            ///< the model's own, if layline compiled the program
  bool is_tensor = true;       ///< otherwise a value that was fixed when the model was exported
  std::string dtype;           ///< only for tensors
  std::vector<int64_t> shape;  ///< only for tensors; a dynamic size has its upper bound
  std::string description;     ///< "f32[1, 3, 224, 224]"
  size_t bytes = 0;            ///< the size in bytes, at its largest
};

/// Methods of a program, loaded and ready to run. Buffers that the model changes keep their value
/// from one run to the next, and methods share them. One thread at a time may use a session;
/// sessions of different threads run at the same time.
class Session {
 public:
  static Session from_file(const std::string& path,
                           const std::vector<std::string>& methods = {"forward"});
  /// Copies the bytes; `name` stands for the program in messages.
  static Session from_bytes(std::span<const std::byte> bytes, const std::string& name,
                            const std::vector<std::string>& methods = {"forward"});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Chooses the method that the functions below use. Until then they use the first one.
  void use(const std::string& method);

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;

  /// Runs the method on one array per input, in order. Arrays for inputs that are not tensors are
  /// ignored. A shape or dtype that does not fit is an error.
  std::vector<Array> run(const std::vector<ArrayView>& inputs);

  /// Runs the method and writes its outputs into memory of the caller, one buffer per output, in
  /// order. Nothing is allocated for them. A buffer that is too small is an error before anything
  /// runs.
  void run_into(const std::vector<ArrayView>& inputs, std::span<OutputBuffer> outputs);

 private:
  void execute(const std::vector<ArrayView>& inputs);

  struct Contents;
  explicit Session(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

/// Kernels use `count` threads; 0 changes nothing. Call it while there is no Session.
void set_thread_count(unsigned count);

}  // namespace layline
