// Two operands at a time become one matrix product.
#include "frontend/ops/einsum.h"

#include <algorithm>
#include <string>

namespace layline::ops {
namespace {

/// A tensor with a letter for each axis.
struct Term {
  Value* value;
  std::string letters;

  bool has(char letter) const { return letters.find(letter) != std::string::npos; }
  Dim size(char letter) const { return value->shape()[letters.find(letter)]; }
};

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

void check_letters(const Builder& build, const std::string& letters) {
  std::string sorted = letters;
  std::ranges::sort(sorted);
  for (char letter : letters)
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')))
      build.fail("`{}` in the equation is not supported, only letters", letter);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    build.fail("a letter twice in `{}` (a diagonal) is not supported", letters);
}

/// Without an arrow, the result has the letters that occur once, in alphabetical order.
std::string implied_result(const std::vector<std::string>& operands) {
  std::string all, once;
  for (const std::string& letters : operands) all += letters;
  std::ranges::sort(all);
  std::ranges::copy_if(all, std::back_inserter(once),
                       [&](char letter) { return std::ranges::count(all, letter) == 1; });
  return once;
}

Equation parse(const Builder& build, std::string text) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  Equation equation;
  std::string_view rest = std::string_view(text).substr(0, arrow);
  for (;;) {
    const size_t comma = rest.find(',');
    equation.operands.emplace_back(rest.substr(0, comma));
    check_letters(build, equation.operands.back());
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  equation.result =
      arrow == std::string::npos ? implied_result(equation.operands) : text.substr(arrow + 2);
  check_letters(build, equation.result);
  for (char letter : equation.result)
    if (std::ranges::none_of(equation.operands, [&](const std::string& letters) {
          return letters.find(letter) != std::string::npos;
        }))
      build.fail("no operand has the letter `{}` of the result", letter);
  return equation;
}

/// The term summed over the letters that are not in `kept`.
Term summed(const Builder& build, Term term, const std::string& kept) {
  Ints axes;
  Term result{term.value, ""};
  Shape shape;
  for (size_t a = 0; a < term.letters.size(); ++a) {
    if (kept.find(term.letters[a]) == std::string::npos) {
      axes.push_back(static_cast<int64_t>(a));
    } else {
      result.letters += term.letters[a];
      shape.push_back(term.value->shape()[a]);
    }
  }
  if (!axes.empty())
    result.value = build.view(build.add(Op::reduce_sum, {term.value}, AxesAttrs{axes}), shape);
  return result;
}

/// The tensor with its axes in the order of `letters`, which are the term's.
Value* ordered(const Builder& build, const Term& term, const std::string& letters) {
  std::vector<int> order;
  for (char letter : letters) order.push_back(static_cast<int>(term.letters.find(letter)));
  return build.permute(term.value, order);
}

Dim size_of(const Term& term, const std::string& letters) {
  Dim size = 1;
  for (char letter : letters) size = size * term.size(letter);
  return size;
}

/// The product of two terms, summed over the letters that are not in `kept`.
Term contracted(const Builder& build, Term a, Term b, const std::string& kept) {
  a = summed(build, a, kept + b.letters);
  b = summed(build, b, kept + a.letters);
  std::string batch, rows, columns, inner;
  for (char letter : a.letters) {
    if (!b.has(letter)) {
      rows += letter;
      continue;
    }
    if (a.size(letter) != b.size(letter))
      build.fail("`{}` is {} in one operand and {} in another", letter, to_string(a.size(letter)),
                 to_string(b.size(letter)));
    (kept.find(letter) == std::string::npos ? inner : batch) += letter;
  }
  for (char letter : b.letters)
    if (!a.has(letter)) columns += letter;

  const Dim batches = size_of(a, batch), k = size_of(a, inner);
  const Dim m = size_of(a, rows), n = size_of(b, columns);
  Value* left = build.view(ordered(build, a, batch + rows + inner), {batches, m, k});
  Value* right = build.view(ordered(build, b, batch + inner + columns), {batches, k, n});
  Value* product = build.add(Op::matmul, {left, right}, MatmulAttrs{});
  Shape shape;
  for (char letter : batch + rows) shape.push_back(a.size(letter));
  for (char letter : columns) shape.push_back(b.size(letter));
  return {build.view(product, shape), batch + rows + columns};
}

}  // namespace

Value* einsum(const Builder& build, std::string_view text, const std::vector<Value*>& operands) {
  const Equation equation = parse(build, std::string(text));
  if (operands.size() != equation.operands.size())
    build.fail("the equation has {} operands, {} are given", equation.operands.size(),
               operands.size());
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->shape().size() != equation.operands[i].size())
      build.fail("`{}` does not fit {}", equation.operands[i], to_string(operands[i]->type()));
    terms.push_back({operands[i], equation.operands[i]});
  }
  Term product = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string kept = equation.result;
    for (size_t later = i + 1; later < terms.size(); ++later) kept += terms[later].letters;
    product = contracted(build, product, terms[i], kept);
  }
  product = summed(build, product, equation.result);
  return ordered(build, product, equation.result);
}

}  // namespace layline::ops
