// Graphs in nodes: branches and loops. A program has no branches: they are decided, or both are
// computed. Loops of a few rounds are unrolled.
#include <algorithm>

#include "frontend/onnx/ops/loops.h"
#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/join.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"

namespace layline::onnx {
namespace {

constexpr int64_t kMostRounds = 1 << 12;

/// Whether a condition holds, if that follows from constants and sizes.
std::optional<bool> decided(const Call& call, const Value* condition) {
  const auto number = call.number_of(condition);
  if (!number || !number->is_number()) return std::nullopt;
  return number->constant() != 0;
}

/// A condition that is computed when the model runs, as a bool[].
Value* as_scalar(const Call& call, Value* condition) { return ops::view(call, condition, {}); }

/// Each value where the condition holds, and the other one where it does not. The types must agree.
std::vector<Value*> selected(const Call& call, Value* condition, const std::vector<Value*>& yes,
                             const std::vector<Value*>& no) {
  std::vector<Value*> result;
  for (size_t i = 0; i < yes.size(); ++i) {
    if (yes[i]->dtype() != no[i]->dtype() || yes[i]->shape() != no[i]->shape())
      call.fail(
          "its condition is known only when the model runs, and decides between {} and {}; if it "
          "follows from an input that is always the same, fix that: --fix NAME=VALUE",
          to_string(yes[i]->type()), to_string(no[i]->type()));
    result.push_back(call.add(Op::where, {condition, yes[i], no[i]}));
  }
  return result;
}

/// A branch whose condition is known only when the model runs: both are computed.
void branch(Call& call) {
  std::vector<Value*> results;
  if (const auto taken = decided(call, call.input(0))) {
    results = call.body(*taken ? "then_branch" : "else_branch", {});
  } else {
    const std::vector<Value*> yes = call.body("then_branch", {});
    const std::vector<Value*> no = call.body("else_branch", {});
    if (yes.size() != no.size())
      call.fail("its branches have {} and {} results", yes.size(), no.size());
    results = selected(call, as_scalar(call, call.input(0)), yes, no);
  }
  for (Value* value : results) call.result(value);
}

/// The values that scan outputs have in each round, put together along an axis.
Value* joined(const Call& call, const std::vector<Value*>& rounds, int64_t axis, bool backwards) {
  std::vector<Value*> parts = rounds;
  if (backwards) std::ranges::reverse(parts);
  return ops::stack(call, std::move(parts), axis);
}

/// Runs the body at most so often as the first input says, while the second holds. The body takes
/// the number of the round, the condition and what the round before left. It gives the condition,
/// what it leaves, and the scan outputs' elements.
void loop(Call& call) {
  const size_t carried = call.input_count() > 2 ? call.input_count() - 2 : 0;
  const Graph& body = call.body_of("body");
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1)
    call.fail("its body has {} inputs and {} outputs for {} values", body.inputs.size(),
              body.outputs.size(), carried);
  if (loop_in_program(call)) return;
  const bool counted = call.has(0);
  const int64_t count = counted ? call.integer_at(0, "the number of rounds") : 0;
  const size_t scanned = body.outputs.size() - carried - 1;
  std::vector<std::vector<Value*>> scans(scanned);
  std::vector<Value*> state;
  for (size_t i = 0; i < carried; ++i) state.push_back(call.input(i + 2));
  Value* condition = call.has(1) ? call.input(1) : call.scalar(DType::boolean, 1);
  Value* running = nullptr;  // a condition that is known only when the model runs

