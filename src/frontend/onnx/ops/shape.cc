// Sizes as tensors, constants, and tensors that are made of sizes.
#include <algorithm>
#include <cmath>

#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/diagonal.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"
#include "ir/tensor.h"

namespace layline::onnx {
namespace {

/// These numbers as i64[count].
Value* vector_of(const Call& call, const std::vector<Sum>& numbers) {
  if (numbers.empty()) return call.constant(Tensor({DType::i64, {0}}));
  std::vector<Value*> parts;
  for (const Sum& number : numbers) parts.push_back(call.view(ops::number(call, number), {1}));
  return call.concat(std::move(parts), 0);
}

void shape(Call& call) {
  const Shape& shape = call.input(0)->shape();
  const auto rank = std::ssize(shape);
  auto place = [&](std::string_view attribute, int64_t otherwise) {
    const int64_t given = call.integer(attribute, otherwise);
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const int64_t end = place("end", rank);
  std::vector<Sum> sizes;
  for (int64_t i = place("start", 0); i < end; ++i)
    sizes.push_back(call.graph().symbol_table().expand(shape[static_cast<size_t>(i)]));
  call.result(vector_of(call, sizes));
}

void size(Call& call) {
  Sum count = Sum::number(1);
  for (const Dim& dim : call.input(0)->shape())
    count = count * call.graph().symbol_table().expand(dim);
  call.result(ops::number(call, count));
}

Value* vector_of_floats(const Call& call, const std::vector<double>& numbers) {
  Tensor tensor({DType::f32, {std::ssize(numbers)}});
  for (size_t i = 0; i < numbers.size(); ++i) tensor.set(static_cast<int64_t>(i), numbers[i]);
  return call.constant(tensor);
}

void constant(Call& call) {
  if (call.has("value")) return call.result(call.constant(call.tensor("value")));
  if (call.has("value_float"))
    return call.result(call.scalar(DType::f32, call.number("value_float", 0)));
  if (call.has("value_floats"))
    return call.result(vector_of_floats(call, call.numbers("value_floats")));
  if (call.has("value_int")) {
    Tensor number({DType::i64, {}});
    number.set_int(0, call.integer("value_int"));
    return call.result(call.constant(number));
  }
  if (call.has("value_ints")) {
    const Ints values = call.ints("value_ints", {});
    Tensor numbers({DType::i64, {std::ssize(values)}});
    for (size_t i = 0; i < values.size(); ++i) numbers.set_int(static_cast<int64_t>(i), values[i]);
    return call.result(call.constant(numbers));
  }
  call.fail("holds no tensor; strings and sparse tensors are not supported");
}

Shape shape_at(const Call& call, size_t input, std::string_view what) {
  Shape shape;
  for (const Sum& size : call.sums(input, what))
    shape.push_back(call.graph().symbol_table().dim(size));
  return shape;
}

void constant_of_shape(Call& call) {
  const Shape shape = shape_at(call, 0, "the shape");
  Value* value =
      call.has("value") ? call.constant(call.tensor("value")) : call.scalar(DType::f32, 0);
  if (!element_count(value->shape()).is_one()) call.fail("`value` has more than one element");
  call.result(call.expand(call.view(value, {}), shape));
}

/// Sizes of 1 broadcast in both directions.
void expand(Call& call) {
  Value* x = call.input(0);
  const Shape wanted = shape_at(call, 1, "`shape`");
  const auto shape = broadcast(x->shape(), wanted);
  if (!shape) call.fail("{} does not expand to {}", to_string(x->type()), to_string(wanted));
  call.result(call.expand(x, *shape));
}

/// The numbers from `start` up to, but without, `limit`.
void range(Call& call) {
  const DType dtype = call.input(0)->dtype();
  const auto start = call.number_of(call.input(0));
  const auto limit = call.number_of(call.input(1));
  const auto step = call.number_of(call.input(2));
  SymbolTable& symbols = call.graph().symbol_table();
  if (start && limit && step && start->is_number() && step->is_number()) {
    const int64_t first = start->constant();
    const int64_t each = step->constant();
    if (each == 0) call.fail("the step is 0");
    Sum length = *limit - Sum::number(first);
    if (each < 0) length = Sum() - length;
    const int64_t width = std::abs(each);
    length = symbols.maximum({symbols.quotient(length + Sum::number(width - 1), width), Sum()});
    return call.result(ops::arange(call, {dtype, {symbols.dim(length)}}, static_cast<double>(first),
                                   static_cast<double>(each)));
  }
  const double first = call.number_at(0, "`start`"), last = call.number_at(1, "`limit`");
  const double each = call.number_at(2, "`delta`");
  const double count = std::max(std::ceil((last - first) / each), 0.0);
  if (!(count <= 1 << 28)) call.fail("gives {} numbers", count);
  call.result(ops::arange(call, {dtype, {static_cast<int64_t>(count)}}, first, each));
}

void tile(Call& call) {
  Value* x = call.input(0);
  if (call.opset() < 6) call.fail("of opset {} is not supported", call.opset());
  const Numbers* times = call.numbers(call.input(1));
  const bool is_static = times && std::ranges::all_of(times->elements, [](const Fraction& each) {
                           return each.numerator.is_number();
                         });
  if (times == nullptr || is_static) {
    const Ints repeats = call.integers(1, "`repeats`");
    if (repeats.size() != x->shape().size())
      call.fail("repeats {} axes of {}", repeats.size(), to_string(x->type()));
    return call.result(ops::repeat(call, x, repeats));
  }
  // A dynamic number of times is an axis of its own, which is then merged with the repeated one.
  const std::vector<Sum> repeats = call.sums(1, "`repeats`");
  if (repeats.size() != x->shape().size())
    call.fail("repeats {} axes of {}", repeats.size(), to_string(x->type()));
  Shape split, wide, merged;
  for (size_t a = 0; a < repeats.size(); ++a) {
    const Dim count = call.graph().symbol_table().dim(repeats[a]), length = x->shape()[a];
    split.insert(split.end(), {Dim(1), length});
    wide.insert(wide.end(), {count, length});
    merged.push_back(count * length);
  }
  call.result(call.view(call.expand(call.view(x, split), wide), merged));
}

void eye_like(Call& call) {
  const Value* x = call.input(0);
  if (x->shape().size() != 2 || !is_static(x->shape()))
    call.fail("takes no {}", to_string(x->type()));
  const DType dtype = call.dtype("dtype", x->dtype());
  const int64_t diagonal = call.integer("k", 0);
  const int64_t rows = x->shape()[0].value(), columns = x->shape()[1].value();
  Tensor eye({dtype, x->shape()});
  for (int64_t i = 0; i < rows; ++i)
    if (i + diagonal >= 0 && i + diagonal < columns) eye.set(i * columns + i + diagonal, 1);
  call.result(call.constant(eye));
}

void same(Call& call) { call.result(call.input(0)); }

/// bfloat16 is computed in f32, after rounding.
Value* cast_to(const Call& call, Value* x, DType dtype) {
  if (dtype == DType::bf16) return call.convert(call.convert(x, DType::bf16), DType::f32);
  return call.convert(x, dtype);
}

void cast(Call& call) {
  if (!call.has("to")) call.fail("has no `to`");
  call.result(cast_to(call, call.input(0), call.dtype("to", DType::f32)));
}

void cast_like(Call& call) { call.result(call.convert(call.input(0), call.input(1)->dtype())); }

/// Inference: nothing is dropped.
void dropout(Call& call) {
  Value* x = call.input(0);
  if (const Tensor* training = call.has(2) ? call.constant_value(call.input(2)) : nullptr;
      call.has(2) && (training == nullptr || training->get_int(0) != 0)) {
    const Tensor* ratio = call.has(1) ? call.constant_value(call.input(1)) : nullptr;
    if (call.known(2, "`training_mode`").get_int(0) != 0 && (!ratio || ratio->get(0) != 0))
      call.fail("is in training mode; export the model for inference");
  }
  call.result(x);
  call.result(call.expand(call.scalar(DType::boolean, 1), x->shape()));
}

constexpr OpRule kRules[] = {
    {"Shape", shape},        {"Size", size},
    {"Constant", constant},  {"ConstantOfShape", constant_of_shape},
    {"Expand", expand},      {"Range", range},
    {"Tile", tile},          {"EyeLike", eye_like},
    {"Identity", same},      {"Cast", cast},
    {"CastLike", cast_like}, {"Dropout", dropout},
};

}  // namespace

std::span<const OpRule> shape_rules() { return kRules; }

}  // namespace layline::onnx
