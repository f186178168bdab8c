#include "frontend/pt2/call.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/checked.h"
#include "ir/tensor.h"

namespace layline::pt2 {

DType core_dtype(TorchDType dtype) {
  switch (dtype) {
    case TorchDType::kUint8:
      return DType::u8;
    case TorchDType::kInt8:
      return DType::i8;
    case TorchDType::kInt16:
      return DType::i16;
    case TorchDType::kInt32:
      return DType::i32;
    case TorchDType::kInt64:
      return DType::i64;
    case TorchDType::kFloat16:
      return DType::f16;
    case TorchDType::kFloat32:
      return DType::f32;
    case TorchDType::kFloat64:
      return DType::f64;
    case TorchDType::kBool:
      return DType::boolean;
    case TorchDType::kBFloat16:
      return DType::f32;
    case TorchDType::kUint16:
      return DType::u16;
    default:
      throw UserError("dtype {} is not supported", dtype_name(dtype));
  }
}

DType stored_dtype(TorchDType dtype) {
  return dtype == TorchDType::kBFloat16 ? DType::bf16 : core_dtype(dtype);
}

Call::Call(layline::Graph& graph, const Graph& program, const Node& node, TensorEnv& env,
           Symbols& symbols, OriginRef origin, std::function<bool(std::string_view)> is_read)
    : Builder(graph, std::move(origin), node.target),
      program_(program),
      node_(node),
      env_(env),
      symbols_(symbols),
      is_read_(std::move(is_read)) {}

void Call::wrong_kind(std::string_view argument, std::string_view expected) const {
  fail("argument `{}` should be {}, but is {}", argument, expected, kind_name(require(argument)));
}

const Argument* Call::find(std::string_view argument) const {
  for (const NamedArgument& input : node_.inputs)
    if (input.name == argument) return &input.arg;
  return nullptr;
}

const Argument& Call::require(std::string_view argument) const {
  const Argument* found = find(argument);
  if (found == nullptr) fail("argument `{}` is missing", argument);
  return *found;
}

bool Call::has(std::string_view argument) const {
  const Argument* found = find(argument);
  return found != nullptr && !found->is_none();
}

std::string_view Call::defined(std::string_view name) const {
  if (!env_.contains(name)) fail("uses `{}`, which nothing before it defines", name);
  return name;
}

Value* Call::read(std::string_view name) const { return env_.read(defined(name), *this); }

std::string_view Call::tensor_name(std::string_view argument) const {
  const auto* tensor = require(argument).as<TensorArg>();
  if (tensor == nullptr) wrong_kind(argument, "a tensor");
  return defined(tensor->name);
}

Value* Call::tensor(std::string_view argument) const { return read(tensor_name(argument)); }

Value* Call::optional_tensor(std::string_view argument) const {
  return has(argument) ? tensor(argument) : nullptr;
}

std::vector<Value*> Call::tensors(std::string_view argument) const {
  const auto* list = require(argument).as<std::vector<TensorArg>>();
  if (list == nullptr) wrong_kind(argument, "a list of tensors");
  std::vector<Value*> values;
  for (const TensorArg& tensor : *list) values.push_back(read(tensor.name));
  return values;
}

std::vector<Value*> Call::optional_tensors(std::string_view argument) const {
  const auto* list = require(argument).as<std::vector<OptionalTensorArg>>();
  if (list == nullptr) return tensors(argument);
  std::vector<Value*> values;
  for (const OptionalTensorArg& tensor : *list)
    values.push_back(tensor.name ? read(*tensor.name) : nullptr);
  return values;
}

const TensorMeta* Call::strided(std::string_view tensor) const {
  auto found = program_.tensor_values.find(tensor);
  const bool known =
      found != program_.tensor_values.end() && found->second.layout == Layout::kStrided;
  return known ? &found->second : nullptr;
}

std::vector<Sum> Call::lengths(const std::vector<SymInt>& recorded) const {
  std::vector<Sum> sums;
  for (const SymInt& length : recorded) sums.push_back(symbols_.sum(length));
  return sums;
}

bool Call::is_contiguous(std::string_view argument) const {
  const TensorMeta* recorded = strided(tensor_name(argument));
  return recorded != nullptr && is_row_major(*recorded);
}

std::string_view Call::base() const {
  if (node_.inputs.empty()) fail("has nothing to write to");
  return tensor_name(node_.inputs.front().name);
}

bool Call::copied_base_to(std::string_view result) const {
  if (flag("copy", false)) return true;
  const TensorMeta *before = strided(base()), *after = strided(result);
  if (before == nullptr || after == nullptr) return false;
  if (before->dtype != after->dtype) return true;
  const std::vector<Sum> sizes = lengths(before->sizes);
  // A reshape: no view of a tensor that is not row-major is, and every view of one that is.
  if (sizes != lengths(after->sizes)) return is_row_major(*before) != is_row_major(*after);
  const std::vector<Sum> from = lengths(before->strides), to = lengths(after->strides);
  for (size_t a = 0; a < sizes.size(); ++a)
    if (sizes[a] != Sum::number(1) && from[a] != to[a]) return true;
  return false;
}

bool Call::is_row_major(const TensorMeta& meta) const {
  const std::vector<Sum> sizes = lengths(meta.sizes), strides = lengths(meta.strides);
  Sum expected = Sum::number(1);
  for (size_t a = sizes.size(); a-- > 0;) {
    if (sizes[a] == Sum::number(1)) continue;
    if (strides[a] != expected) return false;
    expected = expected * sizes[a];
  }
  return true;
}

const SymInt& Call::recorded(std::string_view argument, const SymIntArg& item) const {
  auto known = program_.sym_int_values.find(item.name);
  if (known == program_.sym_int_values.end())
    fail("argument `{}`: unknown size `{}`", argument, item.name);
  return known->second;
}

Sum Call::expression(std::string_view argument, const SymIntArg& item) const {
  if (item.name.empty()) return Sum::number(item.value);
  return symbols_.sum(recorded(argument, item));
}

bool Call::reads_data(std::string_view argument) const {
  const Argument* arg = find(argument);
  const auto* item = arg ? arg->as<SymIntArg>() : nullptr;
  return item && !item->name.empty() && symbols_.reads_data(recorded(argument, *item));
}

Value* Call::computed(std::string_view argument) const {
  const Argument* arg = find(argument);
  const auto* item = arg ? arg->as<SymIntArg>() : nullptr;
  if (item == nullptr || item->name.empty()) return nullptr;
  const SymInt& number = recorded(argument, *item);
  if (!symbols_.reads_data(number) && symbols_.sum(number).is_number()) return nullptr;
  return symbols_.value(*this, number);
}

int64_t Call::literal(std::string_view argument, const SymIntArg& item) const {
  const Sum value = expression(argument, item);
  if (!value.is_number())
    fail("argument `{}` depends on a dynamic size, which layline does not support here", argument);
  return value.constant();
}

Sum Call::expression(std::string_view argument) const {
  const auto* symbolic = require(argument).as<SymIntArg>();
  return symbolic ? expression(argument, *symbolic) : Sum::number(integer(argument));
}

int64_t Call::integer(std::string_view argument) const {
  const Argument& arg = require(argument);
  if (const auto* value = arg.as<int64_t>()) return *value;
  if (const auto* value = arg.as<SymIntArg>()) return literal(argument, *value);
  if (const auto* list = arg.as<std::vector<int64_t>>(); list && list->size() == 1)
    return list->front();
  wrong_kind(argument, "an integer");
}

int64_t Call::integer(std::string_view argument, int64_t otherwise) const {
  return has(argument) ? integer(argument) : otherwise;
}

double Call::number(std::string_view argument, double otherwise) const {
  if (!has(argument)) return otherwise;
  if (auto value = scalar(argument)) return value->value;
  wrong_kind(argument, "a number");
}

bool Call::flag(std::string_view argument, bool otherwise) const {
  if (!has(argument)) return otherwise;
  if (const auto* value = require(argument).as<bool>()) return *value;
  wrong_kind(argument, "a bool");
}

std::string_view Call::string(std::string_view argument, std::string_view otherwise) const {
  if (!has(argument)) return otherwise;
  if (const auto* value = require(argument).as<std::string_view>()) return *value;
  wrong_kind(argument, "a string");
}

Ints Call::ints(std::string_view argument, Ints otherwise) const {
  if (!has(argument)) return otherwise;
  const Argument& arg = require(argument);
  if (const auto* value = arg.as<int64_t>()) return {*value};
  if (const auto* list = arg.as<std::vector<int64_t>>()) return *list;
  if (const auto* list = arg.as<std::vector<SymIntArg>>()) {
    Ints values;
    for (const SymIntArg& item : *list) values.push_back(literal(argument, item));
    return values;
  }
  // An empty list has no kind of its own in the file.
  if (const auto* list = arg.as<std::vector<TensorArg>>(); list && list->empty()) return {};
  wrong_kind(argument, "a list of integers");
}

Ints Call::ints_per_axis(std::string_view argument, size_t count, Ints otherwise) const {
  Ints values = ints(argument, std::move(otherwise));
  if (values.size() == 1) values.resize(count, values[0]);
  if (values.size() != count)
    fail("argument `{}` has {} entries for {} axes", argument, values.size(), count);
  return values;
}

std::optional<std::vector<double>> Call::numbers(std::string_view argument) const {
  if (!has(argument)) return std::nullopt;
  const Argument& arg = require(argument);
  if (const auto* list = arg.as<std::vector<double>>()) return *list;
  if (const auto* list = arg.as<std::vector<int64_t>>())
    return std::vector<double>(list->begin(), list->end());
  wrong_kind(argument, "a list of numbers");
}

std::vector<std::optional<Dim>> Call::sizes(std::string_view argument) const {
  std::vector<std::optional<Dim>> dims;
  auto add = [&](int64_t size) {
    if (size < -1) fail("argument `{}` has the size {}", argument, size);
    dims.push_back(size == -1 ? std::nullopt : std::optional(Dim(size)));
  };
  if (const auto* list = require(argument).as<std::vector<SymIntArg>>()) {
    for (const SymIntArg& item : *list) {
      if (item.name.empty())
        add(item.value);
      else
        dims.push_back(symbols_.table().dim(expression(argument, item)));
    }
  } else {
    for (int64_t size : ints(argument, {})) add(size);
  }
  return dims;
}

std::optional<DType> Call::dtype(std::string_view argument) const {
  if (!has(argument)) return std::nullopt;
  const auto* value = require(argument).as<TorchDType>();
  if (value == nullptr) wrong_kind(argument, "a dtype");
  return core_dtype(*value);
}

DType Call::dtype_in_model(std::string_view argument) const {
  const auto meta = program_.tensor_values.find(tensor_name(argument));
  return meta == program_.tensor_values.end() ? tensor(argument)->dtype()
                                              : stored_dtype(meta->second.dtype);
}

std::optional<Scalar> Call::scalar(std::string_view argument) const {
  const Argument* arg = find(argument);
  if (arg == nullptr) return std::nullopt;
  if (const auto* value = arg->as<bool>()) return Scalar{*value ? 1.0 : 0.0, DType::boolean};
  if (const auto* value = arg->as<int64_t>())
    return Scalar{static_cast<double>(*value), DType::i64};
  if (const auto* value = arg->as<double>()) return Scalar{*value, DType::f32};
  if (const auto* value = arg->as<SymIntArg>())
    return Scalar{static_cast<double>(literal(argument, *value)), DType::i64};
  return std::nullopt;
}

int64_t Call::axis(std::string_view argument, int64_t otherwise, int64_t rank) const {
  int64_t axis = integer(argument, otherwise);
  const int64_t given = axis;
  const int64_t axes = std::max<int64_t>(rank, 1);  // torch allows axis 0 of a scalar
  if (axis < 0) axis += axes;
  if (axis < 0 || axis >= axes)
    fail("argument `{}` is {}, but the tensor has {} axes", argument, given, rank);
  return axis;
}

int64_t Call::axis_of(const Value* x) const {
  if (x->shape().empty()) fail("takes no 0-d tensors");
  return axis("dim", 0, x->type().rank());
}

Ints Call::axes(std::string_view argument, int64_t rank) const {
  Ints axes = ints(argument, {});
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
  }
  for (int64_t& axis : axes) {
    const int64_t given = axis;
    if (axis < 0) axis += std::max<int64_t>(rank, 1);
    if (axis < 0 || axis >= std::max<int64_t>(rank, 1))
      fail("argument `{}` names axis {}, but the tensor has {} axes", argument, given, rank);
  }
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  if (rank == 0) axes.clear();
  return axes;
}