  for (int64_t round = 0; !counted || round < count; ++round) {
    const auto goes_on = decided(call, condition);
    if (goes_on == false) break;
    if (!goes_on) {
      if (!counted || scanned > 0) {
        if (round == 0) call.known(1, "the condition");  // this names the input to fix
        call.fail(
            "how often it runs is known only when the model runs, which is not supported; if it "
            "follows from a dynamic size, fix that: --dim NAME=SIZE; if from an input that is "
            "always the same, fix that: --fix NAME=VALUE");
      }
      Value* holds = as_scalar(call, condition);
      running = running ? call.add(Op::logical_and, {running, holds}) : holds;
    }
    if (round >= kMostRounds)
      call.fail("runs more than {} rounds, which are too many to unroll", kMostRounds);
    std::vector<Value*> inputs = {call.scalar(DType::i64, static_cast<double>(round)), condition};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const std::vector<Value*> outputs = call.body("body", std::move(inputs));
    condition = outputs[0];
    std::vector<Value*> next(outputs.begin() + 1,
                             outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    state = running ? selected(call, running, next, state) : next;
    for (size_t i = 0; i < scanned; ++i) scans[i].push_back(outputs[1 + carried + i]);
  }
  for (Value* value : state) call.result(value);
  for (const std::vector<Value*>& rounds : scans) {
    if (rounds.empty()) call.fail("runs no round, so that its scan outputs have no shape");
    call.result(joined(call, rounds, 0, false));
  }
}

/// Runs the body once for each element of the scan inputs.
Scanned scan(const Call& call, std::vector<Value*> state, const std::vector<Value*>& sequences,
             std::string_view directions) {
  std::vector<Track> tracks;
  for (size_t i = 0; i < sequences.size(); ++i)
    tracks.push_back(track(call, "scan_input_axes", directions, i, sequences[i]->type().rank()));
  if (const auto loop = scan_in_program(call, state, sequences, tracks)) return *loop;
  const int64_t steps = ops::static_length(call, sequences[0], tracks[0].axis);
  if (steps < 1 || steps > kMostRounds)
    call.fail("runs {} rounds; from 1 to {} can be unrolled", steps, kMostRounds);
  std::vector<std::vector<Value*>> outputs;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Value*> inputs = state;
    for (size_t i = 0; i < sequences.size(); ++i) {
      const int64_t length = ops::static_length(call, sequences[i], tracks[i].axis);
      if (length != steps) call.fail("scans {} and {} elements", steps, length);
      inputs.push_back(ops::select(call, sequences[i], tracks[i].axis,
                                   tracks[i].backwards ? steps - 1 - step : step));
    }
    const std::vector<Value*> results = call.body("body", std::move(inputs));
    if (results.size() < state.size()) call.fail("its body gives {} values", results.size());
    const auto end = results.begin() + std::ssize(state);
    state.assign(results.begin(), end);
    outputs.resize(static_cast<size_t>(results.end() - end));
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i].push_back(end[static_cast<std::ptrdiff_t>(i)]);
  }
  Scanned result{state, {}};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto [axis, backwards] = track(call, "scan_output_axes", "scan_output_directions", i,
                                         outputs[i][0]->type().rank() + 1);
    result.outputs.push_back(joined(call, outputs[i], axis, backwards));
  }
  return result;
}

/// Opset 8 has the lengths of the sequences as its first input, and scans each element of a batch.
void scan_batches(Call& call, size_t scanned) {
  if (call.has(0)) call.fail("has `sequence_lens`, which is not supported");
  const size_t states = call.input_count() - 1 - scanned;
  const int64_t batches = ops::static_length(call, call.input(1), 0);
  if (batches < 1) call.fail("has no batches");
  std::vector<std::vector<Value*>> results;
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<Value*> state, sequences;
    for (size_t i = 1; i < call.input_count(); ++i)
      (i <= states ? state : sequences).push_back(ops::select(call, call.input(i), 0, batch));
    auto [last, outputs] = scan(call, state, sequences, "directions");
    last.insert(last.end(), outputs.begin(), outputs.end());
    results.resize(last.size());
    for (size_t i = 0; i < last.size(); ++i) results[i].push_back(last[i]);
  }
  for (const std::vector<Value*>& values : results) call.result(joined(call, values, 0, false));
}

void scan(Call& call) {
  const int64_t given = call.integer("num_scan_inputs");
  const int64_t inputs = static_cast<int64_t>(call.input_count()) - (call.opset() < 9 ? 1 : 0);
  if (given < 1 || given > inputs) call.fail("scans {} of {} inputs", given, inputs);
  const auto scanned = static_cast<size_t>(given);
  if (call.opset() < 9) return scan_batches(call, scanned);
  const std::vector<Value*> all = call.inputs();
  const auto first = all.end() - static_cast<std::ptrdiff_t>(scanned);
  const auto [state, outputs] =
      scan(call, {all.begin(), first}, {first, all.end()}, "scan_input_directions");
  for (Value* value : state) call.result(value);
  for (Value* value : outputs) call.result(value);
}

constexpr OpRule kRules[] = {
    {"If", branch},
    {"Loop", loop},
    {"Scan", scan},
};

}  // namespace

std::span<const OpRule> control_rules() { return kRules; }

}  // namespace layline::onnx
