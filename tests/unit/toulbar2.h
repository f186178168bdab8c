// A placement problem as a cost function network, and toulbar2, the reference solver for those, as
// the judge of placement. Nothing of layout/solve is used: costs are those of composed relayouts.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "layout/placement_problem.h"

namespace layline::toulbar2 {

/// Time first, permutes at equal time, as one number.
constexpr int64_t kPermutes = 1 << 12;
inline int64_t packed(const Cost& cost) { return cost.time_ps * kPermutes + cost.permutes; }

/// The variables are the orders of the ops and, for each value and each movement in which it may be
/// read, whether a copy is kept. Who writes the value pays for the copies; who reads it forbids
/// that there is none.
class Network {
 public:
  Network(const PlacementProblem& problem, const MoveCosts& moves, int64_t top)
      : problem_(problem), moves_(moves), top_(top) {
    for (const PlacedNode& node : problem.nodes) {
      Function own{{domain_.size()}, {}};
      domain_.push_back(node.orders.size());
      for (OrderIndex order : node.orders.indices())
        if (const int64_t cost = clipped(node.costs[order]))
          own.tuples.push_back({{order.number()}, cost});
      add(std::move(own));
    }
    for (ValueIndex v : problem.values.indices()) add_value(v);
  }

  /// In the format that toulbar2 calls wcsp.
  std::string text() const {
    std::string result = fmt::format("placement {} {} {} {}\n{}\n", domain_.size(),
                                     *std::ranges::max_element(domain_), functions_.size(), top_,
                                     fmt::join(domain_, " "));
    for (const Function& function : functions_) {
      result += fmt::format("{} {} 0 {}\n", function.scope.size(), fmt::join(function.scope, " "),
                            function.tuples.size());
      for (const auto& [choice, cost] : function.tuples)
        result += fmt::format("{} {}\n", fmt::join(choice, " "), cost);
    }
    return result;
  }

 private:
  /// A cost for some choices of a few variables, and nothing for the others.
  struct Function {
    std::vector<size_t> scope;
    std::vector<std::pair<std::vector<size_t>, int64_t>> tuples;
  };

  void add(Function function) {
    if (!function.tuples.empty()) functions_.push_back(std::move(function));
  }

  int64_t clipped(const Cost& cost) const {
    return cost.time_ps >= top_ / kPermutes + 1 ? top_ : std::min(packed(cost), top_);
  }

  Cost conversion(const PlacedValue& value, const Relayout& from, const Relayout& to) const {
    if (from.moves_like(to)) return {};
    const DType dtype = value.root->dtype();
    const Relayout back = from.inverse();
    if (const auto both = back.then(to)) return move_cost(moves_, *both, dtype);
    return move_cost(moves_, back, dtype) + move_cost(moves_, to, dtype);
  }

  void add_value(ValueIndex v) {
    const PlacedValue& value = problem_.values[v];
    std::vector<const Relayout*> movements;
    const auto movement = [&](FormIndex form) {
      const Relayout& relayout = value.forms[form];
      for (size_t m = 0; m < movements.size(); ++m)
        if (movements[m]->moves_like(relayout)) return m;
      movements.push_back(&relayout);
      return movements.size() - 1;
    };
    // For each movement, the ops that read it in some of their orders; none for outputs.
    std::map<size_t, std::map<std::optional<NodeIndex>, std::vector<size_t>>> read;
    for (const PlacedValue::Reader& reader : value.readers) {
      if (!reader.node) {
        read[movement(problem_.outputs[reader.operand]->form)][{}] = {};
        continue;
      }
      const PlacedNode& node = problem_.nodes[*reader.node];
      for (OrderIndex order : node.orders.indices())
        read[movement(*node.reads[order][reader.operand])][reader.node].push_back(order.number());
    }
    for (const auto& [m, readers] : read) {
      const size_t kept = domain_.size();
      domain_.push_back(2);
      Function pays{{kept}, {}};
      if (value.producer) {
        pays.scope.insert(pays.scope.begin(), value.producer->number());
        const PlacedNode& writer = problem_.nodes[*value.producer];
        for (OrderIndex order : writer.orders.indices())
          if (const int64_t cost =
                  clipped(conversion(value, value.forms[writer.writes[order]], *movements[m])))
            pays.tuples.push_back({{order.number(), 1}, cost});
      } else if (const int64_t cost =
                     clipped(conversion(value, value.forms[kOwnForm], *movements[m]))) {
        pays.tuples.push_back({{1}, cost});
      }
      add(std::move(pays));
      for (const auto& [node, orders] : readers) {
        Function needs{{kept}, {}};
        if (!node) {
          needs.tuples.push_back({{0}, top_});
        } else {
          needs.scope.insert(needs.scope.begin(), node->number());
          for (size_t order : orders)
            if (needs.tuples.empty() || needs.tuples.back().first[0] != order)
              needs.tuples.push_back({{order, 0}, top_});
        }
        add(std::move(needs));
      }
    }
  }

  const PlacementProblem& problem_;
  const MoveCosts& moves_;
  const int64_t top_;
  std::vector<size_t> domain_;
  std::vector<Function> functions_;
};

/// The processor time of this process, or of those that it has started and that have ended.
inline double processor_seconds(int of) {
  rusage usage{};
  getrusage(of, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// What the cheapest choice costs. Nullopt if that is not known in time, or nothing is below the
/// top.
inline std::optional<int64_t> optimum(const std::string& network, int most_seconds) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("layline-{}.wcsp", getpid());
  std::ofstream(file) << network;
  const std::string command =
      fmt::format("toulbar2 {} -timer={} 2>&1", file.string(), most_seconds);
  std::optional<int64_t> found;
  FILE* pipe = popen(command.c_str(), "r");
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    long long number = 0;
    if (std::sscanf(line, "Optimum: %lld", &number) == 1) found = number;
  }
  pclose(pipe);
  std::filesystem::remove(file);
  return found;
}

/// Whether the command is there; scripts/setup installs it.
inline bool is_installed() { return std::system("toulbar2 --help >/dev/null 2>&1") != 127 << 8; }

}  // namespace layline::toulbar2
