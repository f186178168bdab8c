#include "frontend/pt2/weights.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "frontend/pt2/call.h"
#include "ir/widened.h"

namespace layline::pt2 {
std::optional<std::vector<int>> dense_order(const Ints& sizes, const Ints& strides) {
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) {
    const auto x = static_cast<size_t>(a), y = static_cast<size_t>(b);
    if ((sizes[x] == 1) != (sizes[y] == 1)) return sizes[x] == 1;
    return sizes[x] != 1 && strides[x] > strides[y];
  });
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    if (sizes[axis] == 1) continue;
    if (strides[axis] != expected) return std::nullopt;
    expected *= sizes[axis];
  }
  return order;
}

namespace {

std::vector<std::byte> gather(std::span<const std::byte> storage, const Ints& sizes,
                              const Ints& strides, size_t element, size_t count) {
  std::vector<std::byte> out(count * element);
  Ints index(sizes.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    size_t position = 0;
    for (size_t a = 0; a < sizes.size(); ++a)
      position += static_cast<size_t>(index[a] * strides[a]);
    std::memcpy(&out[i * element], &storage[position * element], element);
    for (size_t a = sizes.size(); a-- > 0;) {
      if (++index[a] < sizes[a]) break;
      index[a] = 0;
    }
  }
  return out;
}

}  // namespace

Constant StoredWeights::constant(const Payload& payload) {
  const TensorMeta& meta = *payload.meta;
  const DType dtype = stored_dtype(meta.dtype);
  Ints sizes, strides;
  Shape shape;
  for (const SymInt& size : meta.sizes) {
    sizes.push_back(*size.value);
    shape.push_back(*size.value);
  }
  for (const SymInt& stride : meta.strides) strides.push_back(*stride.value);
  const size_t element = byte_size(dtype);
  const size_t bytes = byte_count({dtype, shape});
  if (bytes == 0) return Constant::owned(core_dtype(meta.dtype), shape, {});
  const auto storage =
      payload.storage.subspan(static_cast<size_t>(*meta.storage_offset.value) * element);

  const auto order = dense_order(sizes, strides);
  if (!order)
    return computed(
        Constant::owned(dtype, shape, gather(storage, sizes, strides, element, bytes / element)));
  Shape stored;
  for (int axis : *order) stored.push_back(shape[static_cast<size_t>(axis)]);
  std::vector<int> back(order->size());
  for (size_t i = 0; i < back.size(); ++i)
    back[static_cast<size_t>((*order)[i])] = static_cast<int>(i);
  return computed(Constant::view(dtype, stored, storage.first(bytes), file_))
      .relaid(Relayout::permute(stored, back));
}

Constant StoredWeights::computed(const Constant& data) {
  if (data.dtype() != DType::bf16) return data;
  const auto known = widened_.find({data.stored().data(), data.byte_count()});
  if (known != widened_.end())
    return known->second.relaid(Relayout::view(known->second.shape(), data.shape()));
  const Constant wide = widened(data);
  widened_.emplace(std::pair(data.stored().data(), data.byte_count()), wide);
  return wide;
}

}  // namespace layline::pt2
