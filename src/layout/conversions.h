// What it costs to have a value in several forms.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "layout/candidates.h"

namespace layline {

/// What it costs to convert between forms, for all values: networks repeat their blocks.
class ConversionCosts {
 public:
  explicit ConversionCosts(const MoveCosts& moves) : moves_(&moves) {}

  /// Of a value of this dtype, between forms that move differently.
  Cost between(const Relayout& from, const Relayout& to, DType dtype);

 private:
  struct Known {
    Relayout from, to;
    size_t element;  // its bytes
    Cost cost;
  };
  const MoveCosts* moves_;
  std::unordered_multimap<size_t, Known> known_;
};

/// The conversions between the forms of one value, each worked out when it is first asked for. The
/// value may get further forms.
class Conversions {
 public:
  Conversions(const PlacedValue& value, ConversionCosts& costs) : value_(&value), costs_(&costs) {}

  /// The cost of a value that is written in form `written` and read in all of `read`. Each movement
  /// is paid once, however many read it; further shapes of the same bytes are views.
  Cost cost(int written, std::vector<int> read);

  /// The cost of one conversion.
  Cost between(int from, int to) {
    return movement(from) == movement(to) ? Cost{} : convert(from, to);
  }

  /// Forms with the same movement have the same number.
  int movement(int form);
  /// Whether one of the forms moves like this one; and adds it if none does.
  bool contains(const std::vector<int>& forms, int form);
  void add(std::vector<int>& forms, int form) {
    if (!contains(forms, form)) forms.push_back(form);
  }

 private:
  Cost convert(int from, int to);

  const PlacedValue* value_;
  ConversionCosts* costs_;
  std::vector<int> movement_;  // of each form
  std::vector<int> first_;     // a form for each movement
  std::vector<std::vector<std::optional<Cost>>> between_;
};

}  // namespace layline
