#include "runtime/program.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "pte/io_names.h"
#include "runtime/aligned_buffer.h"
#include "runtime/dim_order.h"
#include "runtime/dynamic_sizes.h"
#include "runtime/op_times.h"
#include "runtime/runtime_log.h"
#include "runtime/thread_scope.h"

namespace layline {
namespace {

namespace et = executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::TensorImpl;
using ProgramData = executorch::extension::BufferDataLoader;

constexpr std::pair<DType, ScalarType> kScalarTypes[] = {
    {DType::f32, ScalarType::Float},     {DType::f16, ScalarType::Half},
    {DType::bf16, ScalarType::BFloat16}, {DType::f64, ScalarType::Double},
    {DType::i8, ScalarType::Char},       {DType::i16, ScalarType::Short},
    {DType::i32, ScalarType::Int},       {DType::i64, ScalarType::Long},
    {DType::u8, ScalarType::Byte},       {DType::u16, ScalarType::UInt16},
    {DType::boolean, ScalarType::Bool},
};

std::optional<DType> dtype_of(ScalarType type) {
  for (const auto& [dtype, scalar_type] : kScalarTypes)
    if (scalar_type == type) return dtype;
  return std::nullopt;
}

ScalarType scalar_type_of(DType dtype) {
  for (const auto& [known, scalar_type] : kScalarTypes)
    if (known == dtype) return scalar_type;
  throw InternalError(fmt::format("no scalar type for {}", name(dtype)));
}

std::string describe_shape(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

uint64_t count_bytes(const IoInfo& io, const std::vector<int64_t>& shape) {
  const auto count = checked_product(shape);
  const auto bytes = count
                         ? checked_mul(static_cast<uint64_t>(*count), uint64_t{byte_size(io.dtype)})
                         : std::nullopt;
  if (!bytes) throw UserError("`{}`: a tensor {} is too large", io.name, describe_shape(shape));
  return *bytes;
}

template <typename T>
void put(T value, std::span<std::byte> bytes) {
  LAYLINE_ASSERT(bytes.size() == sizeof value, "a number in {} bytes", bytes.size());
  std::memcpy(bytes.data(), &value, sizeof value);
}

/// An input on its way into the runtime: the bytes in the program's dim order, and the metadata
/// arrays that a TensorImpl points to.
struct StagedInput {
  AlignedBuffer bytes;
  std::vector<TensorImpl::SizesType> sizes;
  std::vector<TensorImpl::DimOrderType> dim_order;
  std::vector<TensorImpl::StridesType> strides;
  std::unique_ptr<TensorImpl> tensor;
};

/// Throws UserError unless `given` fits what the method declares.
void check_input(const IoInfo& io, const TensorView& given) {
  bool fits = given.dtype == io.dtype && given.shape.size() == io.shape.size();
  for (size_t i = 0; fits && i < io.shape.size(); ++i) {
    // What is dynamic by name is checked where all inputs are known.
    fits = io.symbolic.empty() && !io.dynamic
               ? given.shape[i] == io.shape[i]
               : given.shape[i] >= 0 && (!io.symbolic.empty() || given.shape[i] <= io.shape[i]);
  }
  if (!fits) {
    throw UserError("input `{}` is {}{}, expected {}", io.name, name(given.dtype),
                    describe_shape(given.shape), describe(io));
  }
  const uint64_t bytes = count_bytes(io, given.shape);
  if (given.bytes.size() != bytes) {
    throw UserError("input `{}` has {} bytes of data, {} needs {}", io.name, given.bytes.size(),
                    describe_shape(given.shape), bytes);
  }
}

StagedInput stage(const IoInfo& io, const TensorView& given) {
  StagedInput staged;
  staged.bytes = AlignedBuffer(given.bytes.size());
  to_dim_order(given.bytes, given.shape, io.dim_order, byte_size(io.dtype), staged.bytes.bytes());
  staged.sizes.assign(given.shape.begin(), given.shape.end());
  staged.dim_order = io.dim_order;
  staged.strides.resize(staged.sizes.size());
  TensorImpl::StridesType stride = 1;
  for (size_t i = staged.dim_order.size(); i-- > 0;) {
    const size_t axis = staged.dim_order[i];
    staged.strides[axis] = stride;
    stride *= std::max(staged.sizes[axis], 1);
  }
  staged.tensor = std::make_unique<TensorImpl>(
      scalar_type_of(io.dtype), static_cast<ssize_t>(staged.sizes.size()), staged.sizes.data(),
      staged.bytes.data(), staged.dim_order.data(), staged.strides.data());
  return staged;
}

}  // namespace

uint64_t most_bytes(const IoInfo& io) { return count_bytes(io, io.shape); }

std::string describe(const IoInfo& io) {
  switch (io.kind) {
    case IoKind::tensor: {
      if (!io.symbolic.empty()) return std::string(name(io.dtype)) + io.symbolic;
      std::string dims;
      for (const int64_t dim : io.shape) {
        if (!dims.empty()) dims += ", ";
        dims += fmt::format("{}{}", io.dynamic ? "<=" : "", dim);
      }
      return fmt::format("{}[{}]", name(io.dtype), dims);
    }
    case IoKind::integer:
      return "integer " + io.fixed_value;
    case IoKind::real:
      return "real " + io.fixed_value;
    case IoKind::boolean:
      return "boolean " + io.fixed_value;
    case IoKind::string:
      return "string " + io.fixed_value;
    case IoKind::none:
      return "none";
  }
  throw InternalError("an input or output of no kind");
}

class LoadedProgram::Impl {
 public:
  enum class Source { user, compiler };

