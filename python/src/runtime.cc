// layline._runtime: programs on ExecuTorch. layline/_session.py and layline/_generator.py are what
// users see.
#include <layline/generator.h>
#include <layline/session.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <mutex>

namespace nb = nanobind;

namespace {

struct NamedType {
  const char* name;
  nb::dlpack::dtype_code code;
  uint8_t bits;
};

// bfloat16 and bool have codes of their own in DLPack.
constexpr NamedType kTypes[] = {
    {"f32", nb::dlpack::dtype_code::Float, 32}, {"f16", nb::dlpack::dtype_code::Float, 16},
    {"f64", nb::dlpack::dtype_code::Float, 64}, {"bf16", nb::dlpack::dtype_code::Bfloat, 16},
    {"i8", nb::dlpack::dtype_code::Int, 8},     {"i16", nb::dlpack::dtype_code::Int, 16},
    {"i32", nb::dlpack::dtype_code::Int, 32},   {"i64", nb::dlpack::dtype_code::Int, 64},
    {"u8", nb::dlpack::dtype_code::UInt, 8},    {"u16", nb::dlpack::dtype_code::UInt, 16},
    {"bool", nb::dlpack::dtype_code::Bool, 8},
};

using Given = nb::ndarray<nb::ro, nb::device::cpu>;

std::string dtype_name(const nb::dlpack::dtype& dtype) {
  for (const NamedType& type : kTypes)
    if (dtype.code == static_cast<uint8_t>(type.code) && dtype.bits == type.bits &&
        dtype.lanes == 1)
      return type.name;
  throw layline::Error("an array of " + std::to_string(dtype.bits) +
                       " bits an element has a dtype that no program takes");
}

bool is_row_major(const Given& given) {
  int64_t stride = 1;
  for (size_t i = given.ndim(); i-- > 0;) {
    if (given.shape(i) != 1 && given.stride(i) != stride) return false;
    stride *= static_cast<int64_t>(given.shape(i));
  }
  return true;
}

/// A copy in row-major order, whatever the strides.
std::vector<std::byte> row_major(const Given& given) {
  const size_t item = given.itemsize();
  std::vector<std::byte> bytes(given.size() * item);
  if (given.size() == 0) return bytes;
  const auto* source = static_cast<const std::byte*>(given.data());
  std::byte* target = bytes.data();
  // Rows that lie together are copied at once.
  const auto copy = [&](const auto& self, size_t axis, int64_t offset) -> void {
    size_t together = 1;
    bool contiguous = true;
    for (size_t i = given.ndim(); contiguous && i > axis; --i) {
      contiguous = given.stride(i - 1) == static_cast<int64_t>(together) || given.shape(i - 1) == 1;
      together *= given.shape(i - 1);
    }
    if (contiguous) {
      std::memcpy(target, source + offset * static_cast<int64_t>(item), together * item);
      target += together * item;
      return;
    }
    for (size_t i = 0; i < given.shape(axis); ++i)
      self(self, axis + 1, offset + static_cast<int64_t>(i) * given.stride(axis));
  };
  copy(copy, 0, 0);
  return bytes;
}

/// What the caller gives, where it lies if that is row-major, and copied into `kept` otherwise.
layline::ArrayView read(const Given& given, std::vector<std::vector<std::byte>>& kept) {
  std::vector<int64_t> shape;
  for (size_t i = 0; i < given.ndim(); ++i) shape.push_back(static_cast<int64_t>(given.shape(i)));
  std::string dtype = dtype_name(given.dtype());
  if (is_row_major(given))
    return {std::move(dtype),
            std::move(shape),
            {static_cast<const std::byte*>(given.data()), given.size() * given.itemsize()}};
  kept.push_back(row_major(given));
  return {std::move(dtype), std::move(shape), kept.back()};
}

/// Takes the bytes over without a copy. NumPy has no bfloat16: its bits come as uint16.
nb::object to_numpy(layline::Array&& result) {
  auto* array = new layline::Array(std::move(result));
  nb::capsule owner(array, [](void* p) noexcept { delete static_cast<layline::Array*>(p); });
  nb::dlpack::dtype dtype{};
  for (const NamedType& type : kTypes)
    if (array->dtype == type.name) dtype = {static_cast<uint8_t>(type.code), type.bits, 1};
  if (array->dtype == "bf16") dtype.code = static_cast<uint8_t>(nb::dlpack::dtype_code::UInt);
  std::vector<size_t> shape(array->shape.begin(), array->shape.end());
  return nb::cast(nb::ndarray<nb::numpy>(array->bytes.data(), shape.size(), shape.data(), owner,
                                         nullptr, dtype));
}

/// A session that threads may share: one run at a time.
class SharedSession {
 public:
  explicit SharedSession(layline::Session session) : session_(std::move(session)) {}

