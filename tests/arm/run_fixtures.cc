// Runs programs on ExecuTorch and compares their outputs with those of the fixtures they were
// compiled from. It stands by itself, with little of layline, so that it can be cross-compiled:
//
//   run_fixtures LIST     a line for each program: PROGRAM METHOD ARRAYS RELATIVE INTEGERS
//
// ARRAYS is the .npz of the fixture. RELATIVE is how far floats may be off, as a part of the
// largest output, INTEGERS how far integers may. Prints a line for each program; exit status 1 if
// any is wrong. scripts/test-arm writes LIST.
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "../fixture_runs.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/npy.h"
#include "runtime/dim_order.h"

namespace layline {
namespace {

namespace et = executorch::runtime;
namespace fs = std::filesystem;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;

void check(et::Error error, const char* action) {
  if (error != et::Error::Ok)
    throw UserError("the runtime cannot {}: error {}", action, static_cast<int>(error));
}

double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 == 1 ? -value : value;
}

template <typename T>
T read(const std::byte* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

double element(NpyType type, const std::byte* at) {
  switch (type) {
    case NpyType::kFloat16:
      return half(read<uint16_t>(at));
    case NpyType::kFloat32:
      return read<float>(at);
    case NpyType::kFloat64:
      return read<double>(at);
    case NpyType::kBool:
    case NpyType::kUint8:
      return read<uint8_t>(at);
    case NpyType::kInt8:
      return read<int8_t>(at);
    case NpyType::kInt16:
      return read<int16_t>(at);
    case NpyType::kUint16:
      return read<uint16_t>(at);
    case NpyType::kInt32:
      return read<int32_t>(at);
    case NpyType::kInt64:
      return static_cast<double>(read<int64_t>(at));
    case NpyType::kRaw16:  // bfloat16
      return std::bit_cast<float>(static_cast<uint32_t>(read<uint16_t>(at)) << 16);
  }
  return NAN;
}

bool is_float(NpyType type) {
  return type == NpyType::kFloat16 || type == NpyType::kFloat32 || type == NpyType::kFloat64 ||
         type == NpyType::kRaw16;
}

struct Tolerance {
  double relative = 0, integers = 0;
};

/// Throws UserError if `actual`, in row-major order, is not what `expected` says.
void compare(const std::vector<std::byte>& actual, const NpyArray& expected,
             const Tolerance& tolerance, const std::string& what) {
  if (actual.size() != expected.bytes.size())
    throw UserError("{} has {} bytes instead of {}", what, actual.size(), expected.bytes.size());
  const size_t size = npy_element_size(expected.type);
  double largest = 1e-30, error = 0;
  for (size_t at = 0; at < actual.size(); at += size) {
    const double a = element(expected.type, actual.data() + at);
    const double e = element(expected.type, expected.bytes.data() + at);
    if (std::isfinite(e) && std::isfinite(a)) {
      largest = std::max(largest, std::abs(e));
      error = std::max(error, std::abs(a - e));
    } else if (!(std::isnan(a) && std::isnan(e)) && a != e) {
      throw UserError("{}: {} instead of {}", what, a, e);
    }
  }
  const double most = is_float(expected.type) ? tolerance.relative * largest : tolerance.integers;
  if (error > most) throw UserError("{} is off by {} where {} is allowed", what, error, most);
}

/// The bytes that a tensor of the runtime has, in row-major order.
std::vector<std::byte> row_major(const Tensor& tensor) {
  const std::vector<int64_t> shape(tensor.sizes().begin(), tensor.sizes().end());
  const std::vector<uint8_t> order(tensor.dim_order().begin(), tensor.dim_order().end());
  std::vector<std::byte> result(tensor.nbytes());
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(tensor.const_data_ptr()),
                                         tensor.nbytes());
  from_dim_order(bytes, shape, order, static_cast<size_t>(tensor.element_size()), result);
  return result;
}

/// An input in the order in memory that the program asks for.
class Input {
 public:
  Input(const Tensor& declared, const NpyArray& given)
      : bytes_(given.bytes.size() + 64),
        sizes_(given.shape.begin(), given.shape.end()),
        order_(declared.dim_order().begin(), declared.dim_order().end()),
        strides_(given.shape.size()) {
    to_dim_order(given.bytes, given.shape, order_, npy_element_size(given.type),
                 std::span(bytes_).first(given.bytes.size()));
    TensorImpl::StridesType stride = 1;
    for (size_t i = order_.size(); i-- > 0;) {
      strides_[order_[i]] = stride;
      stride *= std::max(sizes_[order_[i]], 1);
    }
    tensor_ =
        std::make_unique<TensorImpl>(declared.scalar_type(), static_cast<ssize_t>(sizes_.size()),
                                     sizes_.data(), bytes_.data(), order_.data(), strides_.data());
  }
  Tensor tensor() const { return Tensor(tensor_.get()); }