  Impl(std::span<const std::byte> bytes, std::string name, Source source, const Methods& methods,
       OpTimer* timer)
      : Impl(bytes, std::move(name), source, timer) {
    if (methods.empty()) throw UserError("{}: no method to load is given", name_);
    const ThreadScope threads;
    allocate_arenas(methods);
    for (const std::string& method : methods) {
      current_ = &methods_[method];
      load_method(method);
      describe_io(method);
    }
    use(methods.front());
    take_runtime_errors();
  }

  /// Loads no method.
  Impl(std::span<const std::byte> bytes, std::string name, Source source, OpTimer* timer)
      : name_(std::move(name)),
        source_(source),
        timer_(timer),
        loader_(bytes.data(), bytes.size()) {
    capture_runtime_log();
    load_program(bytes);
  }

  Methods method_names() const {
    Methods names;
    for (size_t i = 0; i < program_->num_methods(); ++i) {
      const auto name = program_->get_method_name(i);
      check(name.error(), "name method {}", i);
      names.emplace_back(name.get());
    }
    return names;
  }

  static std::unique_ptr<Impl> of_copy(std::span<const std::byte> bytes, std::string_view name,
                                       Source source, const Methods& methods, OpTimer* timer) {
    AlignedBuffer copy(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy.data());
    auto impl = std::make_unique<Impl>(copy.bytes(), std::string(name), source, methods, timer);
    impl->keep(std::move(copy));
    return impl;
  }

  void use(const std::string& method) {
    const auto found = methods_.find(method);
    LAYLINE_ASSERT(found != methods_.end(), "the method {} is not loaded", method);
    current_ = &found->second;
  }

  const std::vector<IoInfo>& inputs() const { return current_->inputs; }
  const std::vector<IoInfo>& outputs() const { return current_->outputs; }

  void keep(std::shared_ptr<const MappedFile> file) { file_ = std::move(file); }
  void keep(AlignedBuffer copy) { copy_ = std::move(copy); }

  void set_inputs(const std::vector<TensorView>& given) {
    LAYLINE_ASSERT(given.size() == current_->inputs.size(), "{} inputs given to a method of {}",
                   given.size(), current_->inputs.size());
    for (size_t i = 0; i < given.size(); ++i)
      if (current_->inputs[i].kind == IoKind::tensor) check_input(current_->inputs[i], given[i]);
    std::vector<std::optional<std::vector<int64_t>>> shapes(given.size());
    for (size_t i = 0; i < given.size(); ++i)
      if (current_->inputs[i].kind == IoKind::tensor) shapes[i] = given[i].shape;
    current_->sizes.check(input_names(), shapes);
    current_->staged.clear();
    current_->staged.resize(given.size());
    for (size_t i = 0; i < given.size(); ++i)
      if (current_->inputs[i].kind == IoKind::tensor)
        current_->staged[i] = stage(current_->inputs[i], given[i]);
  }

