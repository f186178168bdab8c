// Two operands at a time become one matrix product.
#include "frontend/ops/einsum.h"

#include <algorithm>
#include <string>

#include "frontend/ops/diagonal.h"
#include "frontend/ops/shapes.h"

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

constexpr std::string_view kEllipsis = "...";
/// Axes that an ellipsis stands for are digits, the last axis 9: none is a letter of the model.
constexpr std::string_view kDigits = "0123456789";

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

void check_letters(const Builder& build, const std::string& letters) {
  for (char letter : letters)
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || is_digit(letter)))
      build.fail("`{}` in the equation is not supported, only letters", letter);
}

/// The letters with digits in place of an ellipsis, for a tensor with so many axes.
std::string spelled_out(const Builder& build, std::string letters, size_t rank) {
  for (const char letter : letters)
    if (is_digit(letter)) build.fail("`{}` in the equation is not supported, only letters", letter);
  const size_t place = letters.find(kEllipsis);
  if (place == std::string::npos) return letters;
  letters.erase(place, kEllipsis.size());
  if (rank < letters.size() || rank - letters.size() > kDigits.size())
    build.fail("an ellipsis does not fit {} axes", rank);
  return letters.insert(place, kDigits.substr(kDigits.size() - (rank - letters.size())));
}

/// Without an arrow, the result has the letters that occur once, in alphabetical order, behind
/// those of an ellipsis.
std::string implied_result(const std::vector<std::string>& operands) {
  std::string all, once;
  for (const std::string& letters : operands) all += letters;
  std::ranges::sort(all);
  std::ranges::copy_if(all, std::back_inserter(once), [&](char letter) {
    return !is_digit(letter) && std::ranges::count(all, letter) == 1;
  });
  std::string digits;
  for (const char digit : kDigits)
    if (all.find(digit) != std::string::npos) digits += digit;
  return digits + once;
}

Equation parse(const Builder& build, std::string text, const std::vector<Value*>& tensors) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  Equation equation;
  std::string_view rest = std::string_view(text).substr(0, arrow);
  for (;;) {
    const size_t comma = rest.find(',');
    const size_t i = equation.operands.size();
    const size_t rank = i < tensors.size() ? tensors[i]->shape().size() : 0;
    equation.operands.push_back(spelled_out(build, std::string(rest.substr(0, comma)), rank));
    check_letters(build, equation.operands.back());
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (arrow == std::string::npos) {
    equation.result = implied_result(equation.operands);
  } else {
    const std::string digits = implied_result(equation.operands);
    const auto count = static_cast<size_t>(std::ranges::count_if(digits, is_digit));
    std::string letters = text.substr(arrow + 2);
    const size_t others = letters.size() - (letters.find(kEllipsis) == std::string::npos ? 0 : 3);
    equation.result = spelled_out(build, std::move(letters), others + count);
  }
  check_letters(build, equation.result);
  std::string sorted = equation.result;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    build.fail("the result `{}` has a letter twice", equation.result);
  for (char letter : equation.result)
    if (std::ranges::none_of(equation.operands, [&](const std::string& letters) {
          return letters.find(letter) != std::string::npos;
        }))
      build.fail("no operand has the letter `{}` of the result", letter);
  return equation;
}

/// The term with each letter once: what has it twice is its diagonal.
Term with_diagonals(const Builder& build, Term term) {
  for (size_t a = 0; a < term.letters.size(); ++a) {
    const char letter = term.letters[a];
    const size_t b = term.letters.find(letter, a + 1);
    if (b == std::string::npos) continue;
    if (term.value->shape()[a] != term.value->shape()[b])
      build.fail("`{}` is {} and {} in one operand", letter, to_string(term.value->shape()[a]),
                 to_string(term.value->shape()[b]));
    term.value = diagonal(build, term.value, 0, static_cast<int64_t>(a), static_cast<int64_t>(b));
    term.letters.erase(b, 1);
    term.letters.erase(a, 1);
    term.letters += letter;
    a = static_cast<size_t>(-1);
  }
  return term;
}

/// The terms without axes of an ellipsis that have length 1 where another term's is longer.
void drop_broadcast_axes(const Builder& build, std::vector<Term>& terms) {
  for (Term& term : terms)
    for (const char digit : kDigits) {
      if (!term.has(digit) || !term.size(digit).is_one()) continue;
      if (std::ranges::none_of(terms, [&](const Term& other) {
            return other.has(digit) && !other.size(digit).is_one();
          }))
        continue;
      const size_t axis = term.letters.find(digit);
      term.value = without_axes(build, term.value, {static_cast<int64_t>(axis)});
      term.letters.erase(axis, 1);
    }
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
  const Equation equation = parse(build, std::string(text), operands);
  if (operands.size() != equation.operands.size())
    build.fail("the equation has {} operands, {} are given", equation.operands.size(),
               operands.size());
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->shape().size() != equation.operands[i].size())
      build.fail("`{}` does not fit {}", equation.operands[i], to_string(operands[i]->type()));
    terms.push_back(with_diagonals(build, {operands[i], equation.operands[i]}));
  }
  drop_broadcast_axes(build, terms);
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
