// Diagonals, and the constants that are made of them.
#include "frontend/ops/diagonal.h"

#include "frontend/ops/reduction.h"
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

void diagonal(Call& call) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank();
  call.result(ops::diagonal(call, x, call.integer("offset", 0), call.axis("dim1", 0, rank),
                            call.axis("dim2", 1, rank)));
}

void trace(Call& call) {
  Value* d = ops::diagonal(call, call.tensor("self"), 0, 0, 1);
  d = call.convert(d, call.recorded().dtype);
  call.result(ops::reduce(call, Op::reduce_sum, d, {{0}}));
}

void diag_embed(Call& call) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank() + 1;
  if (call.axis("dim1", -2, rank) != rank - 2 || call.axis("dim2", -1, rank) != rank - 1)
    call.fail("is supported for the last two axes only");
  call.result(ops::on_diagonal(call, x, call.integer("offset", 0)));
}

void diag(Call& call) {
  Value* x = call.tensor("self");
  const int64_t offset = call.integer("diagonal", 0);
  call.result(x->type().rank() == 1 ? ops::on_diagonal(call, x, offset)
                                    : ops::diagonal(call, x, offset, 0, 1));
}

void eye(Call& call) { call.result(ops::eye(call, call.recorded())); }

template <bool upper>
void triangle_indices(Call& call) {
  const int64_t rows = call.integer("row"), columns = call.integer("col");
  call.result(ops::triangle_indices(call, call.recorded(),
                                    {rows, columns, call.integer("offset", 0), upper}));
}

constexpr OpRule kRules[] = {
    {"aten.diagonal.default", diagonal, Memory::shared},
    {"aten.diagonal_copy.default", diagonal},
    {"aten.trace.default", trace},
    {"aten.diag.default", diag},
    {"aten.diag_embed.default", diag_embed},
    {"aten.eye.default", eye},
    {"aten.eye.m", eye},
    {"aten.tril_indices.default", triangle_indices<false>},
    {"aten.triu_indices.default", triangle_indices<true>},
};

}  // namespace

std::span<const OpRule> diagonal_rules() { return kRules; }

}  // namespace layline::pt2