  void execute() {
    const ThreadScope threads;
    take_runtime_errors();  // what the log says from here on is about this run
    for (size_t i = 0; i < current_->staged.size(); ++i) {
      if (!current_->staged[i].tensor) continue;
      const et::EValue value{executorch::aten::Tensor(current_->staged[i].tensor.get())};
      check(current_->method->set_input(value, i), "take input `{}`", current_->inputs[i].name);
    }
    // Only now: an output may be one of the inputs, whose memory was just handed over.
    if (!current_->outputs_have_memory) give_memory_to_outputs();
    check(current_->method->execute(), "run `{}`", current_->method->method_meta().name());
  }

  std::vector<std::vector<int64_t>> complete_shapes(
      const std::vector<std::optional<std::vector<int64_t>>>& given) const {
    // A shape of another rank is refused with the tensor that has it.
    auto known = given;
    for (size_t i = 0; i < given.size(); ++i)
      if (known[i] && known[i]->size() != current_->inputs[i].shape.size()) known[i].reset();
    if (!current_->sizes.empty()) return current_->sizes.complete(input_names(), known);
    std::vector<std::vector<int64_t>> shapes;
    for (size_t i = 0; i < given.size(); ++i)
      shapes.push_back(known[i] ? *known[i] : current_->inputs[i].shape);
    return shapes;
  }

  std::vector<HostTensor> get_outputs() const {
    std::vector<HostTensor> results(current_->outputs.size());
    for (size_t i = 0; i < results.size(); ++i) {
      const IoInfo& io = current_->outputs[i];
      const et::EValue& value = current_->method->get_output(i);
      HostTensor& result = results[i];
      result.dtype = io.dtype;
      set_shape(io, value, result.shape);
      result.bytes.resize(count_bytes(io, result.shape));
      read_output(io, value, result.shape, result.bytes);
    }
    return results;
  }

  void get_output(size_t index, std::span<std::byte> bytes, std::vector<int64_t>& shape) const {
    const IoInfo& io = current_->outputs[index];
    const et::EValue& value = current_->method->get_output(index);
    set_shape(io, value, shape);
    const uint64_t size = count_bytes(io, shape);
    LAYLINE_ASSERT(size <= bytes.size(), "{} bytes for an output of {}", bytes.size(), size);
    read_output(io, value, shape, bytes.first(size));
  }

  HostTensor get_input(size_t index) const {
    const IoInfo& io = current_->inputs[index];
    LAYLINE_ASSERT(io.kind == IoKind::tensor && index < current_->staged.size(),
                   "input {} was not given", io.name);
    const StagedInput& staged = current_->staged[index];
    HostTensor result{io.dtype, {staged.sizes.begin(), staged.sizes.end()}, {}};
    result.bytes.resize(staged.bytes.size());
    from_dim_order(staged.bytes.bytes(), result.shape, io.dim_order, byte_size(io.dtype),
                   result.bytes);
    return result;
  }

 private:
  struct LoadedMethod {
    DynamicSizes sizes;
    std::vector<IoInfo> inputs;
    std::vector<IoInfo> outputs;
    std::optional<et::MemoryManager> memory_manager;
    std::vector<StagedInput> staged;
    std::vector<AlignedBuffer> output_memory;
    bool outputs_have_memory = false;
    std::optional<et::Method> method;
  };

  template <typename... Args>
  void check(et::Error error, fmt::format_string<Args...> action, Args&&... args) const {
    if (error == et::Error::Ok) return;
    std::string message = fmt::format("{}: the ExecuTorch runtime cannot {}: {} (0x{:x})", name_,
                                      fmt::format(action, std::forward<Args>(args)...),
                                      et::to_string(error), static_cast<uint32_t>(error));
    const std::string cause = take_runtime_errors();
    if (!cause.empty()) message += ": " + cause;
    fail(message);
  }

