// Symbolic sizes of an exported program as Dims of the graph.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "algebra/symbols.h"
#include "frontend/pt2/exported_program.h"
#include "ir/graph.h"

namespace layline::pt2 {

class Symbols {
 public:
  Symbols(layline::Graph& graph, const ExportedProgram& program)
      : table_(graph.symbol_table()), program_(program) {}

  /// A product of integers and symbols is that monomial; any other expression becomes a symbol of
  /// its own, the same one wherever an equal expression occurs.
  Dim dim(const SymInt& size);
  /// The size as a sum, which may be negative, such as an offset from the end.
  Sum sum(const SymInt& size);
  SymbolTable& table() { return table_; }

 private:
  Sum sum(const Expr& expr);
  Sum symbol(const std::string& name);

  SymbolTable& table_;
  const ExportedProgram& program_;
  std::map<std::string, SymbolId> ids_;
};

}  // namespace layline::pt2
