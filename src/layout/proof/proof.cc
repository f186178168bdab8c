#include "layout/proof/proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/proof/derivation.h"
#include "layout/solve/disjoint_sets.h"

namespace layline {
namespace {

using proof::Price;
using proof::Problem;

/// The ops all of whose orders are known, in groups that are connected by values.
std::vector<std::vector<size_t>> parts(const Problem& problem) {
  DisjointSets sets(problem.ops.size());
  const auto is_known = [&](size_t op) { return problem.ops[op].has_all; };
  for (const proof::Value& value : problem.values) {
    std::optional<size_t> first;
    const auto join = [&](size_t op) {
      if (!is_known(op)) return;
      if (first) sets.join(op, *first);
      first = op;
    };
    if (value.producer) join(*value.producer);
    for (size_t reader : value.readers) join(reader);
  }
  std::vector<std::vector<size_t>> of_root(problem.ops.size());
  for (size_t op = 0; op < problem.ops.size(); ++op)
    if (is_known(op)) of_root[sets.find(op)].push_back(op);
  std::erase_if(of_root, [](const auto& part) { return part.empty(); });
  return of_root;
}

}  // namespace

std::string proof_of(const std::string& method, const Placement& placement,
                     const MoveCosts& moves) {
  const Problem problem = proof::describe(placement, moves);
  std::string text = fmt::format("method {}\n{}", method, proof::to_text(problem, moves));
  std::vector<bool> used(problem.values.size(), false);
  Price bound = 0;
  const auto add = [&](const std::vector<size_t>& ops, const std::vector<size_t>& values) {
    const proof::Derived part = proof::derive(problem, ops, values);
    bound += part.bound;
    if (part.bound > 0) text += part.steps;
  };
  for (const std::vector<size_t>& part : parts(problem)) {
    std::vector<size_t> values;
    const auto use = [&](size_t value) {
      const auto& producer = problem.values[value].producer;
      if (used[value] || (producer && !std::ranges::binary_search(part, *producer))) return;
      used[value] = true;
      values.push_back(value);
    };
    for (size_t op : part) {
      for (size_t value : problem.ops[op].operands) use(value);
      use(problem.ops[op].result);
    }
    add(part, values);
  }
  // What the graph is given and gives costs the same whatever is chosen.
  std::vector<size_t> apart;
  for (size_t v = 0; v < problem.values.size(); ++v)
    if (!used[v] && !problem.values[v].producer && !problem.values[v].outputs.empty())
      apart.push_back(v);
  add({}, apart);
  return text + fmt::format("bound {}\nend\n", proof::to_text(bound));
}

}  // namespace layline