  [[noreturn]] void fail(const std::string& message) const {
    if (source_ == Source::compiler) throw InternalError(message);
    throw UserError(message);
  }

  void load_program(std::span<const std::byte> bytes) {
    switch (et::Program::check_header(bytes.data(), bytes.size())) {
      case et::Program::CompatibleVersion:
        break;
      case et::Program::IncompatibleVersion:
        fail(fmt::format("{}: an ExecuTorch program of a version this runtime cannot read", name_));
      case et::Program::NotPresent:
      case et::Program::ShortData:
        fail(fmt::format("{}: not an ExecuTorch program (.pte)", name_));
    }
    auto loaded = et::Program::load(&loader_, et::Program::Verification::InternalConsistency);
    check(loaded.error(), "load the program");
    program_.emplace(std::move(loaded.get()));
  }

  /// Allocates the memory that the methods share: as much as the method that needs the most.
  void allocate_arenas(const Methods& methods) {
    std::vector<uint64_t> sizes;
    for (const std::string& method : methods) {
      const et::MethodMeta meta = describe_method(method);
      sizes.resize(std::max(sizes.size(), meta.num_memory_planned_buffers()));
      for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
        const auto size = meta.memory_planned_buffer_size(i);
        check(size.error(), "size the memory of `{}`", method);
        if (size.get() < 0) fail(fmt::format("{}: a memory arena of negative size", name_));
        sizes[i] = std::max(sizes[i], static_cast<uint64_t>(size.get()));
      }
    }
    for (uint64_t size : sizes) {
      arenas_.push_back(allocate(size));
      arena_spans_.emplace_back(reinterpret_cast<uint8_t*>(arenas_.back().data()), size);
    }
    arena_allocator_.emplace(et::Span<et::Span<uint8_t>>(arena_spans_.data(), arena_spans_.size()));
  }

  et::MethodMeta describe_method(const std::string& method) const {
    const Methods known = method_names();
    if (std::find(known.begin(), known.end(), method) == known.end()) {
      throw UserError("{}: no method `{}`; it has {}", name_, method, fmt::join(known, ", "));
    }
    const auto meta = program_->method_meta(method.c_str());
    check(meta.error(), "describe `{}`", method);
    return meta.get();
  }

  void load_method(const std::string& method) {
    current_->memory_manager.emplace(&method_allocator_, &*arena_allocator_, &kernel_allocator_);
    auto loaded = program_->load_method(method.c_str(), &*current_->memory_manager,
                                        timer_ == nullptr ? nullptr : timer_->tracer());
    check(loaded.error(), "load `{}`", method);
    current_->method.emplace(std::move(loaded.get()));
  }

  AlignedBuffer allocate(uint64_t size) const {
    try {
      return AlignedBuffer(size);
    } catch (const std::bad_alloc&) {
      fail(fmt::format("{}: the program needs {} bytes of memory", name_, size));
    }
  }

  void describe_io(const std::string& method) {
    std::optional<pte::MethodIoNames> names = read_names(method);
    const et::MethodMeta meta = current_->method->method_meta();
    const std::vector<et::EValue> values = input_values();
    if (names &&
        (names->inputs.size() != values.size() || names->outputs.size() != meta.num_outputs())) {
      fail(fmt::format("{}: its `{}` data names {} inputs and {} outputs, `{}` has {} and {}",
                       name_, pte::kIoNamesKey, names->inputs.size(), names->outputs.size(), method,
                       values.size(), meta.num_outputs()));
    }
    if (names) current_->sizes = DynamicSizes(*names);
    for (size_t i = 0; i < values.size(); ++i) {
      current_->inputs.push_back(
          describe_value(names ? names->inputs[i] : fmt::format("input_{}", i), values[i]));
      current_->inputs.back().symbolic = current_->sizes.describe(i);
    }
    for (size_t i = 0; i < meta.num_outputs(); ++i) {
      current_->outputs.push_back(
          describe_value(names ? names->outputs[i] : fmt::format("output_{}", i),
                         current_->method->get_output(i)));
    }
  }

