// Reads programs and payloads back, with every offset checked by flatbuffers' verifier, so that
// tests can say what must be in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/program_generated.h"
#include "schema/xnnpack_generated.h"

namespace layline {

template <typename T>
T read_at(std::span<const std::byte> bytes, size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    throw std::out_of_range("read beyond the end");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

inline std::string text_at(std::span<const std::byte> bytes, size_t offset, size_t size) {
  const auto part = bytes.subspan(offset, size);
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

class PteReader {
 public:
  explicit PteReader(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    if (text_at(bytes_, 4, 8) != "ET12eh00") throw std::runtime_error("not a .pte");
    const auto program_size = read_at<uint64_t>(bytes_, 16);
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes_.data()), program_size);
    if (program_size > bytes_.size() || !executorch_flatbuffer::VerifyProgramBuffer(verifier))
      throw std::runtime_error("malformed program");
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  uint64_t program_size() const { return read_at<uint64_t>(bytes_, 16); }
  uint64_t segment_base() const { return read_at<uint64_t>(bytes_, 24); }
  uint64_t segment_data_size() const { return read_at<uint64_t>(bytes_, 32); }

  const executorch_flatbuffer::Program& program() const {
    return *executorch_flatbuffer::GetProgram(bytes_.data());
  }
  const executorch_flatbuffer::ExecutionPlan& plan(uint32_t index = 0) const {
    return *program().execution_plan()->Get(index);
  }

  std::span<const std::byte> segment(uint32_t index) const {
    const auto* segment = program().segments()->Get(index);
    return std::span(bytes_).subspan(segment_base() + segment->offset(), segment->size());
  }
  std::span<const std::byte> named_data(std::string_view key) const {
    for (const auto* data : *program().named_data())
      if (data->key()->string_view() == key) return segment(data->segment_index());
    throw std::out_of_range("no such named data");
  }

 private:
  std::vector<std::byte> bytes_;
};

class PayloadReader {
 public:
  explicit PayloadReader(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    if (text_at(bytes_, 4, 4) != "XH00") throw std::runtime_error("not an XNNPACK payload");
    const auto* start = reinterpret_cast<const uint8_t*>(bytes_.data()) + flatbuffer_offset();
    flatbuffers::Verifier verifier(start, flatbuffer_size());
    if (!fb_xnnpack::VerifyXNNGraphBuffer(verifier)) throw std::runtime_error("malformed graph");
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  uint32_t flatbuffer_offset() const { return read_at<uint32_t>(bytes_, 10); }
  uint32_t flatbuffer_size() const { return read_at<uint32_t>(bytes_, 14); }
  uint32_t constants_offset() const { return read_at<uint32_t>(bytes_, 18); }
  uint64_t constants_size() const { return read_at<uint64_t>(bytes_, 22); }

  const fb_xnnpack::XNNGraph& graph() const {
    return *fb_xnnpack::GetXNNGraph(bytes_.data() + flatbuffer_offset());
  }
  const fb_xnnpack::XNode& node(uint32_t index = 0) const { return *graph().xnodes()->Get(index); }
  const fb_xnnpack::XValue& value(uint32_t index) const { return *graph().xvalues()->Get(index); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace layline