  std::vector<layline::Port> inputs(const std::string& method) {
    const std::lock_guard lock(mutex_);
    session_.use(method);
    return session_.inputs();
  }
  std::vector<layline::Port> outputs(const std::string& method) {
    const std::lock_guard lock(mutex_);
    session_.use(method);
    return session_.outputs();
  }

  nb::list run(const std::string& method, const nb::list& given) {
    // What is read in place must live until the run is over, and so must copies.
    std::vector<Given> arrays;
    std::vector<std::vector<std::byte>> kept;
    std::vector<layline::ArrayView> views;
    for (nb::handle item : given) {
      if (item.is_none()) {
        views.emplace_back();
        continue;
      }
      arrays.push_back(nb::cast<Given>(item));
      views.push_back(read(arrays.back(), kept));
    }
    std::vector<layline::Array> results;
    {
      const nb::gil_scoped_release released;
      const std::lock_guard lock(mutex_);
      session_.use(method);
      results = session_.run(views);
    }
    nb::list outputs;
    for (layline::Array& result : results) outputs.append(to_numpy(std::move(result)));
    return outputs;
  }

 private:
  std::mutex mutex_;
  layline::Session session_;
};

/// A generator that threads may share: one text at a time.
class SharedGenerator {
 public:
  explicit SharedGenerator(layline::Generator generator) : generator_(std::move(generator)) {}

  std::tuple<std::vector<int64_t>, double, double> run(const std::vector<int64_t>& prompt,
                                                       int64_t steps) {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    layline::Generation result = generator_.run(prompt, steps);
    return {std::move(result.tokens), result.prefill_seconds, result.decode_seconds};
  }

 private:
  std::mutex mutex_;
  layline::Generator generator_;
};

}  // namespace

NB_MODULE(_runtime, module) {
  nb::class_<layline::Port>(module, "Port")
      .def_ro("name", &layline::Port::name)
      .def_ro("is_tensor", &layline::Port::is_tensor)
      .def_ro("dtype", &layline::Port::dtype)
      .def_ro("shape", &layline::Port::shape)
      .def_ro("description", &layline::Port::description);
  nb::class_<SharedSession>(module, "Session")
      .def_static("from_file",
                  [](const std::string& path, const std::vector<std::string>& methods) {
                    return new SharedSession(layline::Session::from_file(path, methods));
                  })
      .def_static("from_bytes",
                  [](const nb::bytes& program, const std::vector<std::string>& methods) {
                    return new SharedSession(layline::Session::from_bytes(
                        {static_cast<const std::byte*>(program.data()), program.size()},
                        "the program", methods));
                  })
      .def("inputs", &SharedSession::inputs)
      .def("outputs", &SharedSession::outputs)
      .def("run", &SharedSession::run);
  nb::class_<SharedGenerator>(module, "Generator")
      .def_static("from_file",
                  [](const std::string& path, const std::string& tokens,
                     const std::string& position, int64_t context) {
                    return new SharedGenerator(
                        layline::Generator::from_file(path, {tokens, position, context}));
                  })
      .def_static("from_bytes",
                  [](const nb::bytes& program, const std::string& tokens,
                     const std::string& position, int64_t context) {
                    return new SharedGenerator(layline::Generator::from_bytes(
                        {static_cast<const std::byte*>(program.data()), program.size()},
                        "the program", {tokens, position, context}));
                  })
      .def("run", &SharedGenerator::run);
  module.def("set_threads", &layline::set_thread_count);
  // One exception type for both modules.
  static nb::object error = nb::module_::import_("layline._compiler").attr("Error");
  nb::register_exception_translator([](const std::exception_ptr& caught, void*) {
    try {
      std::rethrow_exception(caught);
    } catch (const layline::Error& e) {
      PyErr_SetString(error.ptr(), e.what());
    }
  });
}