 private:
  std::vector<std::byte> bytes_;
  std::vector<TensorImpl::SizesType> sizes_;
  std::vector<uint8_t> order_;
  std::vector<TensorImpl::StridesType> strides_;
  std::unique_ptr<TensorImpl> tensor_;
};

class Runner {
 public:
  Runner(const std::string& path, const std::string& method)
      : file_(MappedFile::open(path)), loader_(file_->bytes().data(), file_->bytes().size()) {
    auto program = et::Program::load(&loader_);
    check(program.error(), "load the program");
    program_.emplace(std::move(program.get()));
    const auto meta = program_->method_meta(method.c_str());
    check(meta.error(), "describe the method");
    for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      const auto size = static_cast<size_t>(meta->memory_planned_buffer_size(i).get());
      auto& arena = arenas_.emplace_back(size, std::byte{0});
      spans_.emplace_back(reinterpret_cast<uint8_t*>(arena.data()), size);
    }
    arena_allocator_.emplace(et::Span<et::Span<uint8_t>>(spans_.data(), spans_.size()));
    memory_.emplace(&method_allocator_, &*arena_allocator_, &kernel_allocator_);
    auto loaded = program_->load_method(method.c_str(), &*memory_);
    check(loaded.error(), "load the method");
    method_.emplace(std::move(loaded.get()));
    inputs_.resize(method_->inputs_size());
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    check(method_->get_inputs(inputs_.data(), inputs_.size()), "describe its inputs");
  }

  void run(const FixtureRun& run, const Tolerance& tolerance) {
    std::vector<Input> given;
    given.reserve(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].isTensor()) continue;
      given.emplace_back(inputs_[i].toTensor(), run.read("input", i));
      check(method_->set_input(given.back().tensor(), i), "take an input");
    }
    give_memory_to_outputs();
    check(method_->execute(), "run the method");
    for (size_t i = 0; i < method_->outputs_size(); ++i) {
      if (!run.contains("output", i) || !method_->get_output(i).isTensor()) continue;
      compare(row_major(method_->get_output(i).toTensor()), run.read("output", i), tolerance,
              fmt::format("output {}", i));
    }
    size_t tensors = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].isTensor()) continue;
      const Tensor after = given[tensors++].tensor();
      if (run.contains("changed", i))
        compare(row_major(after), run.read("changed", i), tolerance, fmt::format("input {}", i));
    }
  }

 private:
  /// An output that is neither planned, nor constant, nor an input needs memory of ours.
  void give_memory_to_outputs() {
    for (size_t i = 0; i < method_->outputs_size(); ++i) {
      const et::EValue& value = method_->get_output(i);
      if (!value.isTensor() || value.toTensor().const_data_ptr() != nullptr) continue;
      auto& memory = outputs_.emplace_back(value.toTensor().nbytes() + 64);
      check(method_->set_output_data_ptr(memory.data(), memory.size(), i), "give it memory");
    }
  }

  std::shared_ptr<const MappedFile> file_;
  executorch::extension::BufferDataLoader loader_;
  std::optional<et::Program> program_;
  std::vector<std::vector<std::byte>> arenas_, outputs_;
  std::vector<et::Span<uint8_t>> spans_;
  std::optional<et::HierarchicalAllocator> arena_allocator_;
  executorch::extension::MallocMemoryAllocator method_allocator_, kernel_allocator_;
  std::optional<et::MemoryManager> memory_;
  std::vector<et::EValue> inputs_;
  std::optional<et::Method> method_;
};

bool run_all(const char* list) {
  std::ifstream lines(list);
  std::string program, method, arrays;
  Tolerance tolerance;
  int programs = 0, wrong = 0;
  while (lines >> program >> method >> arrays >> tolerance.relative >> tolerance.integers) {
    ++programs;
    std::cout << fs::path(program).stem().string() << '.' << method << ": " << std::flush;
    try {
      Runner runner(program, method);
      const NpzArchive archive(arrays);
      for (const FixtureRun& run : runs_of(archive, method)) runner.run(run, tolerance);
      std::cout << "ok" << std::endl;
    } catch (const std::exception& error) {
      ++wrong;
      std::cout << "WRONG: " << error.what() << std::endl;
    }
  }
  std::cout << programs << " programs, " << wrong << " wrong" << std::endl;
  return programs > 0 && wrong == 0;
}

}  // namespace
}  // namespace layline

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: run_fixtures LIST\n";
    return 1;
  }
  executorch::runtime::runtime_init();
  return layline::run_all(argv[1]) ? 0 : 1;
}