  std::vector<std::string> input_names() const {
    std::vector<std::string> names;
    for (const IoInfo& input : current_->inputs) names.push_back(input.name);
    return names;
  }

  std::vector<et::EValue> input_values() {
    std::vector<et::EValue> values(current_->method->inputs_size());
    // Deprecated in favour of MethodMeta, which knows neither the values of inputs that are not
    // tensors nor whether a shape is dynamic.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    check(current_->method->get_inputs(values.data(), values.size()), "describe its inputs");
#pragma GCC diagnostic pop
    return values;
  }

  std::optional<pte::MethodIoNames> read_names(const std::string& method) const {
    const auto data_map = program_->get_named_data_map();
    if (!data_map.ok()) return std::nullopt;
    const auto data = data_map.get()->get_data(pte::kIoNamesKey);
    if (data.error() == et::Error::NotFound) return std::nullopt;
    check(data.error(), "read the names of inputs and outputs");
    const std::string_view json(static_cast<const char*>(data->data()), data->size());
    for (pte::MethodIoNames& names : pte::read_io_names(json))
      if (names.method == method) return std::move(names);
    return std::nullopt;
  }

  IoInfo describe_value(std::string name, const et::EValue& value) const {
    IoInfo io;
    io.name = std::move(name);
    if (value.isTensor()) {
      const auto& tensor = value.toTensor();
      const std::optional<DType> dtype = dtype_of(tensor.scalar_type());
      if (!dtype) {
        fail(fmt::format("{}: `{}` has a dtype that layline does not know (ExecuTorch's {})", name_,
                         io.name, static_cast<int>(tensor.scalar_type())));
      }
      io.dtype = *dtype;
      io.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
      io.dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
      io.dynamic = tensor.shape_dynamism() != executorch::aten::TensorShapeDynamism::STATIC;
    } else if (value.isInt()) {
      io.kind = IoKind::integer;
      io.dtype = DType::i64;
      io.fixed_value = fmt::format("{}", value.toInt());
    } else if (value.isDouble()) {
      io.kind = IoKind::real;
      io.dtype = DType::f64;
      io.fixed_value = fmt::format("{}", value.toDouble());
    } else if (value.isBool()) {
      io.kind = IoKind::boolean;
      io.dtype = DType::boolean;
      io.fixed_value = fmt::format("{}", value.toBool());
    } else if (value.isString()) {
      io.kind = IoKind::string;
      io.dtype = DType::u8;
      io.shape = {0};
      io.fixed_value = std::string(value.toString().data(), value.toString().size());
    } else if (value.isNone()) {
      io.kind = IoKind::none;
      io.dtype = DType::u8;
      io.shape = {0};
    } else {
      fail(fmt::format("{}: `{}` is neither a tensor nor a number", name_, io.name));
    }
    return io;
  }

  /// Gives memory of ours to outputs that are neither planned, nor constant, nor inputs.
  void give_memory_to_outputs() {
    for (size_t i = 0; i < current_->outputs.size(); ++i) {
      const et::EValue& value = current_->method->get_output(i);
      if (!value.isTensor() || value.toTensor().const_data_ptr() != nullptr) continue;
      const AlignedBuffer& memory = current_->output_memory.emplace_back(
          allocate(count_bytes(current_->outputs[i], current_->outputs[i].shape)));
      check(current_->method->set_output_data_ptr(memory.data(), memory.size(), i),
            "give memory to output `{}`", current_->outputs[i].name);
    }
    current_->outputs_have_memory = true;
  }

  /// Sets `shape` to the one that an output has now.
  static void set_shape(const IoInfo& io, const et::EValue& value, std::vector<int64_t>& shape) {
    if (value.isTensor())
      shape.assign(value.toTensor().sizes().begin(), value.toTensor().sizes().end());
    else
      shape = io.shape;
  }

