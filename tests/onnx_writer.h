// ONNX models for tests, written field by field: those that no tool would write, too.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace layline::onnx {

/// Types of elements, as TensorProto counts them.
enum WrittenType : int32_t {
  kFloats = 1,
  kBytes = 2,
  kInts = 7,
  kTexts = 8,
  kBools = 9,
  kHuge = 13
};

/// A size in a declared shape: a number, a name, or "" for neither.
struct WrittenSize {
  WrittenSize(int64_t number) : value(number), is_number(true) {}  // NOLINT
  WrittenSize(const char* text) : name(text), is_number(false) {}  // NOLINT
  int64_t value = 0;
  std::string name;
  bool is_number;
};

inline std::string value_info(const std::string& name, int32_t type,
                              const std::vector<WrittenSize>& sizes) {
  std::string shape, tensor, kind, info;
  for (const WrittenSize& size : sizes) {
    std::string dim;
    protozero::pbf_writer writer(dim);
    if (size.is_number) writer.add_int64(1, size.value);
    if (!size.name.empty()) writer.add_string(2, size.name);
    protozero::pbf_writer(shape).add_message(1, dim);
  }
  protozero::pbf_writer tensor_writer(tensor);
  tensor_writer.add_int32(1, type);
  tensor_writer.add_message(2, shape);
  protozero::pbf_writer(kind).add_message(1, tensor);
  protozero::pbf_writer info_writer(info);
  info_writer.add_string(1, name);
  info_writer.add_message(2, kind);
  return info;
}

inline std::string raw_tensor(const std::string& name, int32_t type,
                              const std::vector<int64_t>& dims, const std::string& bytes) {
  std::string tensor;
  protozero::pbf_writer writer(tensor);
  writer.add_packed_int64(1, dims.begin(), dims.end());
  writer.add_int32(2, type);
  writer.add_string(8, name);
  writer.add_string(9, bytes);
  return tensor;
}

template <typename T>
std::string bytes_of(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

inline std::string floats(const std::string& name, const std::vector<int64_t>& dims,
                          const std::vector<float>& numbers) {
  return raw_tensor(name, kFloats, dims, bytes_of(numbers));
}

inline std::string ints(const std::string& name, const std::vector<int64_t>& numbers) {
  return raw_tensor(name, kInts, {static_cast<int64_t>(numbers.size())}, bytes_of(numbers));
}

/// A tensor whose elements are in another file.
inline std::string external_floats(const std::string& name, const std::vector<int64_t>& dims,
                                   const std::string& location, const std::string& offset,
                                   const std::string& length) {
  std::string tensor;
  protozero::pbf_writer writer(tensor);
  writer.add_packed_int64(1, dims.begin(), dims.end());
  writer.add_int32(2, kFloats);
  writer.add_string(8, name);
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                   {"offset", offset},
                                   {"length", length}}) {
    if (value.empty()) continue;
    std::string entry;
    protozero::pbf_writer entry_writer(entry);
    entry_writer.add_string(1, key);
    entry_writer.add_string(2, value);
    writer.add_message(13, entry);
  }
  writer.add_int32(14, 1);
  return tensor;
}

// Attributes.
inline std::string integer(const std::string& name, int64_t value) {
  std::string attribute;
  protozero::pbf_writer writer(attribute);
  writer.add_string(1, name);
  writer.add_int64(3, value);
  writer.add_int32(20, 2);
  return attribute;
}

inline std::string integers(const std::string& name, const std::vector<int64_t>& values) {
  std::string attribute;
  protozero::pbf_writer writer(attribute);
  writer.add_string(1, name);
  for (const int64_t value : values) writer.add_int64(8, value);
  writer.add_int32(20, 7);
  return attribute;
}

inline std::string text(const std::string& name, const std::string& value) {
  std::string attribute;
  protozero::pbf_writer writer(attribute);
  writer.add_string(1, name);
  writer.add_string(4, value);
  writer.add_int32(20, 3);
  return attribute;
}

inline std::string body(const std::string& name, const std::string& graph) {
  std::string attribute;
  protozero::pbf_writer writer(attribute);
  writer.add_string(1, name);
  writer.add_message(6, graph);
  writer.add_int32(20, 5);
  return attribute;
}

/// An attribute of a function's body that stands for one of the call.
inline std::string reference(const std::string& name, const std::string& to, int32_t kind) {
  std::string attribute;
  protozero::pbf_writer writer(attribute);
  writer.add_string(1, name);
  writer.add_int32(20, kind);
  writer.add_string(21, to);
  return attribute;
}

struct WrittenNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes = {};
  std::string domain = {};
  std::string name = {};
};

inline std::string written(const WrittenNode& node) {
  std::string message;
  protozero::pbf_writer writer(message);
  for (const std::string& input : node.inputs) writer.add_string(1, input);
  for (const std::string& output : node.outputs) writer.add_string(2, output);
  if (!node.name.empty()) writer.add_string(3, node.name);
  writer.add_string(4, node.op);
  for (const std::string& attribute : node.attributes) writer.add_message(5, attribute);
  if (!node.domain.empty()) writer.add_string(7, node.domain);
  return message;
}

/// A graph, or the body of one.
struct WrittenGraph {
  std::vector<WrittenNode> nodes;
  std::vector<std::string> inputs, outputs;  // of value_info
  std::vector<std::string> tensors = {};
};

inline std::string written(const WrittenGraph& graph) {
  std::string message;
  protozero::pbf_writer writer(message);
  for (const WrittenNode& node : graph.nodes) writer.add_message(1, written(node));
  writer.add_string(2, "graph");
  for (const std::string& tensor : graph.tensors) writer.add_message(5, tensor);
  for (const std::string& input : graph.inputs) writer.add_message(11, input);
  for (const std::string& output : graph.outputs) writer.add_message(12, output);
  return message;
}

inline std::string opset(int64_t version, const std::string& domain = {}) {
  std::string message;
  protozero::pbf_writer writer(message);
  if (!domain.empty()) writer.add_string(1, domain);
  writer.add_int64(2, version);
  return message;
}

struct WrittenFunction {
  std::string domain, name;
  std::vector<std::string> inputs, outputs;
  std::vector<WrittenNode> nodes;
};

inline std::string written(const WrittenFunction& function) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_string(1, function.name);
  for (const std::string& input : function.inputs) writer.add_string(4, input);
  for (const std::string& output : function.outputs) writer.add_string(5, output);
  for (const WrittenNode& node : function.nodes) writer.add_message(7, written(node));
  writer.add_message(9, opset(17));
  writer.add_string(10, function.domain);
  return message;
}

/// The bytes of a model.
inline std::string model_of(const std::string& graph, int64_t version = 17,
                            const std::vector<WrittenFunction>& functions = {}) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_int64(1, 8);
  writer.add_message(7, graph);
  writer.add_message(8, opset(version));
  for (const WrittenFunction& function : functions) writer.add_message(25, written(function));
  return message;
}

/// The bytes as a file that the importer reads. They outlive it.
inline std::shared_ptr<const MappedFile> file_of(const std::string& bytes,
                                                 const std::string& name = "model.onnx") {
  return MappedFile::of_memory(std::as_bytes(std::span(bytes.data(), bytes.size())), name);
}

}  // namespace layline::onnx
