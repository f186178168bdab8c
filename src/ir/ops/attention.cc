#include <cmath>
#include <limits>

#include "base/error.h"
#include "ir/ops/checks.h"
#include "ir/ops/op_rules.h"
#include "ir/tensor.h"

namespace layline::rules {

/// q [batch, queries, heads, features], k and v [batch, keys, groups of heads, features].
TensorType infer_causal_attention(Types operands, const Attributes&, SymbolTable&) {
  const TensorType &q = operands[0], &k = operands[1], &v = operands[2], &start = operands[3];
  expect_float(q);
  expect_rank(q, 4, "queries");
  if (start != TensorType{DType::i64, {}})
    throw UserError("expected one place, an i64[], found {}", to_string(start));
  const bool fits = k.dtype == q.dtype && k.rank() == 4 && k == v && k.shape[0] == q.shape[0] &&
                    k.shape[3] == q.shape[3] && divide(q.shape[2], k.shape[2]).has_value();
  if (!fits)
    throw UserError(
        "expected keys and values with the queries' batch and features, and heads that "
        "divide theirs, found {}, {} and {}",
        to_string(q), to_string(k), to_string(v));
  return q;
}

/// Query i sees the keys 0 to start + i. Each group of heads has its own keys and values.
Tensor evaluate_causal_attention(Tensors operands, const Attributes&, const TensorType& result) {
  const Tensor &q = operands[0], &k = operands[1], &v = operands[2];
  const int64_t batches = q.dim(0), queries = q.dim(1), heads = q.dim(2), features = q.dim(3);
  const int64_t keys = k.dim(1), groups = k.dim(2), start = operands[3].get_int(0);
  if (start < 0 || start + queries > keys)
    throw UserError("places {} to {} are outside the {} keys", start, start + queries - 1, keys);
  Tensor out(result);
  const auto query_at = [&](int64_t b, int64_t i, int64_t h) {
    return ((b * queries + i) * heads + h) * features;
  };
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t h = 0; h < heads; ++h) {
        const auto key_at = [&](int64_t j) {
          return ((b * keys + j) * groups + h / (heads / groups)) * features;
        };
        std::vector<double> weights(static_cast<size_t>(start + i + 1));
        double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (size_t j = 0; j < weights.size(); ++j) {
          for (int64_t f = 0; f < features; ++f)
            weights[j] += q.get(query_at(b, i, h) + f) * k.get(key_at(static_cast<int64_t>(j)) + f);
          greatest = std::max(greatest, weights[j]);
        }
        for (double& weight : weights) sum += weight = std::exp(weight - greatest);
        for (int64_t f = 0; f < features; ++f) {
          double y = 0;
          for (size_t j = 0; j < weights.size(); ++j)
            y += weights[j] / sum * v.get(key_at(static_cast<int64_t>(j)) + f);
          out.set(query_at(b, i, h) + f, y);
        }
      }
  return out;
}

}  // namespace layline::rules
