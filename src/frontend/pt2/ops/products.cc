// Products of vectors and matrices, and distances.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

Value* matmul(const Call& call, Value* a, Value* b) {
  return call.add(Op::matmul, {a, b}, MatmulAttrs{});
}

Value* times(const Call& call, Value* x, double factor) {
  return factor == 1 ? x : call.add(Op::mul, {x, call.scalar(x->dtype(), factor)});
}

/// beta * self + alpha * product.
void add_product(Call& call, Value* product) {
  product = times(call, product, call.number("alpha", 1));
  const double beta = call.number("beta", 1);
  if (beta == 0) return call.result(product);
  call.result(call.add(Op::add, {times(call, call.tensor("self"), beta), product}));
}

Value* as_column(const Call& call, Value* x) { return call.view(x, {x->shape()[0], 1}); }
Value* as_row(const Call& call, Value* x) { return call.view(x, {1, x->shape()[0]}); }

void addmv(Call& call) {
  Value* matrix = call.tensor("mat");
  Value* y = matmul(call, matrix, as_column(call, call.tensor("vec")));
  add_product(call, call.view(y, call.recorded().shape));
}

void addr(Call& call) {
  add_product(call, call.add(Op::mul, {as_column(call, call.tensor("vec1")),
                                       as_row(call, call.tensor("vec2"))}));
}

/// The sum of the products of all batches: rows of one longer product.
void addbmm(Call& call) {
  static constexpr std::array<int, 3> kRowsFirst = {1, 0, 2};
  Value* a = call.permute(call.tensor("batch1"), kRowsFirst);
  Value* b = call.tensor("batch2");
  const Dim inner = b->shape()[0] * b->shape()[1];
  a = call.view(a, {a->shape()[0], inner});
  b = call.view(b, {inner, b->shape()[2]});
  add_product(call, matmul(call, a, b));
}

void outer(Call& call) {
  const DType dtype = call.recorded().dtype;
  call.result(call.add(Op::mul, {as_column(call, call.convert(call.tensor("self"), dtype)),
                                 as_row(call, call.convert(call.tensor("vec2"), dtype))}));
}

/// Contracts axes of one tensor with axes of another.
void tensordot(Call& call) {
  Value* a = call.tensor("self");
  Value* b = call.tensor("other");
  const Ints left = call.ints("dims_self", {}), right = call.ints("dims_other", {});
  if (left.size() != right.size())
    call.fail("contracts {} axes with {}", left.size(), right.size());
  /// The free axes before, or after, the contracted ones.
  auto order_of = [&](const Value* x, const Ints& axes, bool free_first) {
    const int64_t rank = x->type().rank();
    std::vector<int> contracted, order;
    for (int64_t axis : axes) {
      if (axis < -rank || axis >= rank)
        call.fail("contracts axis {} of {}", axis, to_string(x->type()));
      contracted.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
    }
    for (int i = 0; i < rank; ++i)
      if (std::ranges::find(contracted, i) == contracted.end()) order.push_back(i);
    order.insert(free_first ? order.end() : order.begin(), contracted.begin(), contracted.end());
    if (order.size() != static_cast<size_t>(rank)) call.fail("contracts an axis twice");
    return order;
  };
  a = call.permute(a, order_of(a, left, true));
  b = call.permute(b, order_of(b, right, false));
  const std::span<const Dim> from(a->shape()), to(b->shape());
  const Dim rows = product(from.first(from.size() - left.size()));
  const Dim inner = product(to.first(right.size()));
  const Dim columns = product(to.subspan(right.size()));
  if (product(from.last(left.size())) != inner) call.fail("contracts axes of different lengths");
  a = call.view(a, {rows, inner});
  b = call.view(b, {inner, columns});
  Value* y = matmul(call, a, b);
  call.result(call.view(y, call.recorded().shape));
}

/// a_i b_j on two new axes, merged.
void kron(Call& call) {
  Value* a = call.tensor("self");
  Value* b = call.tensor("other");
  const size_t rank = std::max(a->shape().size(), b->shape().size());
  auto spread = [&](Value* x, bool outer_axes) {
    Shape shape(2 * rank, Dim(1));
    const size_t missing = rank - x->shape().size();
    for (size_t i = 0; i < x->shape().size(); ++i)
      shape[2 * (i + missing) + (outer_axes ? 0 : 1)] = x->shape()[i];
    return call.view(x, shape);
  };
  call.result(
      call.view(call.add(Op::mul, {spread(a, true), spread(b, false)}), call.recorded().shape));
}

void cross_product(Call& call) {
  Value* a = call.tensor("self");
  Value* b = call.tensor("other");
  const Shape shape = call.recorded().shape;
  const auto rank = static_cast<int64_t>(shape.size());
  int64_t axis = call.axis("dim", -1, rank);
  if (!call.has("dim") && call.node().target.find("linalg") == std::string::npos)
    axis = std::ranges::find(shape, Dim(3)) - shape.begin();
  if (axis >= rank || shape[static_cast<size_t>(axis)] != Dim(3))
    call.fail("takes axes of length 3");
  a = call.expand(a, shape);
  b = call.expand(b, shape);
  // a2 b3 - a3 b2, a3 b1 - a1 b3, a1 b2 - a2 b1.
  auto turned = [&](Value* x, int64_t by) {
    return call.add(Op::roll, {x}, RollAttrs{{axis}, {by}});
  };
  call.result(call.add(Op::sub, {call.add(Op::mul, {turned(a, -1), turned(b, 1)}),
                                 call.add(Op::mul, {turned(a, 1), turned(b, -1)})}));
}

