// .npy files: what is read has as many bytes as its shape and type say.
#include "base/npy.h"

#include "base/checked.h"
#include "fuzz.h"

namespace layline::fuzz {

void run(std::span<const std::byte> bytes) {
  const NpyArray array = parse_npy(bytes, "fuzz.npy");
  const auto count = checked_product(array.shape);
  require(count.has_value(), "the shape fits");
  require(array.bytes.size() == static_cast<size_t>(*count) * npy_element_size(array.type),
          "there is a value for every element");
}

}  // namespace layline::fuzz
