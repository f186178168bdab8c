#include <cstring>

#include "base/error.h"
#include "targets/tosa/program.h"

namespace layline::tosa {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <typename T>
using OffsetVector = Offset<flatbuffers::Vector<T>>;

constexpr size_t kDataAlignment = 8;

static_assert(static_cast<int>(fb::Op::ARGMAX) ==
                      static_cast<int>(fb::Attribute::ArgMaxAttribute) &&
                  static_cast<int>(fb::Op::CONST_SHAPE) ==
                      static_cast<int>(fb::Attribute::ConstShapeAttribute),
              "the union of attributes follows the operators");

OffsetVector<uint8_t> data_vector(FlatBufferBuilder& out, size_t bytes, auto&& fill) {
  out.ForceVectorAlignment(bytes, 1, kDataAlignment);
  uint8_t* start = nullptr;
  const auto vector = out.CreateUninitializedVector<uint8_t>(bytes, &start);
  fill(std::span(reinterpret_cast<std::byte*>(start), bytes));
  return vector;
}

Offset<fb::TosaTensor> write_tensor(FlatBufferBuilder& out, const NamedTensor& tensor) {
  OffsetVector<uint8_t> data = 0;
  if (tensor.data)
    data = data_vector(out, tensor.data->byte_count(),
                       [&](std::span<std::byte> bytes) { tensor.data->materialise(bytes); });
  const auto name = out.CreateString(tensor.name);
  const auto shape = out.CreateVector(tensor.shape);
  return fb::CreateTosaTensor(out, name, shape, tensor.type, data);
}

Offset<fb::TosaShape> write_shape(FlatBufferBuilder& out, const ShapeTensor& shape) {
  const size_t bytes = shape.values.size() * sizeof(int64_t);
  const auto data = data_vector(out, bytes, [&](std::span<std::byte> to) {
    if (bytes > 0) std::memcpy(to.data(), shape.values.data(), bytes);
  });
  const auto name = out.CreateString(shape.name);
  return fb::CreateTosaShape(out, name, static_cast<uint32_t>(shape.values.size()), data);
}

Offset<fb::TosaOperator> write_operator(FlatBufferBuilder& out, const Operator& op) {
  const auto attribute = op.attribute.Pack(out);
  const auto inputs = out.CreateVectorOfStrings(op.inputs);
  const auto outputs = out.CreateVectorOfStrings(op.outputs);
  return fb::CreateTosaOperator(out, op.op(), op.attribute.type, attribute, inputs, outputs);
}

template <typename T, typename Write>
auto write_all(FlatBufferBuilder& out, const std::vector<T>& items, Write write) {
  std::vector<decltype(write(out, items[0]))> offsets;
  for (const T& item : items) offsets.push_back(write(out, item));
  return out.CreateVector(offsets);
}

}  // namespace

void write_program(const Program& program, ByteSink& sink) {
  // Offsets of a flatbuffer have 31 bits; names and tables need little beside the data.
  constexpr size_t kMostBytes = size_t{2'000} << 20;
  size_t bytes = 0;
  for (const NamedTensor& tensor : program.tensors)
    bytes += tensor.data ? tensor.data->byte_count() : 0;
  if (bytes > kMostBytes)
    throw UserError("the weights take {} MB; a TOSA file holds at most {} MB", bytes >> 20,
                    kMostBytes >> 20);

  FlatBufferBuilder out(bytes + 4096 + 256 * program.operators.size());
  const auto tensors = write_all(out, program.tensors, write_tensor);
  const auto shapes = write_all(out, program.shapes, write_shape);
  const auto operators = write_all(out, program.operators, write_operator);
  const auto inputs = out.CreateVectorOfStrings(program.inputs);
  const auto outputs = out.CreateVectorOfStrings(program.outputs);
  const auto name = out.CreateString("main");
  const auto block =
      fb::CreateTosaBasicBlock(out, name, operators, tensors, inputs, outputs, shapes);
  const auto blocks = out.CreateVector(&block, 1);
  const auto region = fb::CreateTosaRegion(out, name, blocks);
  const auto regions = out.CreateVector(&region, 1);
  const auto version = fb::CreateVersion(out, 1, 0, 0, false);
  fb::FinishTosaGraphBuffer(out, fb::CreateTosaGraph(out, version, regions));
  sink.expect(out.GetSize());
  sink.write(std::as_bytes(std::span(out.GetBufferPointer(), out.GetSize())));
}

}  // namespace layline::tosa
