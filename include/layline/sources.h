// Which lines of the model a program's work comes from:
//
//   const auto sources = layline::ProgramSources::read(bytes, "model.pte");
//   for (uint32_t handle : sources.operators(instruction, names_in_the_trace)) ...
//
// Link layline::layline. Errors are those of layline/error.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace layline {

/// A node of layline's final graph, and where in the model it comes from. The place in the model is
/// empty if the node comes from nowhere in particular.
struct SourcePlace {
  std::string value;   ///< its name in the text form, and in the report's graph
  std::string node;    ///< its name in the exported program
  std::string source;  ///< "model.py:12: x = self.conv(x)"
  std::string module;  ///< "features.3.conv"
};

/// What the debug handles of one method mean. Handles number the places from 1; 0 means none.
class ProgramSources {
 public:
  /// A program that layline did not compile, or compiled with `--strip`, has no places. `name`
  /// stands for the program in messages.
  static ProgramSources read(std::span<const std::byte> program, const std::string& name,
                             const std::string& method = "forward");

  const std::vector<SourcePlace>& places() const { return places_; }

  /// The handle of an instruction that calls a kernel.
  uint32_t kernel(size_t instruction) const;

  /// The handles of the operators that XNNPACK ran for an instruction that calls a delegate, by the
  /// names that the runtime gives them, in its order: "Convolution (NHWC, F32) IGEMM #1". XNNPACK
  /// fuses and drops nodes of its graph; what it runs is matched with the graph by kind and order.
  std::vector<uint32_t> operators(size_t instruction, const std::vector<std::string>& names) const;

 private:
  struct Node {
    int kind;
    uint32_t handle;
  };
  struct Instruction {
    uint32_t handle = 0;
    std::vector<Node> nodes;  // in the graph of the delegate that it calls, if any
  };

  std::vector<SourcePlace> places_;
  std::vector<Instruction> instructions_;
};

}  // namespace layline