  void read_output(const IoInfo& io, const et::EValue& value, std::span<const int64_t> shape,
                   std::span<std::byte> bytes) const {
    if (value.isInt()) return put(value.toInt(), bytes);
    if (value.isDouble()) return put(value.toDouble(), bytes);
    if (value.isBool()) return put(value.toBool(), bytes);
    if (!value.isTensor() || bytes.empty()) return;
    const auto& tensor = value.toTensor();
    const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
    if (data == nullptr) fail(fmt::format("{}: output `{}` was not computed", name_, io.name));
    from_dim_order({data, bytes.size()}, shape,
                   {tensor.dim_order().begin(), tensor.dim_order().end()}, byte_size(io.dtype),
                   bytes);
  }

  // In the order of their dependence: the method goes first, the program's bytes last.
  std::string name_;
  Source source_;
  OpTimer* timer_;
  std::shared_ptr<const MappedFile> file_;
  AlignedBuffer copy_;
  ThreadPoolUse thread_pool_use_;
  ProgramData loader_;
  std::optional<et::Program> program_;
  std::vector<AlignedBuffer> arenas_;
  std::vector<et::Span<uint8_t>> arena_spans_;
  executorch::extension::MallocMemoryAllocator method_allocator_;
  executorch::extension::MallocMemoryAllocator kernel_allocator_;
  std::optional<et::HierarchicalAllocator> arena_allocator_;
  std::map<std::string, LoadedMethod> methods_;
  LoadedMethod* current_ = nullptr;
};

Methods LoadedProgram::methods_of(std::span<const std::byte> bytes, std::string_view name) {
  return Impl(bytes, std::string(name), Impl::Source::user, nullptr).method_names();
}

LoadedProgram::LoadedProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoadedProgram::LoadedProgram(LoadedProgram&&) noexcept = default;
LoadedProgram& LoadedProgram::operator=(LoadedProgram&&) noexcept = default;
LoadedProgram::~LoadedProgram() = default;

LoadedProgram LoadedProgram::from_file(const std::string& path, const Methods& methods,
                                       OpTimer* timer) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  auto impl = std::make_unique<Impl>(file->bytes(), path, Impl::Source::user, methods, timer);
  impl->keep(std::move(file));
  return LoadedProgram(std::move(impl));
}

LoadedProgram LoadedProgram::from_bytes(std::span<const std::byte> bytes, std::string_view name,
                                        const Methods& methods) {
  return LoadedProgram(Impl::of_copy(bytes, name, Impl::Source::user, methods, nullptr));
}

LoadedProgram LoadedProgram::from_compiled(std::span<const std::byte> bytes, std::string_view name,
                                           const Methods& methods, OpTimer* timer) {
  return LoadedProgram(Impl::of_copy(bytes, name, Impl::Source::compiler, methods, timer));
}

const std::vector<IoInfo>& LoadedProgram::inputs() const { return impl_->inputs(); }
const std::vector<IoInfo>& LoadedProgram::outputs() const { return impl_->outputs(); }

void LoadedProgram::use(const std::string& method) { impl_->use(method); }
HostTensor LoadedProgram::get_input(size_t index) const { return impl_->get_input(index); }

void LoadedProgram::set_inputs(const std::vector<HostTensor>& inputs) {
  std::vector<TensorView> views;
  for (const HostTensor& input : inputs) views.push_back({input.dtype, input.shape, input.bytes});
  set_input_views(views);
}

void LoadedProgram::set_input_views(const std::vector<TensorView>& inputs) {
  impl_->set_inputs(inputs);
}

std::vector<std::vector<int64_t>> LoadedProgram::complete_shapes(
    const std::vector<std::optional<std::vector<int64_t>>>& given) const {
  return impl_->complete_shapes(given);
}

void LoadedProgram::execute() { impl_->execute(); }
std::vector<HostTensor> LoadedProgram::get_outputs() const { return impl_->get_outputs(); }
void LoadedProgram::get_output(size_t index, std::span<std::byte> bytes,
                               std::vector<int64_t>& shape) const {
  impl_->get_output(index, bytes, shape);
}

std::vector<HostTensor> LoadedProgram::run(const std::vector<HostTensor>& inputs) {
  set_inputs(inputs);
  execute();
  return get_outputs();
}

}  // namespace layline
