// Products of vectors and matrices, and distances.
#include "frontend/ops/products.h"

#include <algorithm>

#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"

namespace layline::pt2 {
namespace {

void linear(Call& call) {
  Value* x = call.tensor("input");
  Value* weight = call.tensor("weight");
  call.result(ops::linear(call, x, weight, call.optional_tensor("bias")));
}

Value* matmul(const Call& call, std::string_view left, std::string_view right) {
  Value* a = call.tensor(left);
  return ops::matmul(call, a, call.tensor(right));
}

void matmul_of(Call& call, std::string_view left, std::string_view right) {
  call.result(matmul(call, left, right));
}

/// alpha * product + beta * self.
void add_product(Call& call, Value* product, bool self_first) {
  call.result(ops::add_product(call, product, call.tensor("self"),
                               {call.number("alpha", 1), call.number("beta", 1), self_first}));
}

template <bool self_first>
void add_matmul(Call& call, std::string_view left, std::string_view right) {
  add_product(call, matmul(call, left, right), self_first);
}

void add_outer(Call& call) {
  Value* a = call.tensor("vec1");
  add_product(call, ops::outer(call, a, call.tensor("vec2")), true);
}

void add_sum_of_products(Call& call) {
  Value* a = call.tensor("batch1");
  add_product(call, ops::sum_of_products(call, a, call.tensor("batch2")), true);
}

void outer(Call& call) {
  Value* a = self_as_recorded(call);
  call.result(ops::outer(call, a, call.convert(call.tensor("vec2"), a->dtype())));
}

void tensordot(Call& call) {
  Value* a = call.tensor("self");
  Value* b = call.tensor("other");
  call.result(ops::tensordot(call, a, b, call.ints("dims_self", {}), call.ints("dims_other", {})));
}

/// Sums of products along the last axes; a tensor without axes scales the other.
void inner(Call& call) {
  Value* a = call.tensor("self");
  Value* b = call.tensor("other");
  if (a->shape().empty() || b->shape().empty()) return call.result(call.add(Op::mul, {a, b}));
  call.result(ops::tensordot(call, a, b, {a->type().rank() - 1}, {b->type().rank() - 1}));
}

void kron(Call& call) {
  Value* a = call.tensor("self");
  call.result(ops::kron(call, a, call.tensor("other")));
}

/// The product is along the axis given, or the last.
void linalg_cross(Call& call) {
  Value* a = call.tensor("self");
  Value* b = call.tensor("other");
  const auto rank = static_cast<int64_t>(call.recorded().shape.size());
  call.result(ops::cross_product(call, a, b, call.axis("dim", -1, rank)));
}

/// The product is along the axis given, or the first of length 3.
void cross(Call& call) {
  if (call.has("dim")) return linalg_cross(call);
  Value* a = call.tensor("self");
  Value* b = call.tensor("other");
  const Shape shape = call.recorded().shape;
  const int64_t axis = std::ranges::find(shape, Dim(3)) - shape.begin();
  call.result(ops::cross_product(call, a, b, axis));
}

void cosine_similarity(Call& call) {
  const DType dtype = call.recorded().dtype;
  Value* a = call.convert(call.tensor("x1"), dtype);
  Value* b = call.convert(call.tensor("x2"), dtype);
  const int64_t rank = std::max(a->type().rank(), b->type().rank());
  call.result(
      ops::cosine_similarity(call, a, b, call.axis("dim", 1, rank), call.number("eps", 1e-8)));
}

void pairwise_distance(Call& call) {
  Value* a = call.tensor("x1");
  Value* b = call.tensor("x2");
  call.result(ops::distance(call, a, b, call.number("p", 2), call.number("eps", 1e-6),
                            call.flag("keepdim", false)));
}

void cdist(Call& call) {
  Value* a = call.tensor("x1");
  call.result(ops::distances(call, a, call.tensor("x2"), call.number("p", 2)));
}

void bilinear(Call& call) {
  Value* a = call.tensor("input1");
  Value* b = call.tensor("input2");
  Value* weight = call.tensor("weight");
  call.result(ops::bilinear(call, a, b, weight, call.optional_tensor("bias")));
}

void multi_dot(Call& call) { call.result(ops::product_of_all(call, call.tensors("tensors"))); }

/// The op that transformers has for experts, where torch's own cannot be exported.
void grouped_mm_fallback(Call& call) {
  Value* x = call.tensor("input");
  Value* matrices = call.tensor("weight");
  call.result(ops::grouped_matmul(call, x, matrices, call.tensor("offs")));
}

void grouped_mm(Call& call) {
  if (call.has("bias")) call.fail("bias is not supported; add it to the result");
  Value* ends = call.optional_tensor("offs");
  if (ends == nullptr) return matmul_of(call, "self", "mat2");
  Value* x = call.tensor("self");
  call.result(ops::grouped_matmul(call, x, call.tensor("mat2"), ends));
}

constexpr OpRule kRules[] = {
    {"aten.linear.default", linear},
    {"aten.mm.default", [](Call& call) { matmul_of(call, "self", "mat2"); }},
    {"aten.bmm.default", [](Call& call) { matmul_of(call, "self", "mat2"); }},
    {"aten.mv.default", [](Call& call) { matmul_of(call, "self", "vec"); }},
    {"aten.dot.default", [](Call& call) { matmul_of(call, "self", "tensor"); }},
    {"aten.matmul.default", [](Call& call) { matmul_of(call, "self", "other"); }},
    {"aten.addmm.default", [](Call& call) { add_matmul<false>(call, "mat1", "mat2"); }},
    {"aten.baddbmm.default", [](Call& call) { add_matmul<false>(call, "batch1", "batch2"); }},
    {"aten.addmv.default", [](Call& call) { add_matmul<true>(call, "mat", "vec"); }},
    {"aten.addr.default", add_outer},
    {"aten.addbmm.default", add_sum_of_products},
    {"aten.outer.default", outer},
    {"aten.inner.default", inner},
    {"aten.tensordot.default", tensordot},
    {"aten.kron.default", kron},
    {"aten.cross.default", cross},
    {"aten.linalg_cross.default", linalg_cross},
    {"aten.cosine_similarity.default", cosine_similarity},
    {"aten.pairwise_distance.default", pairwise_distance},
    {"aten.cdist.default", cdist},
    {"aten._cdist_forward.default", cdist},
    {"aten.bilinear.default", bilinear},
    {"aten.linalg_multi_dot.default", multi_dot},
    {"aten._grouped_mm.default", grouped_mm},
    {"transformers.grouped_mm_fallback.default", grouped_mm_fallback},
};

}  // namespace

std::span<const OpRule> product_rules() { return kRules; }

}  // namespace layline::pt2
