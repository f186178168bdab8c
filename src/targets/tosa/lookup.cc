#include "targets/tosa/lookup.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/evaluate.h"
#include "ir/quantised_tensor.h"
#include "targets/tosa/rescale.h"

namespace layline::tosa {
namespace {

constexpr int64_t kShortTable = 256;

/// The real number of each integer of 8 bits.
layline::Tensor short_arguments(const Quantisation& own) {
  layline::Tensor reals({DType::f32, {Dim(kShortTable)}});
  for (int64_t i = 0; i < kShortTable; ++i)
    reals.set(i, static_cast<double>(own.real(integer_range(DType::i8).first + i)));
  return reals;
}

/// Evaluates a graph of elementwise ops for all arguments at once.
class Evaluation {
 public:
  explicit Evaluation(layline::Tensor arguments) : arguments_(std::move(arguments)) {}

  const Value* source() const { return source_; }

  /// What a value is for each argument; nothing if it depends on anything but one quantised value.
  const layline::Tensor* of(const Value* value) {
    if (auto found = known_.find(value); found != known_.end()) return &found->second;
    const Node* def = value->def();
    if (def == nullptr || ++nodes_ > kMostNodes) return nullptr;
    if (stored_constant(value) && !value->type().quantisation)
      return number(value, tensor_of(value));
    if (def->is(Op::dequantize)) return dequantized(value, def->operand(0));
    if (def->is(Op::relayout) && def->attrs<RelayoutAttrs>().relayout.is_view())
      return of(def->operand(0));
    if (!is_elementwise(def->op()) || is_quantised(*def)) return nullptr;
    std::vector<layline::Tensor> operands;
    for (const Value* operand : def->operands()) {
      const layline::Tensor* tensor = of(operand);
      if (tensor == nullptr) return nullptr;
      operands.push_back(*tensor);
    }
    return keep(value, evaluate_op(def->op(), operands, def->attributes()));
  }

 private:
  static constexpr int kMostNodes = 64;

  const layline::Tensor* keep(const Value* value, layline::Tensor tensor) {
    return &known_.emplace(value, std::move(tensor)).first->second;
  }

  /// A constant of one element is a number, whatever its axes.
  const layline::Tensor* number(const Value* value, const layline::Tensor& constant) {
    if (constant.count() != 1) return nullptr;
    return keep(value, layline::Tensor({constant.dtype(), {}},
                                       {constant.bytes().begin(), constant.bytes().end()}));
  }

  const layline::Tensor* dequantized(const Value* value, const Value* integers) {
    if (stored_constant(integers)) return number(value, real_tensor(tensor_of(integers)));
    if (!is_activation(integers) || (source_ && source_ != integers)) return nullptr;
    source_ = integers;
    return keep(value, arguments_);
  }

  layline::Tensor arguments_;
  const Value* source_ = nullptr;
  int nodes_ = 0;
  std::unordered_map<const Value*, layline::Tensor> known_;
};

const Node* past_views(const Value* value) {
  while (value->def() && value->def()->is(Op::relayout)) value = value->def()->operand(0);
  return value->def();
}

/// Lookup::root_product, if the function is 1/√x with nothing before or after the root; otherwise
/// 0.
double root_product(const Node& quantize, const Value* source) {
  const Node* root = past_views(quantize.operand(0));
  if (root == nullptr || !root->is(Op::rsqrt)) return 0;
  const Node* operand = past_views(root->operand(0));
  if (operand == nullptr || !operand->is(Op::dequantize)) return 0;
  const double unit = scale(quantize.result());
  return 1 / (scale(source) * unit * unit);
}

/// A function of one value, at arguments of 16 bits.
Lookup long_lookup(const Node& quantize, const Value* source) {
  const Quantisation& from = quantisation(source);
  const Quantisation& to = quantisation(quantize.result());
  const Curve curve = [&](const std::vector<double>& operands) {
    layline::Tensor reals({DType::f32, {Dim(static_cast<int64_t>(operands.size()))}});
    for (size_t i = 0; i < operands.size(); ++i)
      reals.set(static_cast<int64_t>(i), operands[i] * static_cast<double>(from.scale()));
    Evaluation evaluation(std::move(reals));
    const layline::Tensor results = *evaluation.of(quantize.operand(0));
    std::vector<double> values;
    for (int64_t i = 0; i < results.count(); ++i)
      values.push_back(results.get(i) / static_cast<double>(to.scale()));
    return values;
  };
  return {source, std::nullopt,
          long_tables(curve, static_cast<double>(to.min - to.zero_point()),
                      static_cast<double>(to.max - to.zero_point())),
          1, root_product(quantize, source)};
}

/// Whether the function is the number itself, at most in other shapes.
bool is_identity(const Value* value) {
  const Node* node = past_views(value);
  return node && node->is(Op::dequantize);
}

/// The one quantised value that a quantize is a function of, element by element; or null.
const Value* source_of(const Node& quantize) {
  layline::Tensor one({DType::f32, {1}});
  Evaluation evaluation(std::move(one));
  const layline::Tensor* result = evaluation.of(quantize.operand(0));
  return result && result->type().rank() == 1 ? evaluation.source() : nullptr;
}

}  // namespace

std::optional<Lookup> find_lookup(const Node& quantize) {
  if (!is_activation(quantize.result())) return std::nullopt;
  const Value* source = source_of(quantize);
  if (source == nullptr ||
      element_count(source->shape()) != element_count(quantize.result()->shape()))
    return std::nullopt;
  const Quantisation& own = quantisation(quantize.result());
  const bool wide = source->dtype() == DType::i16 || own.dtype == DType::i16;
  if (wide && is_identity(quantize.operand(0))) {
    const double factor = scale(source) / scale(quantize.result());
    if (!multiplier_of(factor)) return std::nullopt;
    return Lookup{source, std::nullopt, {}, factor};
  }
  if (source->dtype() == DType::i16) return long_lookup(quantize, source);
  if (own.dtype != DType::i8) return std::nullopt;
  Evaluation evaluation(short_arguments(quantisation(source)));
  const layline::Tensor table =
      quantised_tensor(*evaluation.of(quantize.operand(0)), quantize.result()->type().quantisation);
  return Lookup{source, Constant::of(table), {}, 1};
}

}  // namespace layline::tosa
