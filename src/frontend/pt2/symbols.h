// Symbolic sizes of an exported program as Dims of the graph.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "algebra/symbols.h"
#include "frontend/pt2/exported_program.h"
#include "ir/builder.h"

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

  /// Says that the model reads the number from this tensor, which has one element. Numbers that are
  /// read are no sizes: `dim` and `sum` refuse them.
  void read_from(const SymInt& number, Value* tensor);
  /// Whether the number follows from one that the model reads from a tensor.
  bool reads_data(const SymInt& number) const;
  /// The number as a tensor, i64[], which the model computes from its sizes and from numbers that
  /// it reads.
  Value* value(const Builder& build, const SymInt& number);

 private:
  Sum sum(const Expr& expr);
  bool reads_data(const Expr& expr) const;
  Value* value(const Builder& build, const Expr& expr);
  Sum symbol(const std::string& name);

  SymbolTable& table_;
  const ExportedProgram& program_;
  std::map<std::string, SymbolId> ids_;
  std::map<std::string, Value*> read_;  // i64[]
};

}  // namespace layline::pt2
