// The programs that `layline tune` times, each of one node of the runtime or a chain of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layout/cost.h"

namespace layline::tune {

/// A program, and the cost model's prediction for its node; null if there is no model.
struct Case {
  std::string name;
  std::vector<std::byte> program;
  std::function<int64_t(const MoveCosts&)> predict_ps = nullptr;
  double measured_ps = 0;
};

constexpr int64_t kRunTestBytes = 256 * 1024;  // source and result fit the second-level cache

/// A program that moves kRunTestBytes in runs.
struct RunCase {
  int64_t bytes;  // in one run
  Case of;
};

/// A node that reads integers, and the quantisation before it. The runtime has such nodes only for
/// quantised numbers.
struct IntegerCase {
  Case of;
  Case quantising;
};

struct MoveCases {
  std::vector<Case> transposes;
  std::vector<IntegerCase> byte_transposes;
  std::vector<RunCase> permutes, slices, concats;
  std::vector<Case> checks;  // not fitted
};

MoveCases move_cases();

/// A chain of nodes that have next to nothing to do, in a delegate or on kernels of their own.
Case chain(int64_t nodes, bool delegate);

/// A convolution that keeps the size of its image.
struct Convolution {
  const char* kind;
  int64_t side, channels, width, outputs, groups;

  Shape weight_shape() const { return {outputs, width, width, channels / groups}; }
  double inputs() const { return static_cast<double>(side * side * channels); }
  double products() const {
    return static_cast<double>(side * side * width * width) *
           static_cast<double>(outputs * channels / groups);
  }
};

Case convolution(const Convolution& of);
/// A convolution of 8-bit integers.
IntegerCase integer_convolution(const Convolution& of);
/// A product of two matrices [size,size] that are both computed.
Case matmul(int64_t size);
/// A softmax over the last axis.
Case softmax(int64_t rows, int64_t columns);
Case layer_norm(int64_t rows, int64_t columns);

}  // namespace layline::tune
