// The fields of a protobuf message, where it lies: https://protobuf.dev/programming-guides/encoding
//
// protozero reads fields as whatever the caller takes them for, and leaves the check to him. Here a
// field of another type is an error like any other of a damaged file: a protozero::exception.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace layline::onnx {

class Message {
 public:
  explicit Message(std::string_view bytes) : reader_(bytes.data(), bytes.size()) {}

  /// Goes to the next field, or to the next with this number; false if there is none.
  bool next() { return reader_.next(); }
  bool next(uint32_t field) { return reader_.next(field); }
  uint32_t field() const { return reader_.tag(); }
  void skip() { reader_.skip(); }

  // The field, which must be of the type asked for.
  std::string_view bytes() {
    expect(Type::length_delimited);
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  Message message() { return Message(bytes()); }
  int64_t integer() {
    expect(Type::varint);
    return reader_.get_int64();
  }
  float number() {
    expect(Type::fixed32);
    return reader_.get_float();
  }

  // One element of a repeated field, or several that are packed into it.
  template <typename Take>
  void integers(Take take) {
    if (!is_packed()) return take(integer());
    for (const int64_t value : reader_.get_packed_int64()) take(value);
  }
  template <typename Take>
  void floats(Take take) {
    if (!is_packed()) return take(number());
    for (const float value : reader_.get_packed_float()) take(value);
  }
  template <typename Take>
  void doubles(Take take) {
    if (is_packed()) {
      for (const double value : reader_.get_packed_double()) take(value);
      return;
    }
    expect(Type::fixed64);
    take(reader_.get_double());
  }

 private:
  using Type = protozero::pbf_wire_type;

  bool is_packed() const { return reader_.wire_type() == Type::length_delimited; }
  void expect(Type type) const {
    if (reader_.wire_type() != type) throw protozero::unknown_pbf_wire_type_exception();
  }

  protozero::pbf_reader reader_;
};

}  // namespace layline::onnx
