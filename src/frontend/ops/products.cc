#include "frontend/ops/products.h"

#include <algorithm>
#include <array>
#include <limits>

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/index.h"
#include "frontend/ops/reduction.h"
#include "frontend/ops/scatter.h"
#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

Value* core_matmul(const Builder& build, Value* a, Value* b) {
  return build.add(Op::matmul, {a, b}, MatmulAttrs{});
}

Value* as_column(const Builder& build, Value* x) {
  return build.view(x, {element_count(x->shape()), 1});
}

Value* as_row(const Builder& build, Value* x) {
  return build.view(x, {1, element_count(x->shape())});
}

bool is_vector(const Value* x) { return x->shape().size() == 1; }

/// [..., rows, columns] without the row that `left` was, and the column that `right` was.
Value* without_vectors(const Builder& build, Value* y, bool left, bool right) {
  Ints axes;
  if (left) axes.push_back(y->type().rank() - 2);
  if (right) axes.push_back(y->type().rank() - 1);
  return without_axes(build, y, axes);
}

void expect_rank(const Builder& build, const Value* x, size_t rank) {
  if (x->shape().size() != rank) build.fail("takes no {}", to_string(x->type()));
}

void expand_both(const Builder& build, Value*& a, Value*& b) {
  const auto shape = broadcast(a->shape(), b->shape());
  if (!shape) build.fail("compares {} with {}", to_string(a->type()), to_string(b->type()));
  a = build.expand(a, *shape);
  b = build.expand(b, *shape);
}

Value* length(const Builder& build, Value* x, double p, bool keep) {
  if (!(p > 0)) build.fail("has the norm {}", p);
  const Reduced last{{x->type().rank() - 1}, keep};
  return p == 2 ? euclidean_norm(build, x, last) : vector_norm(build, x, last, p);
}

/// The free axes before, or after, the contracted ones.
std::vector<int> contraction_order(const Builder& build, const Value* x, const Ints& axes,
                                   bool free_first) {
  const int64_t rank = x->type().rank();
  std::vector<int> contracted, order;
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank)
      build.fail("contracts axis {} of {}", axis, to_string(x->type()));
    contracted.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  for (int i = 0; i < rank; ++i)
    if (std::ranges::find(contracted, i) == contracted.end()) order.push_back(i);
  order.insert(free_first ? order.end() : order.begin(), contracted.begin(), contracted.end());
  if (order.size() != static_cast<size_t>(rank)) build.fail("contracts an axis twice");
  return order;
}

}  // namespace

Value* linear(const Builder& build, Value* x, Value* weight, Value* bias) {
  const bool left = is_vector(x), right = is_vector(weight);
  std::vector<Value*> operands = {x, right ? as_row(build, weight) : weight};
  if (bias != nullptr) operands.push_back(with_some_axis(build, bias));
  if (left) operands[0] = as_row(build, x);
  Value* y = build.add(Op::linear, std::move(operands), LinearAttrs{});
  return without_vectors(build, y, left, right);
}

Value* matmul(const Builder& build, Value* a, Value* b) {
  if (a->shape().empty() || b->shape().empty()) build.fail("takes no 0-d tensors");
  const bool left = is_vector(a), right = is_vector(b);
  if (left) a = as_row(build, a);
  if (right) b = as_column(build, b);
  return without_vectors(build, core_matmul(build, a, b), left, right);
}

Value* product_of_all(const Builder& build, const std::vector<Value*>& factors) {
  if (factors.empty()) build.fail("multiplies no tensors");
  const bool left = is_vector(factors.front());
  Value* y = left ? as_row(build, factors[0]) : factors[0];
  bool right = false;
  for (size_t i = 1; i < factors.size(); ++i) {
    right = is_vector(factors[i]);
    y = core_matmul(build, y, right ? as_column(build, factors[i]) : factors[i]);
  }
  return without_vectors(build, y, left, right);
}

Value* add_product(const Builder& build, Value* product, Value* addend, Scales scales) {
  product = times(build, product, scales.alpha);
  if (scales.beta == 0) return product;
  addend = times(build, addend, scales.beta);
  if (scales.addend_first) std::swap(product, addend);
  return build.add(Op::add, {product, addend});
}

Value* sum_of_products(const Builder& build, Value* a, Value* b) {
  expect_rank(build, a, 3);
  expect_rank(build, b, 3);
  // Batches are more rows of one longer product.
  static constexpr std::array<int, 3> kRowsFirst = {1, 0, 2};
  a = build.permute(a, kRowsFirst);
  const Dim inner = b->shape()[0] * b->shape()[1];
  a = view(build, a, {a->shape()[0], inner});
  b = view(build, b, {inner, b->shape()[2]});
  return core_matmul(build, a, b);
}

Value* grouped_matmul(const Builder& build, Value* x, Value* matrices, Value* ends) {
  expect_rank(build, x, 2);
  expect_rank(build, matrices, 3);
  const int64_t groups = static_length(build, matrices, 0);
  if (ends->shape() != Shape{groups})
    build.fail("has {} groups, whose ends are {}", groups, to_string(ends->type()));
  const Dim rows = x->shape()[0], columns = matrices->shape()[2];
  // A row is in the group whose number is that of the groups that have ended.
  Value* row = arange(build, {DType::i64, {rows, 1}}, 0, 1);
  Value* ended = build.add(Op::greater_equal, {row, build.convert(ends, DType::i64)});
  Value* group = reduce(build, Op::reduce_sum, build.convert(ended, DType::i64), {{1}, false});
  Value* member = build.convert(one_hot(build, group, groups), x->dtype());
  if (build.graph().symbol_table().greatest(rows) <= groups) {
    // Few rows: only the matrices that they need are read.
    Value* last = build.scalar(DType::i64, static_cast<double>(groups - 1));
    Value* own = gather(build, matrices, build.add(Op::minimum, {group, last}), 0);
    Value* y = build.view(core_matmul(build, with_axis(build, x, 1), own), {rows, columns});
    return build.add(Op::mul, {y, reduce(build, Op::reduce_sum, member, {{1}, true})});
  }
  // Every matrix is multiplied by all rows, of which those of other groups are 0.
  Value* sum = nullptr;
  for (int64_t i = 0; i < groups; ++i) {
    Value* matrix = without_axes(build, build.slice(matrices, 0, i, 1), {0});
    Value* own = build.add(Op::mul, {x, build.slice(member, 1, i, 1)});
    Value* y = core_matmul(build, own, matrix);
    sum = sum == nullptr ? y : build.add(Op::add, {sum, y});
  }
  return sum == nullptr ? filled(build, {x->dtype(), {rows, columns}}, 0) : sum;
}

