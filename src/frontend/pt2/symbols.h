// Symbolic sizes of an exported program as Dims of the graph.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "algebra/dim.h"
#include "frontend/pt2/exported_program.h"
#include "ir/graph.h"

namespace layline::pt2 {

class Symbols {
 public:
  Symbols(layline::Graph& graph, const ExportedProgram& program)
      : graph_(graph), program_(program) {}

  /// A product of integers and symbols is that monomial; any other expression becomes a symbol of
  /// its own, the same one wherever the expression occurs.
  Dim dim(const SymInt& size);

 private:
  Dim dim(const Expr& expr);
  Dim symbol(const std::string& name);

  layline::Graph& graph_;
  const ExportedProgram& program_;
  std::map<std::string, SymbolId> ids_;
};

}  // namespace layline::pt2
