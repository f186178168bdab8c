// The constants of a program: each distinct one is written once, however many nodes use it, inside
// delegates or outside. So a table of embeddings is shared by a kernel that reads its rows and by
// the product that it is a weight of.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/constant.h"
#include "pte/program.h"

namespace layline {

class ConstantPool {
 public:
  /// The key of the constant's bytes, made from `name` for the first constant that has them.
  std::string add(const Constant& data, const std::string& name);
  /// Adds a constant for kernels outside delegates; returns its index in pte::Program::constants.
  uint32_t add_tensor(const Constant& data);

  uint64_t byte_count() const { return byte_count_; }
  /// Moves everything into the program.
  void write_to(pte::Program& program) &&;

 private:
  struct Entry {
    Constant data;
    std::string key;
    std::optional<uint32_t> tensor = {};  // the tensor that has the same bytes
  };
  std::optional<uint32_t> find_tensor(const Constant& data, size_t hash) const;

  std::vector<Entry> named_;
  std::unordered_multimap<size_t, size_t> named_by_hash_;
  std::unordered_set<std::string> keys_;
  std::vector<Constant> tensors_;
  std::unordered_multimap<size_t, uint32_t> tensors_by_hash_;
  uint64_t byte_count_ = 0;
};

/// A constant as data of a program.
pte::DataSource data_source(const Constant& data);

}  // namespace layline
