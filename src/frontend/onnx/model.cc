#include "frontend/onnx/model.h"

#include <protozero/pbf_reader.hpp>

#include "base/error.h"

namespace layline::onnx {
namespace {

using protozero::pbf_reader;

/// Graphs in attributes of nodes in graphs ... A file that nests them deeper is hostile.
constexpr int kMostNested = 16;

std::string_view view(const protozero::data_view& data) { return {data.data(), data.size()}; }

// Integers may stand alone or packed into one field.
constexpr auto kPacked = protozero::pbf_wire_type::length_delimited;

void read_integers(pbf_reader& field, std::vector<int64_t>& into) {
  if (field.wire_type() != kPacked) {
    into.push_back(field.get_int64());
    return;
  }
  for (const int64_t value : field.get_packed_int64()) into.push_back(value);
}

void read_floats(pbf_reader& field, std::vector<float>& into) {
  if (field.wire_type() != kPacked) {
    into.push_back(field.get_float());
    return;
  }
  for (const float value : field.get_packed_float()) into.push_back(value);
}

TensorMessage read_tensor_message(pbf_reader& field) {
  TensorMessage tensor;
  tensor.bytes = view(field.get_view());
  pbf_reader message(tensor.bytes.data(), tensor.bytes.size());
  while (message.next(8)) tensor.name = view(message.get_view());
  return tensor;
}

std::string_view domain(std::string_view name) { return name == kDefaultDomain ? "" : name; }

Graph read_graph(pbf_reader message, int depth);

Attribute read_attribute(pbf_reader message, int depth) {
  Attribute attribute;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        attribute.name = view(message.get_view());
        break;
      case 2:
        attribute.number = message.get_float();
        break;
      case 3:
        attribute.integer = message.get_int64();
        break;
      case 4:
        attribute.string = view(message.get_view());
        break;
      case 5:
        attribute.tensor = read_tensor_message(message);
        break;
      case 6:
      case 11:
        attribute.graphs.push_back(read_graph(message.get_message(), depth + 1));
        break;
      case 7:
        read_floats(message, attribute.numbers);
        break;
      case 8:
        read_integers(message, attribute.integers);
        break;
      case 9:
        attribute.strings.push_back(view(message.get_view()));
        break;
      case 20:
        attribute.kind = static_cast<Attribute::Kind>(message.get_int32());
        break;
      case 21:
        attribute.refers_to = view(message.get_view());
        break;
      default:
        message.skip();
    }
  }
  return attribute;
}

Node read_node(pbf_reader message, int depth) {
  Node node;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        node.inputs.push_back(view(message.get_view()));
        break;
      case 2:
        node.outputs.push_back(view(message.get_view()));
        break;
      case 3:
        node.name = view(message.get_view());
        break;
      case 4:
        node.op = view(message.get_view());
        break;
      case 5:
        node.attributes.push_back(read_attribute(message.get_message(), depth));
        break;
      case 7:
        node.domain = domain(view(message.get_view()));
        break;
      default:
        message.skip();
    }
  }
  return node;
}

Size read_size(pbf_reader message) {
  constexpr std::string_view kNoName = "?";  // as Paddle writes
  Size size;
  while (message.next()) {
    if (message.tag() == 1)
      size.value = message.get_int64();
    else if (message.tag() == 2)
      size.name = view(message.get_view());
    else
      message.skip();
  }
  if (size.name == kNoName) size.name = {};
  return size;
}

void read_tensor_type(pbf_reader message, ValueInfo& info) {
  info.is_tensor = true;
  while (message.next()) {
    if (message.tag() == 1) {
      info.type = static_cast<ElementType>(message.get_int32());
    } else if (message.tag() == 2) {
      info.has_shape = true;
      for (pbf_reader shape = message.get_message(); shape.next();)
        if (shape.tag() == 1)
          info.shape.push_back(read_size(shape.get_message()));
        else
          shape.skip();
    } else {
      message.skip();
    }
  }
}

ValueInfo read_value_info(pbf_reader message) {
  ValueInfo info;
  while (message.next()) {
    if (message.tag() == 1) {
      info.name = view(message.get_view());
    } else if (message.tag() == 2) {
      for (pbf_reader type = message.get_message(); type.next();)
        if (type.tag() == 1)
          read_tensor_type(type.get_message(), info);
        else
          type.skip();
    } else {
      message.skip();
    }
  }
  return info;
}

Graph read_graph(pbf_reader message, int depth) {
  if (depth > kMostNested) throw UserError("graphs are nested more than {} deep", kMostNested);
  Graph graph;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        graph.nodes.push_back(read_node(message.get_message(), depth));
        break;
      case 5:
        graph.initializers.push_back(read_tensor_message(message));
        break;
      case 11:
        graph.inputs.push_back(read_value_info(message.get_message()));
        break;
      case 12:
        graph.outputs.push_back(read_value_info(message.get_message()));
        break;
      case 13:
        graph.values.push_back(read_value_info(message.get_message()));
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

Opset read_opset(pbf_reader message) {
  Opset opset;
  while (message.next()) {
    if (message.tag() == 1)
      opset.domain = domain(view(message.get_view()));
    else if (message.tag() == 2)
      opset.version = message.get_int64();
    else
      message.skip();
  }
  return opset;
}

Function read_function(pbf_reader message) {
  Function function;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        function.name = view(message.get_view());
        break;
      case 4:
        function.inputs.push_back(view(message.get_view()));
        break;
      case 5:
        function.outputs.push_back(view(message.get_view()));
        break;
      case 7:
        function.nodes.push_back(read_node(message.get_message(), 0));
        break;
      case 9:
        function.opsets.push_back(read_opset(message.get_message()));
        break;
      case 10:
        function.domain = domain(view(message.get_view()));
        break;
      case 11:
        function.defaults.push_back(read_attribute(message.get_message(), 0));
        break;
      default:
        message.skip();
    }
  }
  return function;
}

Model read(pbf_reader message) {
  Model model;
  bool has_graph = false;
  while (message.next()) {
    switch (message.tag()) {
      case 7:
        model.graph = read_graph(message.get_message(), 0);
        has_graph = true;
        break;
      case 8:
        model.opsets.push_back(read_opset(message.get_message()));
        break;
      case 25:
        model.functions.push_back(read_function(message.get_message()));
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
    return read(pbf_reader(bytes.data(), bytes.size()));
  } catch (const protozero::exception& error) {
    throw UserError("'{}' is not an ONNX model, or is damaged: {}", path, error.what());
  } catch (const UserError& error) {
    throw UserError("'{}' is not an ONNX model: {}", path, error.what());
  }
}

}  // namespace layline::onnx
