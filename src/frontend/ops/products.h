// Products of vectors and matrices, and distances.
#pragma once

#include <vector>

#include "ir/builder.h"

namespace layline::ops {

/// x W^T + b. x and the weight may be vectors; the bias may be null, or a single number.
Value* linear(const Builder& build, Value* x, Value* weight, Value* bias);
/// The product of batches of matrices. Vectors are matrices with one row (a) or one column (b).
Value* matmul(const Builder& build, Value* a, Value* b);
/// The product of all factors, in order; the first and the last may be vectors.
Value* product_of_all(const Builder& build, const std::vector<Value*>& factors);

/// alpha * product + beta * addend, or the two the other way round.
struct Scales {
  double alpha = 1, beta = 1;
  bool addend_first = false;
};
Value* add_product(const Builder& build, Value* product, Value* addend, Scales scales);
/// The sum of the products of all batches.
Value* sum_of_products(const Builder& build, Value* a, Value* b);
/// The product of each row of `x`, [rows, in], with the matrix of its group, of [groups, in, out].
/// Group i ends before row ends[i], where the next one begins. Rows after the last group give 0.
Value* grouped_matmul(const Builder& build, Value* x, Value* matrices, Value* ends);

/// The outer product a_i b_j of two vectors.
Value* outer(const Builder& build, Value* a, Value* b);
/// Contracts axis left[i] of one tensor with axis right[i] of another. Negative axes count from the
/// end; the free axes stay in order.
Value* tensordot(const Builder& build, Value* a, Value* b, const Ints& left, const Ints& right);
/// The Kronecker product: a_i b_j on two new axes, merged.
Value* kron(const Builder& build, Value* a, Value* b);
/// The cross product along an axis of length 3.
Value* cross_product(const Builder& build, Value* a, Value* b, int64_t axis);
/// y_o = a W_o b + bias_o; the bias may be null.
Value* bilinear(const Builder& build, Value* a, Value* b, Value* weight, Value* bias);

/// The cosine similarity along an axis, which is dropped; each norm is at least eps.
Value* cosine_similarity(const Builder& build, Value* a, Value* b, int64_t axis, double eps);
/// The p-norm of a - b along the last axis; eps is added to every difference.
Value* distance(const Builder& build, Value* a, Value* b, double p, double eps, bool keep);
/// The distances between every row of one and every row of the other.
Value* distances(const Builder& build, Value* a, Value* b, double p);

}  // namespace layline::ops
