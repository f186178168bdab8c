#include "frontend/onnx/model.h"

#include "base/error.h"
#include "frontend/onnx/message.h"

namespace layline::onnx {
namespace {

/// Graphs in attributes of nodes in graphs ... A file that nests them deeper is hostile.
constexpr int kMostNested = 16;

TensorMessage read_tensor_message(std::string_view bytes) {
  TensorMessage tensor{{}, bytes};
  Message message(bytes);
  while (message.next(8)) tensor.name = message.bytes();
  return tensor;
}

std::string_view domain(std::string_view name) { return name == kDefaultDomain ? "" : name; }

Graph read_graph(Message message, int depth);

Attribute read_attribute(Message message, int depth) {
  Attribute attribute;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        attribute.name = message.bytes();
        break;
      case 2:
        attribute.number = message.number();
        break;
      case 3:
        attribute.integer = message.integer();
        break;
      case 4:
        attribute.string = message.bytes();
        break;
      case 5:
        attribute.tensor = read_tensor_message(message.bytes());
        break;
      case 6:
      case 11:
        attribute.graphs.push_back(read_graph(message.message(), depth + 1));
        break;
      case 7:
        message.floats([&](float value) { attribute.numbers.push_back(value); });
        break;
      case 8:
        message.integers([&](int64_t value) { attribute.integers.push_back(value); });
        break;
      case 9:
        attribute.strings.push_back(message.bytes());
        break;
      case 20:
        attribute.kind = static_cast<Attribute::Kind>(message.integer());
        break;
      case 21:
        attribute.refers_to = message.bytes();
        break;
      default:
        message.skip();
    }
  }
  return attribute;
}

Node read_node(Message message, int depth) {
  Node node;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        node.inputs.push_back(message.bytes());
        break;
      case 2:
        node.outputs.push_back(message.bytes());
        break;
      case 3:
        node.name = message.bytes();
        break;
      case 4:
        node.op = message.bytes();
        break;
      case 5:
        node.attributes.push_back(read_attribute(message.message(), depth));
        break;
      case 7:
        node.domain = domain(message.bytes());
        break;
      default:
        message.skip();
    }
  }
  return node;
}

Size read_size(Message message) {
  constexpr std::string_view kNoName = "?";  // as Paddle writes
  Size size;
  while (message.next()) {
    if (message.field() == 1)
      size.value = message.integer();
    else if (message.field() == 2)
      size.name = message.bytes();
    else
      message.skip();
  }
  if (size.name == kNoName) size.name = {};
  return size;
}

void read_tensor_type(Message message, ValueInfo& info) {
  info.is_tensor = true;
  while (message.next()) {
    if (message.field() == 1) {
      info.type = static_cast<ElementType>(message.integer());
    } else if (message.field() == 2) {
      info.has_shape = true;
      for (Message shape = message.message(); shape.next();)
        if (shape.field() == 1)
          info.shape.push_back(read_size(shape.message()));
        else
          shape.skip();
    } else {
      message.skip();
    }
  }
}

ValueInfo read_value_info(Message message) {
  ValueInfo info;
  while (message.next()) {
    if (message.field() == 1) {
      info.name = message.bytes();
    } else if (message.field() == 2) {
      for (Message type = message.message(); type.next();)
        if (type.field() == 1)
          read_tensor_type(type.message(), info);
        else
          type.skip();
    } else {
      message.skip();
    }
  }
  return info;
}

Graph read_graph(Message message, int depth) {
  if (depth > kMostNested) throw UserError("graphs are nested more than {} deep", kMostNested);
  Graph graph;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        graph.nodes.push_back(read_node(message.message(), depth));
        break;
      case 5:
        graph.initializers.push_back(read_tensor_message(message.bytes()));
        break;
      case 11:
        graph.inputs.push_back(read_value_info(message.message()));
        break;
      case 12:
        graph.outputs.push_back(read_value_info(message.message()));
        break;
      case 13:
        graph.values.push_back(read_value_info(message.message()));
        break;
      case 15:
        graph.has_sparse_initializers = true;
        message.skip();
        break;
      default:
        message.skip();
    }
  }
  return graph;
}

Opset read_opset(Message message) {
  Opset opset;
  while (message.next()) {
    if (message.field() == 1)
      opset.domain = domain(message.bytes());
    else if (message.field() == 2)
      opset.version = message.integer();
    else
      message.skip();
  }
  return opset;
}

Function read_function(Message message) {
  Function function;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        function.name = message.bytes();
        break;
      case 4:
        function.inputs.push_back(message.bytes());
        break;
      case 5:
        function.outputs.push_back(message.bytes());
        break;
      case 7:
        function.nodes.push_back(read_node(message.message(), 0));
        break;
      case 9:
        function.opsets.push_back(read_opset(message.message()));
        break;
      case 10:
        function.domain = domain(message.bytes());
        break;
      case 11:
        function.defaults.push_back(read_attribute(message.message(), 0));
        break;
      default:
        message.skip();
    }
  }
  return function;
}

Model read(Message message) {
  Model model;
  bool has_graph = false;
  while (message.next()) {
    switch (message.field()) {
      case 7:
        model.graph = read_graph(message.message(), 0);
        has_graph = true;
        break;
      case 8:
        model.opsets.push_back(read_opset(message.message()));
        break;
      case 25:
        model.functions.push_back(read_function(message.message()));
        break;
      default:
        message.skip();
    }
  }
  if (!has_graph) throw UserError("there is no graph in it");
  return model;
}

}  // namespace

bool is_model(std::string_view bytes) {
  // The first field is ir_version, a small number; what follows it is another field of a model.
  constexpr std::string_view kFields("\x12\x1a\x22\x28\x32\x3a\x42", 7);
  return bytes.size() > 3 && bytes[0] == '\x08' && bytes[1] > 0 && bytes[1] < 32 &&
         kFields.find(bytes[2]) != std::string_view::npos;
}

Model read_model(std::string_view bytes, std::string_view path) {
  try {
    return read(Message(bytes));
  } catch (const protozero::exception& error) {
    throw UserError("'{}' is not an ONNX model, or is damaged: {}", path, error.what());
  } catch (const UserError& error) {
    throw UserError("'{}' is not an ONNX model: {}", path, error.what());
  }
}

}  // namespace layline::onnx
