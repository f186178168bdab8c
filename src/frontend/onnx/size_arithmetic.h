// What a tensor holds that follows from constants and sizes only.
//
// Models compute shapes with the same ops as anything else: Shape, Gather, Mul, Concat and then
// Reshape. Rules build core ops for all of these. When a rule needs numbers, it asks here what the
// core ops before it come to. Elements are sums over the graph's symbols, so that nothing has to
// be static.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace layline::onnx {

/// A sum over symbols, divided by a positive number: floats may hold a half of a size.
struct Fraction {
  Sum numerator;
  int64_t divisor = 1;
  bool operator==(const Fraction&) const = default;
};

/// A tensor of such numbers, row-major.
struct Numbers {
  std::vector<int64_t> dims;
  std::vector<Fraction> elements;
};

class SizeArithmetic {
 public:
  explicit SizeArithmetic(layline::Graph& graph) : graph_(graph) {}

  /// The tensor, if it follows from constants only.
  const Tensor* constant(const Value* value);
  /// The elements, if they follow from constants and sizes only.
  const Numbers* numbers(const Value* value);

 private:
  std::optional<Tensor> evaluate(const Value* value);
  std::optional<Numbers> compute(const Value* value);
  std::optional<Numbers> moved(const layline::Node& node);
  std::optional<Numbers> elementwise(const layline::Node& node);
  std::optional<Numbers> reduced(const layline::Node& node);
  std::optional<Fraction> combine(Op op, const Fraction& a, const Fraction& b);
  std::optional<Fraction> apply(const layline::Node& node, std::span<const Fraction> operands);
  std::optional<Fraction> round_down(const Fraction& x);

  layline::Graph& graph_;
  std::unordered_map<const Value*, std::optional<Tensor>> constants_;
  std::unordered_map<const Value*, std::optional<Numbers>> numbers_;
};

}  // namespace layline::onnx
