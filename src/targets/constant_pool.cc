#include "targets/constant_pool.h"

#include <memory>

#include "base/error.h"

namespace layline {

namespace {

// Smaller constants have a place inside and one outside: a segment of its own takes as much.
constexpr size_t kLeastShared = 4096;

}  // namespace

std::string ConstantPool::add(const Constant& data, const std::string& name) {
  const size_t hash = data.sample_hash();
  auto [first, last] = named_by_hash_.equal_range(hash);
  for (; first != last; ++first)
    if (named_[first->second].data.same_bytes(data)) return named_[first->second].key;
  std::string key = name;
  for (int i = 1; !keys_.insert(key).second; ++i) key = fmt::format("{}_{}", name, i);
  named_by_hash_.emplace(hash, named_.size());
  Entry entry{data, std::move(key)};
  if (data.byte_count() >= kLeastShared) entry.tensor = find_tensor(data, hash);
  if (!entry.tensor) byte_count_ += data.byte_count();
  named_.push_back(std::move(entry));
  return named_.back().key;
}

std::optional<uint32_t> ConstantPool::find_tensor(const Constant& data, size_t hash) const {
  auto [first, last] = tensors_by_hash_.equal_range(hash);
  for (; first != last; ++first)
    if (tensors_[first->second].same_bytes(data)) return first->second;
  return std::nullopt;
}

uint32_t ConstantPool::add_tensor(const Constant& data) {
  const size_t hash = data.sample_hash();
  if (const auto known = find_tensor(data, hash)) return *known;
  const auto index = static_cast<uint32_t>(tensors_.size());
  tensors_by_hash_.emplace(hash, index);
  tensors_.push_back(data);
  byte_count_ += data.byte_count();
  if (data.byte_count() < kLeastShared) return index;
  auto [first, last] = named_by_hash_.equal_range(hash);
  for (; first != last; ++first) {
    Entry& named = named_[first->second];
    if (!named.data.same_bytes(data)) continue;
    named.tensor = index;
    byte_count_ -= data.byte_count();
  }
  return index;
}

pte::DataSource data_source(const Constant& data) {
  return {data.byte_count(), [data](ByteSink& sink) {
            if (data.is_computed_in_pieces())
              return data.stream([&](std::span<const std::byte> piece) { sink.write(piece); });
            const auto loaded = std::make_shared<const Constant>(data.loaded());
            loaded->stream([&](std::span<const std::byte> piece) {
              // Where nothing is pending, the piece is what is stored.
              if (piece.data() == loaded->stored().data())
                sink.lend(piece, loaded);
              else
                sink.write(piece);
            });
          }};
}

void ConstantPool::write_to(pte::Program& program) && {
  for (const Constant& data : tensors_) program.add_constant(data_source(data));
  for (Entry& entry : named_) {
    if (entry.tensor)
      program.named_constants.push_back({std::move(entry.key), {*entry.tensor}});
    else
      program.named_data.push_back(
          {std::move(entry.key), program.add_blob(data_source(entry.data))});
  }
}

}  // namespace layline
