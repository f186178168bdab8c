#include "frontend/onnx/ops/loops.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/loop.h"
#include "frontend/ops/view.h"

namespace layline::onnx {
namespace {

constexpr int64_t kNoLimit = int64_t{1} << 31;  // models give such numbers for none

/// What becomes of a value that the model's loop carries.
struct Fate {
  bool is_same = false;                 // in every round
  std::optional<ops::Loop::Line> line;  // it counts
};

/// Appends, for each comparison in a condition, how many rounds follow the first until it fails.
/// Gives false where that is not known.
bool find_limits(const Call& call, const ops::Loop& loop, const Value* condition,
                 std::vector<Sum>& limits) {
  if (const auto holds = call.number_of(condition)) {
    if (*holds == Sum()) limits.push_back(Sum());
    return true;
  }
  const layline::Node* node = condition->def();
  if (node == nullptr) return false;
  const auto below = [&](int a, int b, int64_t more) {
    const auto counts = loop.line(node->operand(a));
    const auto end = call.number_of(node->operand(b));
    if (!counts || counts->step != 1 || !end) return false;
    limits.push_back(*end + Sum::number(more - counts->first));
    return true;
  };
  switch (node->op()) {
    case Op::relayout:
    case Op::convert:
      return find_limits(call, loop, node->operand(0), limits);
    case Op::logical_and:
      return find_limits(call, loop, node->operand(0), limits) &&
             find_limits(call, loop, node->operand(1), limits);
    case Op::less:
      return below(0, 1, 0);
    case Op::less_equal:
      return below(0, 1, 1);
    case Op::greater:
      return below(1, 0, 0);
    case Op::greater_equal:
      return below(1, 0, 1);
    default:
      return false;
  }
}

/// How many rounds there are, if that follows from constants and sizes; `condition` is what the
/// body gives. The first condition holds.
std::optional<Dim> rounds(const Call& call, const ops::Loop& loop, const Value* condition) {
  SymbolTable& symbols = call.graph().symbol_table();
  std::vector<Sum> limits;
  if (!find_limits(call, loop, condition, limits)) return std::nullopt;
  for (Sum& limit : limits) limit = symbols.maximum({limit, Sum()}) + Sum::number(1);
  if (call.has(0)) {
    const auto most = call.number_of(call.input(0));
    if (!most) return std::nullopt;
    if (!most->is_number() || most->constant() < kNoLimit) limits.push_back(*most);
  }
  if (limits.empty()) return std::nullopt;
  const Sum count = limits.size() == 1 ? limits[0] : symbols.minimum(limits);
  if (symbols.range(count).min < 1) return std::nullopt;
  return symbols.dim(count);
}

/// What the body of a Loop gives: its condition, what it leaves, and its scan outputs' elements.
std::vector<Value*> import_round(const Call& call, ops::Loop& loop, const std::vector<Fate>& fates,
                                 std::vector<Value*>& given) {
  given = {loop.count({DType::i64, {}}, 0, 1), call.scalar(DType::boolean, 1)};
  for (size_t i = 0; i < fates.size(); ++i) {
    Value* initial = call.input(i + 2);
    if (fates[i].is_same)
      given.push_back(initial);
    else if (fates[i].line)
      given.push_back(loop.count(initial->type(), fates[i].line->first, fates[i].line->step));
    else
      given.push_back(loop.carried(initial));
  }
  return call.body("body", given);
}

/// Whether the body leaves what it is given under this number.
bool is_passed_on(const Graph& body, size_t carried) {
  std::string_view name = body.outputs[carried + 1].name;
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node)
    if (node->op == "Identity" && node->inputs.size() == 1 && node->outputs.size() == 1 &&
        node->outputs[0] == name)
      name = node->inputs[0];
  return name == body.inputs[carried + 2].name;
}

/// The line that a value is to which each round adds the same integer; `trial` has one round.
std::optional<ops::Loop::Line> counted(const Call& call, const ops::Loop& trial,
                                       const Value* initial, const Value* before,
                                       const Value* after) {
  const Tensor* first = call.constant_value(initial);
  const layline::Node* node = after->def();
  if (!first || first->count() != 1 || is_float(first->dtype()) ||
      !ops::can_count(first->dtype()) || !node || !node->is(Op::add) ||
      after->type() != before->type())
    return std::nullopt;
  for (const int side : {0, 1})
    if (const auto step = trial.line(node->operand(1 - side));
        node->operand(side) == before && step && step->step == 0)
      return ops::Loop::Line{first->get_int(0), step->first};
  return std::nullopt;
}

/// Forgets the permutes of what is imported to look at it, and then imported again.
class Uncounted {
 public:
  explicit Uncounted(const Call& call) : permutes_(call.permutes()), before_(permutes_) {}
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;
  ~Uncounted() {
    if (!kept_) permutes_ = before_;
  }
  void keep() { kept_ = true; }

