// A TOSA graph in plain terms: what is in the file, before it is written. TOSA 1.0 has one region
// with one block here, and operators name tensors by string.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sink.h"
#include "ir/constant.h"
#include "schema/tosa_generated.h"

namespace layline::tosa {

namespace fb = ::tosa;

struct NamedTensor {
  std::string name;
  fb::DType type = fb::DType::FP32;
  std::vector<int32_t> shape;
  /// The data of a CONST, row-major over `shape`.
  std::optional<Constant> data;
};

/// The result of a CONST_SHAPE: sizes, starts, pads.
struct ShapeTensor {
  std::string name;
  std::vector<int64_t> values;
};

struct Operator {
  /// Also says which operator it is: attribute k of the schema's union belongs to operator k.
  fb::AttributeUnion attribute;
  std::vector<std::string> inputs, outputs;

  fb::Op op() const { return static_cast<fb::Op>(attribute.type); }
};

struct Program {
  std::vector<Operator> operators;
  std::vector<NamedTensor> tensors;
  std::vector<ShapeTensor> shapes;
  std::vector<std::string> inputs, outputs;
};

/// Writes the flatbuffer. Throws UserError if it would exceed the 2 GB that the format addresses.
void write_program(const Program& program, ByteSink& sink);

}  // namespace layline::tosa
