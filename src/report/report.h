// What a compilation did, as told to the user: the contract of `--report`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace layline {

class JsonWriter;

/// A core op that runs on a kernel of the runtime, outside every delegate.
struct PortableOp {
  std::string op;
  int64_t count = 0;
  std::string why;  // why the delegate could not take it
};

/// A permute that is left in the emitted program.
struct Survivor {
  std::string node;
  std::string shape;
  int64_t bytes = 0;
  std::vector<std::string> forced_by;  // the ops on both sides that fix the two orders
};

struct Permutes {
  int64_t source = 0;    // in the model as written
  int64_t implied = 0;   // around channels-first ops, whose core forms are channels-last
  int64_t absorbed = 0;  // done at compile time, in constant weights
  int64_t final = 0;     // data-moving ops in the emitted program
  int64_t bytes = 0;     // the bytes that these move
  std::vector<Survivor> survivors;
};

/// What moving data costs one method, by the profile, and what is proved about it. Costs compare by
/// time, and at equal time by the number of permutes.
struct PlacementProof {
  struct Price {
    double ms = 0;
    int64_t permutes = 0;
  };
  std::string method;
  bool proved = false;  // `cost` is `bound`
  Price cost;           // after the last placement
  Price bound;          // no choice of loop orders costs less
  Price before;         // `cost`, and what all placements saved
  Price written;        // in the program; passes after the last placement may add to it
};

struct Moves {
  int64_t count = 0;
  int64_t bytes = 0;
};

struct BoundaryTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;  // logical; dynamic sizes at their upper bounds
  std::vector<int> dim_order;
  std::string method = {};
  std::vector<std::string> symbolic_shape = {};  // "s1", "2*s1"; empty if nothing is dynamic
  /// Only for a tensor that the model has as real numbers and the program as integers.
  std::optional<double> scale = std::nullopt;
  std::optional<int64_t> zero_point = std::nullopt;
};

/// A size that is known when the program runs.
struct DynamicSize {
  std::string method;
  std::string symbol;   // as in symbolic_shape
  std::string name;     // in the model; empty if it follows from others
  std::string formula;  // the formula by which it follows
  int64_t min = 0, max = 0;
};

/// A buffer that the model changes and that keeps its value between runs.
struct StateTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;  // as it lies in memory
  int64_t bytes = 0;
  std::vector<std::string> methods;  // the methods that share it
};

/// A node that the accelerator cannot run.
struct CannotRun {
  std::string value;  // its name in the text form
  std::string node;   // what it is, and where in the model
  std::string why;
};

struct PassTime {
  std::string pass;
  double ms = 0;
};

struct Report {
  std::string version;
  std::string model;
  std::string target;
  std::string profile;                // what costs are by; empty if nothing was measured
  std::string accelerator;            // empty if none was asked for
  std::vector<CannotRun> cannot_run;  // empty for a program that was written
  std::vector<std::string> notes;     // what the user should know, whatever was asked for
  double compile_ms = 0;              // without report_ms
  double report_ms = 0;               // drawing graphs and telling where nodes run
  int64_t ops = 0;                    // core ops after the last pass, constants not counted
  int64_t delegates = 0;
  std::vector<PortableOp> portable_ops;
  Permutes permutes;
  std::vector<PlacementProof> placements;  // one for each method that was placed
  std::vector<BoundaryTensor> inputs, outputs;
  std::vector<DynamicSize> symbols;
  std::vector<StateTensor> states;
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound_bytes = 0;
  int64_t state_bytes = 0;
  int64_t constant_bytes = 0;
  Moves slices, concats, copies;
  std::vector<std::string> kernels;  // operators the program needs outside delegates
  std::vector<std::string> backends;
  std::vector<std::string> methods;
  std::vector<PassTime> passes;
};

/// Writes the report as members of the object that is open.
void write_members(JsonWriter& json, const Report& report);

}  // namespace layline