 private:
  int64_t& permutes_;
  int64_t before_;
  bool kept_ = false;
};

/// Looks at one round to see which values count.
std::vector<Fate> fates_of(const Call& call, size_t carried) {
  const Uncounted uncounted(call);
  std::vector<Fate> fates(carried);
  for (size_t i = 0; i < carried; ++i) fates[i].is_same = is_passed_on(call.body_of("body"), i);
  ops::Loop trial(call, call.placeholders());
  std::vector<Value*> given;
  const std::vector<Value*> outputs = import_round(call, trial, fates, given);
  for (size_t i = 0; i < carried; ++i)
    fates[i].line = counted(call, trial, call.input(i + 2), given[i + 2], outputs[i + 1]);
  return fates;
}

[[noreturn]] void refuse_dynamic(const Call& call, const std::string& why) {
  call.fail(
      "its number of rounds is dynamic, but {}; fix the size that is its number: --dim "
      "NAME=SIZE",
      why);
}

/// The loop with a known number of rounds; false if there is none, or too few of them.
bool build_loop(Call& call, size_t carried) {
  const std::vector<Fate> fates = fates_of(call, carried);
  Uncounted uncounted(call);
  ops::Loop loop(call, call.placeholders());
  std::vector<Value*> given;
  const std::vector<Value*> outputs = import_round(call, loop, fates, given);
  const auto count = rounds(call, loop, outputs[0]);
  if (!count || (count->is_static() && count->value() < ops::kManySteps)) return false;
  for (size_t i = 0; i < carried; ++i)
    if (!fates[i].is_same && !fates[i].line) loop.leave(outputs[i + 1]);
  for (size_t i = carried + 1; i < outputs.size(); ++i) loop.give(outputs[i]);
  loop.take_gathered(*count);
  if (const std::string why = loop.refusal(*count); !why.empty()) {
    if (count->is_static()) return false;
    refuse_dynamic(call, why);
  }
  const ops::Loop::Results results = loop.build(*count, false);
  uncounted.keep();
  auto left = results.left.begin();
  for (size_t i = 0; i < carried; ++i) {
    Value* initial = call.input(i + 2);
    if (fates[i].is_same) {
      call.result(initial);
    } else if (fates[i].line) {
      Value* end = ops::number(
          call, call.graph().symbol_table().expand(*count) * Sum::number(fates[i].line->step) +
                    Sum::number(fates[i].line->first));
      call.result(call.view(call.convert(end, initial->dtype()), initial->shape()));
    } else {
      call.result(*left++);
    }
  }
  for (Value* value : results.given) call.result(value);
  return true;
}

Value* flipped(const Call& call, Value* x) { return call.add(Op::flip, {x}, AxesAttrs{{0}}); }

/// The loop over sequences of this length; nothing if its body cannot run in one.
std::optional<Scanned> build_scan(const Call& call, const std::vector<Value*>& state,
                                  const std::vector<Value*>& sequences,
                                  const std::vector<Track>& tracks, const Dim& length) {
  const bool backwards = std::ranges::all_of(tracks, &Track::backwards);
  std::vector<Value*> all;
  for (size_t i = 0; i < sequences.size(); ++i) {
    Value* x = ops::move_axes(call, sequences[i], {tracks[i].axis}, {0});
    if (x->shape()[0] != length)
      call.fail("scans {} and {} elements", to_string(length), to_string(x->shape()[0]));
    all.push_back(tracks[i].backwards != backwards ? flipped(call, x) : x);
  }
  Uncounted uncounted(call);
  ops::Loop loop(call, call.placeholders());
  std::vector<Value*> given;
  for (Value* value : state) given.push_back(loop.carried(value));
  for (Value* value : all) given.push_back(loop.element(value));
  const std::vector<Value*> outputs = call.body("body", std::move(given));
  if (outputs.size() < state.size()) call.fail("its body gives {} values", outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    i < state.size() ? loop.leave(outputs[i]) : loop.give(outputs[i]);
  if (const std::string why = loop.refusal(length); !why.empty()) {
    if (length.is_static()) return std::nullopt;
    refuse_dynamic(call, why);
  }
  auto [left, stacked] = loop.build(length, backwards);
  uncounted.keep();
  for (size_t i = 0; i < stacked.size(); ++i) {
    Value*& y = stacked[i];
    const auto [axis, from_end] =
        track(call, "scan_output_axes", "scan_output_directions", i, y->type().rank());
    if (from_end != backwards) y = flipped(call, y);
    y = ops::move_axes(call, y, {0}, {axis});
  }
  return Scanned{left, stacked};
}

}  // namespace

bool loop_in_program(Call& call) {
  const size_t carried = call.input_count() > 2 ? call.input_count() - 2 : 0;
  const auto most = call.has(0) ? call.number_of(call.input(0)) : std::nullopt;
  const auto begins = call.has(1) ? call.number_of(call.input(1)) : Sum::number(1);
  if (begins != Sum::number(1)) return false;
  if (most && most->is_number() && most->constant() < ops::kManySteps) return false;
  const bool is_static = !most || most->is_number();
  try {
    return build_loop(call, carried);
  } catch (const UserError&) {
    // A rule may need to know what only unrolled rounds tell.
    if (!is_static) throw;
    return false;
  }
}

Track track(const Call& call, std::string_view axes, std::string_view directions, size_t i,
            int64_t rank) {
  const Ints given_axes = call.ints(axes, {}), given_directions = call.ints(directions, {});
  return {call.axis(i < given_axes.size() ? given_axes[i] : 0, rank),
          i < given_directions.size() && given_directions[i] != 0};
}

std::optional<Scanned> scan_in_program(const Call& call, const std::vector<Value*>& state,
                                       const std::vector<Value*>& sequences,
                                       const std::vector<Track>& tracks) {
  const Dim length = sequences[0]->shape()[static_cast<size_t>(tracks[0].axis)];
  if (length.is_static() && length.value() < ops::kManySteps) return std::nullopt;
  try {
    return build_scan(call, state, sequences, tracks, length);
  } catch (const UserError&) {
    if (!length.is_static()) throw;
    return std::nullopt;
  }
}

}  // namespace layline::onnx
