#include "targets/loop_calls.h"

namespace layline {

LoopCalls::LoopCalls(MethodBuilder& method, pte::ValueId length, bool backwards)
    : method_(method),
      length_(length),
      place_(method.integer(0)),
      zero_(method.integer(0)),
      one_(method.integer(1)),
      backwards_(backwards) {
  // Each run of the method finds what the run before has left.
  count("executorch_prim::sub", backwards ? length : zero_, backwards ? one_ : zero_, place_);
  beginning_ = static_cast<uint32_t>(method.method().instructions.size());
}

void LoopCalls::count(const char* op, pte::ValueId a, pte::ValueId b, pte::ValueId result) {
  method_.method().instructions.push_back(pte::KernelCall{op, "Scalar", {a, b, result}});
}

void LoopCalls::load(pte::ValueId sequence, pte::ValueId element) {
  method_.call("aten::select_copy", "int_out", {sequence, zero_, place_}, element);
}

void LoopCalls::store(const Value* sequence, pte::ValueId element) {
  const pte::ValueId tensor = method_.tensor(sequence);
  // The kernel resizes the sequence to what it has up to this place.
  std::get<pte::TensorDesc>(method_.method().values[static_cast<size_t>(tensor)]).dynamism =
      pte::ShapeDynamism::kBound;
  method_.method().instructions.push_back(
      pte::KernelCall{"executorch_prim::et_copy_index", "tensor", {tensor, element, place_}});
  stored_.push_back(sequence);
}

void LoopCalls::end() {
  const pte::ValueId done = method_.boolean(false);
  if (backwards_) {
    count("executorch_prim::sub", place_, one_, place_);
    count("executorch_prim::lt", place_, zero_, done);
  } else {
    count("executorch_prim::add", place_, one_, place_);
    count("executorch_prim::ge", place_, length_, done);
  }
  method_.method().instructions.push_back(pte::JumpFalse{{done}, beginning_});
  if (!backwards_) return;
  // The last place was the first. This kernel gives a tensor a size, and leaves the bytes.
  for (const Value* sequence : stored_)
    method_.call("aten::empty", "out", {method_.sizes(sequence->shape()), method_.none()},
                 method_.tensor(sequence));
}

}  // namespace layline
