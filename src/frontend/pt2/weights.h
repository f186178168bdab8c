// A stored tensor of the archive as a constant of the graph, in place wherever it is dense.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/pt2/archive.h"
#include "ir/attributes.h"
#include "ir/constant.h"

namespace layline::pt2 {

/// The axes from the largest stride to the smallest, if the elements fill their range of the
/// storage without gap or overlap; unit axes keep their place at the front.
std::optional<std::vector<int>> dense_order(const Ints& sizes, const Ints& strides);

class StoredWeights {
 public:
  explicit StoredWeights(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}

  /// The stored tensor in the dtype of the graph. Tensors that share their bytes go on to do so.
  Constant constant(const Payload& payload);

 private:
  Constant computed(const Constant& data);

  std::shared_ptr<const MappedFile> file_;
  /// What was widened, by the place and the number of its bytes.
  std::map<std::pair<const std::byte*, size_t>, Constant> widened_;
};

}  // namespace layline::pt2
