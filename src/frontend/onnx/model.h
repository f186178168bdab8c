// An ONNX file as structures: https://github.com/onnx/onnx/blob/main/docs/IR.md
//
// The protobuf messages are read where they lie. Names and weights are views of the mapped file,
// which must outlive the structures.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace layline::onnx {

/// What TensorProto calls the types of elements. Those that are not listed are not supported.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
  kUint4 = 21,
  kInt4 = 22,
};

/// A stored tensor that has yet to be read: the bytes of its message (tensor.h).
struct TensorMessage {
  std::string_view name;
  std::string_view bytes;
};

struct Graph;

struct Attribute {
  enum class Kind : int32_t {
    kNone = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
    kTensors = 9,
    kGraphs = 10,
    kSparseTensor = 11,
    kSparseTensors = 12,
    kType = 13,
    kTypes = 14,
  };
  std::string_view name;
  Kind kind = Kind::kNone;
  float number = 0;
  int64_t integer = 0;
  std::string_view string;
  TensorMessage tensor;
  std::vector<Graph> graphs;  // one for kGraph
  std::vector<float> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string_view> strings;
  /// In the body of a function: the attribute of the function's call that this one stands for.
  std::string_view refers_to;
};

struct Node {
  std::string_view name;
  std::string_view domain;  // empty for "ai.onnx"
  std::string_view op;
  std::vector<std::string_view> inputs;  // an empty name is an input that is left out
  std::vector<std::string_view> outputs;
  std::vector<Attribute> attributes;
};

/// A size: a number, a name, or neither.
struct Size {
  std::optional<int64_t> value;
  std::string_view name;
};

/// The declared type of an input, an output or a value between.
struct ValueInfo {
  std::string_view name;
  bool is_tensor = false;  // otherwise a sequence, a map, or nothing is said
  ElementType type = ElementType::kUndefined;
  bool has_shape = false;
  std::vector<Size> shape;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<TensorMessage> initializers;
  std::vector<ValueInfo> inputs, outputs, values;
  bool has_sparse_initializers = false;
};

/// The version of a set of ops that the model uses.
struct Opset {
  std::string_view domain;
  int64_t version = 0;
};

/// An op that the model itself defines.
struct Function {
  std::string_view domain, name;
  std::vector<std::string_view> inputs, outputs;
  std::vector<Attribute> defaults;  // of attributes that a call may leave out
  std::vector<Node> nodes;
  std::vector<Opset> opsets;
};

struct Model {
  std::vector<Opset> opsets;
  std::vector<Function> functions;
  Graph graph;
};

/// Whether a file that begins with these bytes is probably an ONNX model.
bool is_model(std::string_view bytes);

/// Reads a model. Throws UserError, which names `path`, for bytes that are none.
Model read_model(std::string_view bytes, std::string_view path);

/// "ai.onnx" is the domain of ops that name none.
constexpr std::string_view kDefaultDomain = "ai.onnx";

}  // namespace layline::onnx