void Call::results(const std::vector<Value*>& values) {
  results_.insert(results_.end(), values.begin(), values.end());
}

size_t Call::output_count() const {
  size_t count = 0;
  for (const Argument& output : node_.outputs)
    count += output.as<std::vector<TensorArg>>() ? output.as<std::vector<TensorArg>>()->size() : 1;
  return count;
}

std::vector<std::string_view> Call::output_names() const {
  std::vector<std::string_view> names;
  for (const Argument& argument : node_.outputs) {
    if (const auto* list = argument.as<std::vector<TensorArg>>())
      for (const TensorArg& tensor : *list) names.push_back(tensor.name);
    else if (const auto* tensor = argument.as<TensorArg>())
      names.push_back(tensor->name);
  }
  return names;
}

bool Call::is_read(size_t output) const {
  const std::vector<std::string_view> names = output_names();
  return output < names.size() && is_read_(names[output]);
}

TensorType Call::recorded(size_t output) const {
  const std::vector<std::string_view> names = output_names();
  if (output >= names.size()) fail("has no tensor output {}", output);
  auto meta = program_.tensor_values.find(names[output]);
  if (meta == program_.tensor_values.end())
    fail("the model records no dtype and shape for `{}`; export it again", names[output]);
  TensorType type{core_dtype(meta->second.dtype), {}};
  for (const SymInt& size : meta->second.sizes) type.shape.push_back(symbols_.dim(size));
  return type;
}

}  // namespace layline::pt2
