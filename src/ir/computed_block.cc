#include "ir/computed_block.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace layline {

ComputedBlock::ComputedBlock(size_t bytes, std::vector<Part> parts, Compute compute)
    : size_(bytes), parts_(std::move(parts)), compute_(std::move(compute)) {
  for (const Part& part : parts_)
    LAYLINE_ASSERT(part.begin <= size_ && part.size <= size_ - part.begin,
                   "{} bytes at {} of a block of {}", part.size, part.begin, size_);
}

ComputedBlock::ComputedBlock(Part whole, Stream stream)
    : size_(whole.size),
      parts_{whole},
      stream_(std::move(stream)),
      compute_([this](std::span<std::byte> block) {
        stream_([&](std::span<const std::byte> piece) {
          std::ranges::copy(piece, block.begin());
          block = block.subspan(piece.size());
        });
      }) {
  LAYLINE_ASSERT(whole.begin == 0, "a part at {} is not the whole block", whole.begin);
}

ComputedBlock::Bytes ComputedBlock::read(size_t index) {
  const std::lock_guard lock(reading_);
  if (!block_) {
    auto block = std::make_shared_for_overwrite<std::byte[]>(size_);
    compute_({block.get(), size_});
    block_ = std::move(block);
    read_.assign(parts_.size(), false);
  }
  const Part& part = parts_[index];
  Bytes bytes{{block_.get() + part.begin, part.size}, block_};
  read_[index] = true;
  if (std::ranges::all_of(read_, std::identity{})) block_.reset();
  return bytes;
}

}  // namespace layline
