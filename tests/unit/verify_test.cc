#include "ir/verify.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/error.h"

namespace layline {
namespace {

std::string error_of(const Graph& graph) {
  try {
    verify(graph);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no error";
}

// The graph keeps its own invariants, so most of these tests break one from behind.
template <typename T>
T& writable(const T& field) {
  return const_cast<T&>(field);
}

void overwrite_operand(Node* node, int index, Value* value) {
  writable(node->operands()[static_cast<size_t>(index)]) = value;
}

#define EXPECT_ERROR(graph, part)                            \
  do {                                                       \
    const std::string error = error_of(graph);               \
    EXPECT_NE(error.find(part), std::string::npos) << error; \
  } while (false)

class Verify : public testing::Test {
 protected:
  const TensorType type = {DType::f32, {2, 3}};
  Graph graph{"g"};
  Value* x = graph.add_input("x", type);
  Value* z = graph.add_input("z", type, {1, 0});
  Value* a = graph.add(Op::abs, {x}, NoAttrs{}, nullptr, "a");
  Value* b = graph.add(Op::add, {a, a}, BinaryAttrs{}, nullptr, "b");
  Value* c = graph.add(Op::exp, {b}, NoAttrs{},
                       std::make_shared<Origin>(Origin{"exp_1", "model.py:3", ""}), "c");
  void SetUp() override {
    graph.add_fixed_input("none", std::monostate{});
    graph.add_output("y", c);
    graph.add_output("same", c, {1, 0});
    graph.add_output("in", x);
    verify(graph);
  }
};

TEST_F(Verify, HoldsAfterEveryChange) {
  Node* exp = c->def();
  graph.replace_all_uses(b, a);
  verify(graph);
  graph.erase(b->def());
  verify(graph);
  graph.set_insertion_point(exp);
  Value* sum = graph.add(Op::add, {a, z}, BinaryAttrs{}, nullptr);
  graph.set_operand(exp, 0, sum);
  verify(graph);
  graph.set_output(1, z, {1, 0});
  verify(graph);
}

TEST_F(Verify, ErrorsNameTheNodeAndItsOrigin) {
  overwrite_operand(c->def(), 0, a);
  EXPECT_ERROR(graph, "graph g: ");
  writable(c->type()).dtype = DType::f16;
  EXPECT_ERROR(graph,
               "%c = exp [exp_1 (model.py:3)]: has type f16[2,3] where its op gives f32[2,3]");
}

TEST_F(Verify, OperandThatItsValueDoesNotKnow) {
  overwrite_operand(c->def(), 0, a);
  EXPECT_ERROR(graph, "%b = add [b]: lists operand 0 of %c as a use, which it is not");
}

TEST_F(Verify, UseListedTwice) {
  writable(a->uses()[1]).operand = 0;
  EXPECT_ERROR(graph, "lists operand 0 of %b twice");
}

TEST_F(Verify, UseOfAnOperandThatIsNotThere) {
  writable(a->uses()[1]).operand = 2;
  EXPECT_ERROR(graph, "lists operand 2 of %b as a use");
}

TEST_F(Verify, UseByAnErasedNode) {
  Value* dead = graph.add(Op::abs, {a}, NoAttrs{}, nullptr, "dead");
  Node* node = dead->def();
  graph.erase(node);
  writable(a->uses()[0]).user = node;
  EXPECT_ERROR(graph, "has a use by a node that is not in the graph");
}

TEST_F(Verify, OperandOfAnErasedNode) {
  Value* dead = graph.add(Op::abs, {a}, NoAttrs{}, nullptr, "dead");
  graph.erase(dead->def());
  graph.set_operand(c->def(), 0, dead);
  EXPECT_ERROR(graph, "%c = exp [exp_1 (model.py:3)]: its operand %dead is no input or earlier");
}

/// Erased nodes stay, but not the weights that they held.
TEST_F(Verify, AnErasedConstantHoldsNothing) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(2);
  const QuantisationRef shared = per_tensor(DType::i8, 1, 0);
  Value* integers = graph.add(Op::constant, {},
                              ConstantAttrs{Constant::view(DType::i8, {2}, *owner, owner), shared},
                              nullptr, "integers");
  EXPECT_GT(owner.use_count(), 1);
  verify(graph);
  graph.erase(integers->def());
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_FALSE(integers->type().quantisation);
  verify(graph);
}

/// A constant of the wrong type is found, although its scales are not looked at again.
TEST_F(Verify, TypeOfAQuantisedConstant) {
  Value* integers =
      graph.add(Op::constant, {},
                ConstantAttrs{Constant::owned(DType::i8, {2}, {std::byte{1}, std::byte{2}}),
                              per_tensor(DType::i8, 1, 0)},
                nullptr, "integers");
  verify(graph);
  writable(integers->type()).quantisation = per_tensor(DType::i8, 2, 0);
  EXPECT_ERROR(graph, "%integers = constant [integers]: has type");
}

TEST_F(Verify, OrderOfNodes) {
  graph.set_operand(a->def(), 0, c);
  EXPECT_ERROR(graph, "%a = abs [a]: its operand %c is no input or earlier result");
}

TEST_F(Verify, TypeThatOperandsDoNotGive) {
  Value* other = graph.add_input("other", {DType::f32, {3, 2}});
  graph.set_operand(a->def(), 0, other);
  EXPECT_ERROR(graph, "%a = abs [a]: has type f32[2,3] where its op gives f32[3,2]");
}

TEST_F(Verify, OperandsThatDoNotBroadcast) {
  Value* other = graph.add_input("other", {DType::f32, {3, 2}});
  graph.set_operand(b->def(), 1, other);
  EXPECT_ERROR(graph, "%b = add [b]: has operands that its op does not take: ");
}

TEST_F(Verify, Names) {
  writable(b->name()) = "a";
  EXPECT_ERROR(graph, "shares its name");
}

TEST_F(Verify, AttributesOfAnotherOp) {
  writable(b->def()->attributes()) = AxisAttrs{};
  EXPECT_ERROR(graph, "%b = add [b]: has attributes of another op");
}

TEST_F(Verify, UndeclaredSymbol) {
  graph.add_input("s", {DType::f32, {Dim::symbol(1)}});
  EXPECT_ERROR(graph, "input %s: has the undeclared symbol s1");
}

TEST_F(Verify, DimOrders) {
  writable(graph.inputs()[1].dim_order) = {1, 1};
  EXPECT_ERROR(graph, "input %z: the dim order (1,1) of the input is no permutation of 2 dims");
  writable(graph.inputs()[1].dim_order) = {1, 0};
  writable(graph.outputs()[0].dim_order) = {0};
  EXPECT_ERROR(graph, "the dim order (0) of the output");
}

TEST_F(Verify, Outputs) {
  writable(graph.outputs()[0].value) = b;
  EXPECT_ERROR(graph, "%b = add [b]: counts 0 outputs where there are 1");
}

TEST_F(Verify, OutputThatIsNotInTheGraph) {
  Value* dead = graph.add(Op::abs, {a}, NoAttrs{}, nullptr, "dead");
  graph.erase(dead->def());
  graph.set_output(0, dead, {0, 1});
  EXPECT_ERROR(graph, "%dead = abs [dead]: is output y, but no input");
}

TEST_F(Verify, WritesToInputs) {
  graph.add_state("s", Constant::owned(DType::f32, {2, 3}, std::vector<std::byte>(24)));
  const size_t state = graph.inputs().size() - 1;
  graph.add_write(state, c);
  verify(graph);
  graph.add_write(state, b);
  EXPECT_ERROR(graph, "%b = add [b]: is a second write to the input s");
  writable(graph.outputs().back()).writes = 1;  // z, which lies in another order
  EXPECT_ERROR(graph, "is written to the input z, which has another type");
  writable(graph.outputs().back()).writes = 99;
  EXPECT_ERROR(graph, "is written to input 99, which there is not");
}

TEST_F(Verify, StateOfAnotherType) {
  graph.add_state("s", Constant::owned(DType::f32, {2, 3}, std::vector<std::byte>(24)));
  writable(graph.inputs().back()).initial = Constant::scalar(DType::f32, 1);
  EXPECT_ERROR(graph, "is a state that starts as f32[]");
}

TEST_F(Verify, InputThatIsComputed) {
  writable(graph.inputs()[1].value) = c;
  EXPECT_ERROR(graph, "is computed, yet among the inputs");
}

// One value with a use in every node: the check of use lists must not walk them for each use.
TEST(VerifyScale, IsLinear) {
  Graph graph("large");
  Value* x = graph.add_input("x", {DType::f32, {4}});
  Value* last = x;
  for (int i = 0; i < 100'000; ++i) last = graph.add(Op::add, {last, x}, BinaryAttrs{}, nullptr);
  graph.add_output("y", last);
  const auto start = std::chrono::steady_clock::now();
  verify(graph);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 5) << "quadratic time would be minutes";
}

}  // namespace
}  // namespace layline