Value* outer(const Builder& build, Value* a, Value* b) {
  return build.add(Op::mul, {as_column(build, a), as_row(build, b)});
}

Value* tensordot(const Builder& build, Value* a, Value* b, const Ints& left, const Ints& right) {
  if (left.size() != right.size())
    build.fail("contracts {} axes with {}", left.size(), right.size());
  a = build.permute(a, contraction_order(build, a, left, true));
  b = build.permute(b, contraction_order(build, b, right, false));
  const std::span<const Dim> from(a->shape()), to(b->shape());
  const auto free_a = from.first(from.size() - left.size()), free_b = to.subspan(right.size());
  const Dim inner = product(to.first(right.size()));
  if (product(from.last(left.size())) != inner) build.fail("contracts axes of different lengths");
  Shape result(free_a.begin(), free_a.end());
  result.insert(result.end(), free_b.begin(), free_b.end());
  const Dim rows = product(free_a), columns = product(free_b);
  a = build.view(a, {rows, inner});
  b = build.view(b, {inner, columns});
  return build.view(core_matmul(build, a, b), std::move(result));
}

Value* kron(const Builder& build, Value* a, Value* b) {
  const size_t rank = std::max(a->shape().size(), b->shape().size());
  Shape result(rank, Dim(1));
  auto spread = [&](Value* x, bool outer_axes) {
    Shape shape(2 * rank, Dim(1));
    const size_t missing = rank - x->shape().size();
    for (size_t i = 0; i < x->shape().size(); ++i) {
      shape[2 * (i + missing) + (outer_axes ? 0 : 1)] = x->shape()[i];
      result[i + missing] = result[i + missing] * x->shape()[i];
    }
    return build.view(x, shape);
  };
  Value* products = build.add(Op::mul, {spread(a, true), spread(b, false)});
  return build.view(products, result);
}

Value* cross_product(const Builder& build, Value* a, Value* b, int64_t axis) {
  expand_both(build, a, b);
  if (axis >= a->type().rank() || a->shape()[static_cast<size_t>(axis)] != Dim(3))
    build.fail("takes axes of length 3");
  // a2 b3 - a3 b2, a3 b1 - a1 b3, a1 b2 - a2 b1.
  auto turned = [&](Value* x, int64_t by) {
    return build.add(Op::roll, {x}, RollAttrs{{axis}, {by}});
  };
  return build.add(Op::sub, {build.add(Op::mul, {turned(a, -1), turned(b, 1)}),
                             build.add(Op::mul, {turned(a, 1), turned(b, -1)})});
}

Value* bilinear(const Builder& build, Value* a, Value* b, Value* weight, Value* bias) {
  expect_rank(build, weight, 3);
  if (a->shape().empty()) build.fail("takes no {}", to_string(a->type()));
  const Dim outputs = weight->shape()[0], left = weight->shape()[1], right = weight->shape()[2];
  Shape result = a->shape();
  result.back() = outputs;
  const Dim rows = product(std::span(a->shape()).first(a->shape().size() - 1));
  // [rows, i] x [i, (o j)], then the sum over j with b.
  static constexpr std::array<int, 3> kInputsFirst = {1, 0, 2};
  Value* matrix = build.view(build.permute(weight, kInputsFirst), {left, outputs * right});
  Value* y = core_matmul(build, view(build, a, {rows, left}), matrix);
  y = build.view(y, {rows, outputs, right});
  y = core_matmul(build, y, view(build, b, {rows, right, 1}));
  y = build.view(y, std::move(result));
  return bias == nullptr ? y : build.add(Op::add, {y, bias});
}

Value* cosine_similarity(const Builder& build, Value* a, Value* b, int64_t axis, double eps) {
  expand_both(build, a, b);
  auto norm = [&](Value* x) {
    return build.clamp(euclidean_norm(build, x, {{axis}, true}), eps,
                       std::numeric_limits<double>::infinity());
  };
  Value* product = reduce(build, Op::reduce_sum, build.add(Op::mul, {a, b}), {{axis}, true});
  Value* y = build.add(Op::div, {product, build.add(Op::mul, {norm(a), norm(b)})});
  return without_axes(build, y, {axis});
}

Value* distance(const Builder& build, Value* a, Value* b, double p, double eps, bool keep) {
  Value* difference = build.add(Op::sub, {a, b});
  difference = build.add(Op::add, {difference, build.scalar(difference->dtype(), eps)});
  return length(build, difference, p, keep);
}

Value* distances(const Builder& build, Value* a, Value* b, double p) {
  for (const Value* x : {a, b})
    if (x->shape().size() < 2) build.fail("takes no {}", to_string(x->type()));
  Value* difference = build.add(Op::sub, {with_axis(build, a, a->type().rank() - 1),
                                          with_axis(build, b, b->type().rank() - 2)});
  return length(build, difference, p, false);
}

}  // namespace layline::ops
