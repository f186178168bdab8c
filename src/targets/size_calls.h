// Sizes that are known only when a program runs, as the Int values of a method: read from the
// inputs by `sym_size` and computed by the runtime's prim ops.
#pragma once

#include <map>
#include <vector>

#include "algebra/symbols.h"
#include "pte/program.h"

namespace layline {

class SizeCalls {
 public:
  SizeCalls(pte::Method& method, const SymbolTable& symbols) : method_(method), symbols_(symbols) {}

  /// Declares that axis `axis` of the input tensor has this size.
  void declare(pte::ValueId input, int64_t axis, const Dim& size);
  /// Declares that the symbol `size` is this Int value.
  void declare(const Dim& size, pte::ValueId number) { known_.emplace(size.symbols()[0], number); }
  /// The Int value that the size has from here on in the method. Requires a symbolic size that
  /// follows from the declared ones.
  pte::ValueId value(const Dim& size);
  pte::ValueId value(const Sum& sum);
  /// The shape as an argument of a kernel.
  pte::IntList list(const Shape& shape);

  const SymbolTable& symbols() const { return symbols_; }

 private:
  struct Source {
    pte::ValueId input;
    int64_t axis;
    SymbolTable::Linear size;
  };

  pte::ValueId symbol(SymbolId id);
  pte::ValueId read(SymbolId id);
  pte::ValueId call(const char* op, pte::ValueId a, pte::ValueId b);
  pte::ValueId integer(int64_t number);

  pte::Method& method_;
  const SymbolTable& symbols_;
  std::map<SymbolId, Source> sources_;
  std::map<SymbolId, pte::ValueId> known_;
};

}  // namespace layline