Value* sum(const Call& call, Value* x, int64_t axis) {
  return call.add(Op::reduce_sum, {x}, AxesAttrs{{axis}});
}

/// Each norm is at least eps.
void cosine_similarity(Call& call) {
  const DType dtype = call.recorded().dtype;
  Value* a = call.convert(call.tensor("x1"), dtype);
  Value* b = call.convert(call.tensor("x2"), dtype);
  const auto shape = broadcast(a->shape(), b->shape());
  if (!shape) call.fail("compares {} with {}", to_string(a->type()), to_string(b->type()));
  a = call.expand(a, *shape);
  b = call.expand(b, *shape);
  const int64_t axis = call.axis("dim", 1, a->type().rank());
  const double eps = call.number("eps", 1e-8);
  auto norm = [&](Value* x) {
    Value* length = call.add(Op::sqrt, {sum(call, call.add(Op::square, {x}), axis)});
    return call.clamp(length, eps, std::numeric_limits<double>::infinity());
  };
  Value* product = sum(call, call.add(Op::mul, {a, b}), axis);
  Value* y = call.add(Op::div, {product, call.add(Op::mul, {norm(a), norm(b)})});
  call.result(call.view(y, call.recorded().shape));
}

/// The p-norm over the last axis.
Value* length(const Call& call, Value* x, double p) {
  const auto axis = static_cast<int64_t>(x->shape().size()) - 1;
  if (p == 2) return call.add(Op::sqrt, {sum(call, call.add(Op::square, {x}), axis)});
  Value* magnitude = call.add(Op::abs, {x});
  if (p == 1) return sum(call, magnitude, axis);
  if (std::isinf(p)) return call.add(Op::reduce_max, {magnitude}, AxesAttrs{{axis}});
  if (p <= 0) call.fail("has the norm {}", p);
  Value* powers = call.add(Op::pow, {magnitude, call.scalar(x->dtype(), p)});
  return call.add(Op::pow, {sum(call, powers, axis), call.scalar(x->dtype(), 1 / p)});
}

/// torch adds eps to every difference.
void pairwise_distance(Call& call) {
  Value* difference = call.add(Op::sub, {call.tensor("x1"), call.tensor("x2")});
  difference =
      call.add(Op::add, {difference, call.scalar(difference->dtype(), call.number("eps", 1e-6))});
  call.result(call.view(length(call, difference, call.number("p", 2)), call.recorded().shape));
}

/// Between every row of one and every row of the other.
void cdist(Call& call) {
  auto with_axis = [&](Value* x, int64_t before_end) {
    Shape shape = x->shape();
    shape.insert(shape.end() - before_end, Dim(1));
    return call.view(x, shape);
  };
  Value* difference =
      call.add(Op::sub, {with_axis(call.tensor("x1"), 1), with_axis(call.tensor("x2"), 2)});
  call.result(call.view(length(call, difference, call.number("p", 2)), call.recorded().shape));
}

/// y_o = a W_o b + bias_o.
void bilinear(Call& call) {
  Value* a = call.tensor("input1");
  Value* b = call.tensor("input2");
  Value* weight = call.tensor("weight");
  const Dim outputs = weight->shape()[0], left = weight->shape()[1], right = weight->shape()[2];
  const Dim rows = product(std::span(a->shape()).first(a->shape().size() - 1));
  // [rows, i] x [i, (o j)], then the sum over j with b.
  static constexpr std::array<int, 3> kInputsFirst = {1, 0, 2};
  Value* matrix = call.view(call.permute(weight, kInputsFirst), {left, outputs * right});
  Value* y = call.view(matmul(call, call.view(a, {rows, left}), matrix), {rows, outputs, right});
  y = matmul(call, y, call.view(b, {rows, right, 1}));
  y = call.view(y, call.recorded().shape);
  if (Value* bias = call.optional_tensor("bias")) y = call.add(Op::add, {y, bias});
  call.result(y);
}

void multi_dot(Call& call) {
  const std::vector<Value*> factors = call.tensors("tensors");
  Value* y = factors[0];
  if (y->type().rank() == 1) y = as_row(call, y);
  for (size_t i = 1; i < factors.size(); ++i)
    y = matmul(call, y, factors[i]->type().rank() == 1 ? as_column(call, factors[i]) : factors[i]);
  call.result(call.view(y, call.recorded().shape));
}

constexpr OpRule kRules[] = {
    {"aten.addmv.default", addmv},
    {"aten.addr.default", addr},
    {"aten.addbmm.default", addbmm},
    {"aten.outer.default", outer},
    {"aten.ger.default", outer},
    {"aten.tensordot.default", tensordot},
    {"aten.kron.default", kron},
    {"aten.cross.default", cross_product},
    {"aten.linalg_cross.default", cross_product},
    {"aten.cosine_similarity.default", cosine_similarity},
    {"aten.pairwise_distance.default", pairwise_distance},
    {"aten.cdist.default", cdist},
    {"aten._cdist_forward.default", cdist},
    {"aten.bilinear.default", bilinear},
    {"aten.linalg_multi_dot.default", multi_dot},
};

}  // namespace

std::span<const OpRule> product_rules() { return kRules; }

}  // namespace layline::pt2
