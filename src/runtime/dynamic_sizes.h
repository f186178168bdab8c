// The sizes of a program's inputs that are known only when it runs, as layline recorded them in it:
// which of them are equal or follow from each other, and how large they may be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algebra/symbols.h"
#include "pte/io_names.h"

namespace layline {

class DynamicSizes {
 public:
  DynamicSizes() = default;  // for a program that records none
  /// Reads the record. Throws UserError if it is damaged.
  explicit DynamicSizes(const pte::MethodIoNames& recorded);

  bool empty() const { return table_.all().empty(); }
  /// "[s1, 3] with s1 from 1 to 8"; empty for an input without dynamic sizes.
  std::string describe(size_t input) const;

  using Sizes = std::vector<int64_t>;
  /// Throws UserError unless sizes that must agree do, and all are in their range. `names` are the
  /// inputs'.
  void check(const std::vector<std::string>& names,
             const std::vector<std::optional<Sizes>>& given) const;
  /// The sizes of all inputs. Those that are not given follow from the others, and are the largest
  /// if nothing follows.
  std::vector<Sizes> complete(const std::vector<std::string>& names,
                              const std::vector<std::optional<Sizes>>& given) const;

 private:
  SymbolValues learn(const std::vector<std::optional<Sizes>>& given) const;

  SymbolTable table_;
  std::vector<Shape> shapes_;  // one for each input
};

}  // namespace layline
