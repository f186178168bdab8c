// The types of results: what each family of ops takes, and how it refuses the rest.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/error.h"
#include "ir/op.h"

namespace layline {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;
const Dim kBatch = Dim::symbol(1);
const Dim kOther = Dim::symbol(2);

TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }
TensorType i64(Shape shape) { return {DType::i64, std::move(shape)}; }
TensorType boolean(Shape shape) { return {DType::boolean, std::move(shape)}; }

/// s1 and s2 from 1 to 64, and what is derived from them.
SymbolTable& symbols() {
  static SymbolTable table = [] {
    SymbolTable free;
    free.add({"batch", 1, 64});
    free.add({"other", 1, 64});
    return free;
  }();
  return table;
}

/// The result's type as text, or the refusal.
std::string infer(Op op, std::vector<TensorType> operands, Attributes attributes = NoAttrs{}) {
  EXPECT_EQ(attributes.index(), info(op).attributes) << name(op);
  try {
    return to_string(info(op).infer(operands, attributes, symbols()));
  } catch (const UserError& error) {
    return std::string("error: ") + error.what();
  }
}

bool refused(const std::string& result) { return result.starts_with("error: "); }

TEST(OpTable, RowsAreComplete) {
  std::set<std::string_view> names;
  ASSERT_EQ(all_ops().size(), static_cast<size_t>(kOpCount));
  for (int i = 0; i < kOpCount; ++i) {
    const OpInfo& row = all_ops()[static_cast<size_t>(i)];
    EXPECT_EQ(row.op, static_cast<Op>(i));
    EXPECT_EQ(&info(row.op), &row);
    EXPECT_EQ(parse_op(row.name), row.op);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_NE(row.infer, nullptr) << row.name;
    EXPECT_NE(row.evaluate, nullptr) << row.name;
    EXPECT_LT(row.attributes, std::variant_size_v<AnyAttrs>) << row.name;
    EXPECT_TRUE(row.max_operands == -1 || row.max_operands >= row.min_operands) << row.name;
    EXPECT_EQ(row.operand_names.empty(), row.max_operands == 0) << row.name;
  }
  EXPECT_EQ(parse_op("no_such_op"), std::nullopt);
  EXPECT_EQ(parse_op(""), std::nullopt);
}

TEST(InferMovement, Relayout) {
  const RelayoutAttrs attrs{Relayout::permute({kBatch, 3, 4}, std::vector<int>{0, 2, 1})};
  EXPECT_EQ(infer(Op::relayout, {f32({kBatch, 3, 4})}, attrs), "f32[s1,4,3]");
  EXPECT_EQ(infer(Op::relayout, {f32({kBatch, 4, 3})}, attrs),
            "error: expected an operand of shape [s1,3,4], found f32[s1,4,3]");
}

TEST(InferMovement, Expand) {
  EXPECT_EQ(infer(Op::expand, {i64({3, 1})}, ShapeAttrs{{kBatch, 3, 4}}), "i64[s1,3,4]");
  EXPECT_EQ(infer(Op::expand, {f32({3})}, ShapeAttrs{{4}}),
            "error: f32[3] does not broadcast to [4]");
  EXPECT_TRUE(refused(infer(Op::expand, {f32({4})}, ShapeAttrs{{1}})));
  EXPECT_TRUE(refused(infer(Op::expand, {f32({1, 4})}, ShapeAttrs{{4}})));
  EXPECT_TRUE(refused(infer(Op::expand, {f32({1})}, ShapeAttrs{{kHuge, 4}})));
}

TEST(InferMovement, Slice) {
  const TensorType x = f32({4, 9});
  EXPECT_EQ(infer(Op::slice, {x}, SliceAttrs{{1, 0}, {3, 5}, {1, 2}}), "f32[3,5]");
  EXPECT_EQ(infer(Op::slice, {x}, SliceAttrs{{4, 0}, {0, 9}, {1, 1}}), "f32[0,9]");
  EXPECT_EQ(infer(Op::slice, {f32({kBatch, 9})}, SliceAttrs{{0, 1}, {kBatch, 2}, {1, 1}}),
            "f32[s1,2]");
  EXPECT_EQ(infer(Op::slice, {x}, SliceAttrs{{2, 0}, {3, 9}, {1, 1}}),
            "error: start 2, size 3, step 1 reach beyond axis 0 of f32[4,9]");
  EXPECT_TRUE(refused(infer(Op::slice, {x}, SliceAttrs{{5, 0}, {0, 9}, {1, 1}})));
  EXPECT_TRUE(refused(infer(Op::slice, {x}, SliceAttrs{{-1, 0}, {1, 9}, {1, 1}})));
  EXPECT_TRUE(refused(infer(Op::slice, {x}, SliceAttrs{{0, 0}, {1, 9}, {0, 1}})));
  EXPECT_TRUE(refused(infer(Op::slice, {x}, SliceAttrs{{0}, {1}, {1}})));
  EXPECT_TRUE(refused(infer(Op::slice, {x}, SliceAttrs{{0, 0}, {1}, {1, 1}})));
  EXPECT_TRUE(refused(infer(Op::slice, {x}, SliceAttrs{{0, 1}, {4, kHuge}, {1, kHuge}})));
}

TEST(InferMovement, Concat) {
  EXPECT_EQ(infer(Op::concat, {f32({2, 3}), f32({2, 4}), f32({2, 0})}, AxisAttrs{1}), "f32[2,7]");
  EXPECT_EQ(infer(Op::concat, {f32({kBatch, 3}), f32({kBatch, 3})}, AxisAttrs{0}), "f32[2*s1,3]");
  EXPECT_EQ(infer(Op::concat, {f32({kBatch, 3}), f32({kBatch, 1})}, AxisAttrs{1}), "f32[s1,4]");
  EXPECT_EQ(infer(Op::concat, {f32({2, 3}), f32({3, 3})}, AxisAttrs{1}),
            "error: expected parts that agree outside axis 1, found f32[2,3] and f32[3,3]");
  EXPECT_TRUE(refused(infer(Op::concat, {f32({2, 3}), f32({2})}, AxisAttrs{0})));
  EXPECT_TRUE(refused(infer(Op::concat, {f32({2}), i64({2})}, AxisAttrs{0})));
  EXPECT_TRUE(refused(infer(Op::concat, {f32({2})}, AxisAttrs{1})));
  EXPECT_TRUE(refused(infer(Op::concat, {f32({2})}, AxisAttrs{-1})));
  EXPECT_EQ(infer(Op::concat, {f32({kBatch}), f32({1})}, AxisAttrs{0}),
            to_string(f32({symbols().parse("s1+1")})));
  EXPECT_TRUE(refused(infer(Op::concat, {f32({kHuge}), f32({kHuge})}, AxisAttrs{0})));
}

TEST(InferMovement, Pad) {
  const TensorType x = f32({2, 3});
  EXPECT_EQ(infer(Op::pad, {x}, PadAttrs{{0, 5}, {1, 0}, PadMode::constant, 0}), "f32[3,8]");
  EXPECT_EQ(infer(Op::pad, {x}, PadAttrs{{0, 2}, {0, 2}, PadMode::reflect, 0}), "f32[2,7]");
  EXPECT_TRUE(refused(infer(Op::pad, {x}, PadAttrs{{0, 3}, {0, 0}, PadMode::reflect, 0})));
  EXPECT_EQ(infer(Op::pad, {x}, PadAttrs{{0, 3}, {0, 3}, PadMode::circular, 0}), "f32[2,9]");
  EXPECT_TRUE(refused(infer(Op::pad, {x}, PadAttrs{{0, 4}, {0, 0}, PadMode::circular, 0})));
  EXPECT_EQ(infer(Op::pad, {x}, PadAttrs{{0, 9}, {0, 0}, PadMode::replicate, 0}), "f32[2,12]");
  EXPECT_TRUE(refused(infer(Op::pad, {f32({0})}, PadAttrs{{1}, {0}, PadMode::replicate, 0})));
  EXPECT_TRUE(refused(infer(Op::pad, {x}, PadAttrs{{0, -1}, {0, 0}, PadMode::constant, 0})));
  EXPECT_TRUE(refused(infer(Op::pad, {x}, PadAttrs{{0}, {0}, PadMode::constant, 0})));
  EXPECT_TRUE(refused(infer(Op::pad, {x}, PadAttrs{{0, kHuge}, {0, kHuge}, {}, 0})));
  EXPECT_EQ(infer(Op::pad, {f32({kBatch, 3})}, PadAttrs{{0, 1}, {0, 1}, {}, 0}), "f32[s1,5]");
}

TEST(InferMovement, FlipRollGather) {
  EXPECT_EQ(infer(Op::flip, {f32({2, 3})}, AxesAttrs{{0, 1}}), "f32[2,3]");
  EXPECT_TRUE(refused(infer(Op::flip, {f32({2, 3})}, AxesAttrs{{1, 0}})));
  EXPECT_TRUE(refused(infer(Op::flip, {f32({2, 3})}, AxesAttrs{{2}})));
  EXPECT_EQ(infer(Op::roll, {f32({2, 3})}, RollAttrs{{1}, {-9}}), "f32[2,3]");
  EXPECT_TRUE(refused(infer(Op::roll, {f32({2, 3})}, RollAttrs{{1}, {}})));
  EXPECT_TRUE(refused(infer(Op::roll, {f32({2, 3})}, RollAttrs{{2}, {1}})));
  EXPECT_EQ(infer(Op::gather, {f32({5, 6, 7}), i64({kBatch, 2})}, AxisAttrs{1}), "f32[5,s1,2,7]");
  EXPECT_TRUE(refused(infer(Op::gather, {f32({5}), f32({2})}, AxisAttrs{0})));
  EXPECT_TRUE(refused(infer(Op::gather, {f32({}), i64({2})}, AxisAttrs{0})));
}

TEST(InferMovement, CountedSlice) {
  const TensorType count = i64({});
  const Attributes whole = CountedSliceAttrs{0, {0, 1}, {kBatch, 2}};
  EXPECT_EQ(infer(Op::counted_slice, {f32({64, 3}), count}, whole), "f32[s1,2]");
  EXPECT_EQ(infer(Op::counted_slice, {f32({64, 3}), count}, CountedSliceAttrs{0, {1, 0}, {4, 3}}),
            "f32[4,3]");
  EXPECT_EQ(infer(Op::counted_slice, {f32({63, 3}), count}, whole),
            "error: expected a symbol for axis 0 that is never beyond it, found s1 of f32[63,3]");
  EXPECT_TRUE(refused(
      infer(Op::counted_slice, {f32({64, 3}), count}, CountedSliceAttrs{0, {1, 0}, {kBatch, 3}})));
  EXPECT_TRUE(refused(infer(Op::counted_slice, {f32({128, 3}), count},
                            CountedSliceAttrs{0, {0, 0}, {2 * kBatch, 3}})));
  EXPECT_EQ(infer(Op::counted_slice, {f32({64, 3}), i64({1})}, whole),
            "error: expected one number, an i64[], found i64[1]");
  EXPECT_TRUE(refused(
      infer(Op::counted_slice, {f32({64, 3}), count}, CountedSliceAttrs{2, {0, 0}, {kBatch, 3}})));
}

TEST(InferMovement, SingleElements) {
  const TensorType data = f32({4, 3}), indices = i64({2, 3});
  EXPECT_EQ(infer(Op::gather_elements, {data, indices}, AxisAttrs{0}), "f32[2,3]");
  EXPECT_EQ(infer(Op::gather_elements, {data, f32({2, 3})}, AxisAttrs{0}),
            "error: expected integer indices, found f32[2,3]");
  EXPECT_EQ(infer(Op::gather_elements, {data, i64({2, 9})}, AxisAttrs{0}),
            "error: expected indices no larger than the data outside axis 0, found i64[2,9] and "
            "f32[4,3]");
  EXPECT_EQ(infer(Op::scatter, {data, i64({kBatch, 1}), f32({kBatch, 3})}, AxisAttrs{0}),
            "f32[4,3]");
  EXPECT_EQ(infer(Op::scatter, {data, f32({2, 1}), f32({2, 3})}, AxisAttrs{0}),
            "error: expected integer indices, found f32[2,1]");
  EXPECT_EQ(infer(Op::scatter, {data, indices, f32({2, 3})}, AxisAttrs{0}),
            "error: expected indices along axis 0, found i64[2,3]");
  EXPECT_EQ(infer(Op::scatter, {data, i64({2, 1}), f32({3, 3})}, AxisAttrs{0}),
            "error: expected updates f32[2,3], a slice for each index, found f32[3,3]");
  EXPECT_TRUE(refused(infer(Op::scatter, {data, i64({2}), f32({2, 3})}, AxisAttrs{0})));
  EXPECT_TRUE(refused(infer(Op::scatter, {data, i64({2, 1}), f32({2, 3})}, AxisAttrs{2})));
  EXPECT_EQ(infer(Op::scatter_elements, {data, indices, f32({2, 3})}, AxisAttrs{0}), "f32[4,3]");
  EXPECT_EQ(infer(Op::scatter_elements, {data, indices, f32({2, 2})}, AxisAttrs{0}),
            "error: expected updates f32[2,3], one for each index, found f32[2,2]");
  EXPECT_TRUE(
      refused(infer(Op::scatter_add, {boolean({4, 3}), indices, boolean({2, 3})}, AxisAttrs{0})));
}

TEST(InferElementwise, Broadcasts) {
  EXPECT_EQ(infer(Op::add, {f32({kBatch, 1, 3}), f32({4, 1})}, BinaryAttrs{}), "f32[s1,4,3]");
  EXPECT_EQ(infer(Op::add, {f32({kBatch, 1}), f32({kBatch, 3})}, BinaryAttrs{}), "f32[s1,3]");
  EXPECT_EQ(infer(Op::less, {f32({2, 1}), f32({3})}), "bool[2,3]");
  EXPECT_EQ(infer(Op::where, {boolean({3, 1}), i64({2}), i64({})}), "i64[3,2]");
}

/// A1: shapes that do not broadcast are refused by every op with several operands.
TEST(InferElementwise, RefusesShapesThatDoNotBroadcast) {
  EXPECT_EQ(infer(Op::add, {f32({1, 8, 16}), f32({16, 8})}, BinaryAttrs{}),
            "error: expected shapes that broadcast, found f32[1,8,16] and f32[16,8]");
  for (const OpInfo& row : all_ops()) {
    if (row.op_class != OpClass::elementwise || row.min_operands != 2) continue;
    const bool integers = row.name.starts_with("bitwise_") || row.name.ends_with("_shift");
    const DType dtype = row.name.starts_with("logical_") ? DType::boolean
                        : integers                       ? DType::i64
                                                         : DType::f32;
    const Attributes attributes =
        row.attributes == Attributes(BinaryAttrs{}).index() ? Attributes(BinaryAttrs{}) : NoAttrs{};
    const auto check = [&](Shape a, Shape b) {
      return refused(infer(row.op, {{dtype, std::move(a)}, {dtype, std::move(b)}}, attributes));
    };
    EXPECT_TRUE(check({2, 3}, {2})) << row.name;
    EXPECT_TRUE(check({kBatch}, {3})) << row.name;
    EXPECT_TRUE(check({kBatch}, {kOther})) << row.name;
    EXPECT_TRUE(check({0}, {2})) << row.name;
    EXPECT_FALSE(check({2, 3}, {3})) << row.name;
  }
  EXPECT_TRUE(refused(infer(Op::where, {boolean({2}), f32({3}), f32({3})})));
  EXPECT_TRUE(refused(infer(Op::prelu, {f32({3}), f32({2, 3})})));
  EXPECT_TRUE(refused(infer(Op::add, {f32({kHuge, 1}), f32({1, kHuge})}, BinaryAttrs{})));
}

TEST(InferElementwise, ElementTypes) {
  EXPECT_EQ(infer(Op::add, {f32({2}), i64({2})}, BinaryAttrs{}),
            "error: expected operands of one element type, found f32[2] and i64[2]");
  EXPECT_TRUE(refused(infer(Op::add, {boolean({2}), boolean({2})}, BinaryAttrs{})));
  EXPECT_TRUE(refused(infer(Op::div, {i64({2}), i64({2})}, BinaryAttrs{})));
  EXPECT_TRUE(refused(infer(Op::logical_and, {f32({2}), f32({2})})));
  EXPECT_TRUE(refused(infer(Op::where, {f32({2}), f32({2}), f32({2})})));
  EXPECT_TRUE(refused(infer(Op::where, {boolean({2}), f32({2}), i64({2})})));
  EXPECT_EQ(infer(Op::maximum, {boolean({2}), boolean({2})}), "bool[2]");
  EXPECT_EQ(infer(Op::equal, {boolean({2}), boolean({2})}), "bool[2]");
  EXPECT_EQ(infer(Op::exp, {i64({2})}), "error: expected a float operand, found i64[2]");
  EXPECT_EQ(infer(Op::exp, {{DType::f16, {kBatch}}}), "f16[s1]");
  EXPECT_EQ(infer(Op::abs, {i64({2})}), "i64[2]");
  EXPECT_TRUE(refused(infer(Op::neg, {boolean({2})})));
  EXPECT_TRUE(refused(infer(Op::logical_not, {i64({2})})));
  EXPECT_EQ(infer(Op::convert, {i64({kBatch})}, ConvertAttrs{DType::bf16}), "bf16[s1]");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(refused(infer(Op::clamp, {f32({2})}, ClampAttrs{{nan, 1}})));
  EXPECT_TRUE(refused(infer(Op::clamp, {boolean({2})}, ClampAttrs{})));
}

TEST(InferContraction, Linear) {
  EXPECT_EQ(infer(Op::linear, {f32({kBatch, 7, 4}), f32({5, 4}), f32({5})}, LinearAttrs{}),
            "f32[s1,7,5]");
  EXPECT_EQ(infer(Op::linear, {f32({4}), f32({5, 4})}, LinearAttrs{}), "f32[5]");
  EXPECT_EQ(infer(Op::linear, {f32({2, 3}), f32({5, 4})}, LinearAttrs{}),
            "error: expected an operand whose last axis is 4 long, as the weight f32[5,4] needs, "
            "found f32[2,3]");
  EXPECT_TRUE(refused(infer(Op::linear, {f32({}), f32({5, 4})}, LinearAttrs{})));
  EXPECT_TRUE(refused(infer(Op::linear, {f32({2, 4}), f32({5, 4, 1})}, LinearAttrs{})));
  EXPECT_TRUE(refused(infer(Op::linear, {f32({2, 4}), f32({5, 4}), f32({4})}, LinearAttrs{})));
  EXPECT_TRUE(refused(infer(Op::linear, {f32({2, 4}), f32({5, 4}), i64({5})}, LinearAttrs{})));
}

TEST(InferContraction, Matmul) {
  EXPECT_EQ(infer(Op::matmul, {f32({kBatch, 1, 2, 3}), f32({8, 3, 4})}, MatmulAttrs{}),
            "f32[s1,8,2,4]");
  EXPECT_EQ(infer(Op::matmul, {f32({2, 3}), f32({4, 3})}, MatmulAttrs{true}), "f32[2,4]");
  EXPECT_TRUE(refused(infer(Op::matmul, {f32({2, 3}), f32({4, 3})}, MatmulAttrs{false})));
  EXPECT_TRUE(refused(infer(Op::matmul, {f32({3}), f32({3, 4})}, MatmulAttrs{})));
  EXPECT_TRUE(refused(infer(Op::matmul, {f32({2, 2, 3}), f32({3, 3, 4})}, MatmulAttrs{})));
  EXPECT_TRUE(refused(infer(Op::matmul, {f32({2, 3}), i64({3, 4})}, MatmulAttrs{})));
  EXPECT_TRUE(refused(infer(Op::matmul, {f32({kHuge, 1}), f32({1, kHuge})}, MatmulAttrs{})));
}

ConvAttrs conv_2d() { return {{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}}; }

TEST(InferContraction, Conv) {
  ConvAttrs attrs = {{2, 1}, {1, 2}, {1, 0}, {1, 0}, 1, {}};
  const TensorType x = f32({kBatch, 8, 9, 6});
  EXPECT_EQ(infer(Op::conv, {x, f32({5, 3, 3, 6}), f32({5})}, attrs), "f32[s1,4,5,5]");
  EXPECT_EQ(infer(Op::conv, {f32({1, 8, 3}), f32({5, 3, 3})}, ConvAttrs{{1}, {1}, {0}, {0}, 1, {}}),
            "f32[1,6,5]");
  attrs.groups = 3;
  EXPECT_EQ(infer(Op::conv, {x, f32({9, 3, 3, 2})}, attrs), "f32[s1,4,5,9]");
  EXPECT_TRUE(refused(infer(Op::conv, {x, f32({9, 3, 3, 6})}, attrs)));
  EXPECT_TRUE(refused(infer(Op::conv, {x, f32({5, 3, 3, 2})}, attrs)));
  attrs.groups = 0;
  EXPECT_TRUE(refused(infer(Op::conv, {x, f32({5, 3, 3, 6})}, attrs)));

  const TensorType weight = f32({5, 3, 3, 6});
  EXPECT_EQ(infer(Op::conv, {f32({3, 4}), f32({3, 4})}, conv_2d()),
            "error: expected a channels-last operand with 1, 2 or 3 spatial axes, found f32[3,4]");
  EXPECT_TRUE(refused(infer(Op::conv, {x, f32({5, 3, 6})}, conv_2d())));
  EXPECT_TRUE(refused(infer(Op::conv, {x, weight, f32({6})}, conv_2d())));
  EXPECT_TRUE(refused(infer(Op::conv, {f32({1, 9, 9, kOther}), weight}, conv_2d())));
  EXPECT_TRUE(refused(infer(Op::conv, {f32({1, 2, 9, 6}), weight}, conv_2d())));
  EXPECT_TRUE(refused(infer(Op::conv, {i64({1, 8, 9, 6}), i64({5, 3, 3, 6})}, conv_2d())));
  for (Ints ConvAttrs::*list :
       {&ConvAttrs::stride, &ConvAttrs::dilation, &ConvAttrs::low, &ConvAttrs::high}) {
    attrs = conv_2d();
    (attrs.*list)[1] = -1;
    EXPECT_TRUE(refused(infer(Op::conv, {x, weight}, attrs)));
    attrs = conv_2d();
    (attrs.*list).pop_back();
    EXPECT_TRUE(refused(infer(Op::conv, {x, weight}, attrs)));
  }
  attrs = conv_2d();
  attrs.dilation[0] = kHuge;
  EXPECT_TRUE(refused(infer(Op::conv, {x, weight}, attrs)));
  attrs = conv_2d();
  attrs.low[0] = attrs.high[0] = kHuge;
  EXPECT_TRUE(refused(infer(Op::conv, {x, weight}, attrs)));
}

TEST(InferContraction, ConvTranspose) {
  const ConvTransposeAttrs attrs{{2, 1}, {1, 2}, {1, 0}, {1, 0}, {1, 0}, 2, {}};
  // (8-1)*2 + 3 - 2 + 1 and (9-1) + 2*(3-1) + 1.
  EXPECT_EQ(infer(Op::conv_transpose, {f32({kBatch, 8, 9, 6}), f32({4, 3, 3, 3})}, attrs),
            "f32[s1,16,13,4]");
  ConvTransposeAttrs wrong = attrs;
  wrong.low[0] = 100;
  EXPECT_TRUE(refused(infer(Op::conv_transpose, {f32({1, 8, 9, 6}), f32({4, 3, 3, 3})}, wrong)));
  wrong = attrs;
  wrong.extra = {0};
  EXPECT_TRUE(refused(infer(Op::conv_transpose, {f32({1, 8, 9, 6}), f32({4, 3, 3, 3})}, wrong)));
  wrong = attrs;
  wrong.stride[0] = kHuge;
  EXPECT_TRUE(refused(infer(Op::conv_transpose, {f32({1, 8, 9, 6}), f32({4, 3, 3, 3})}, wrong)));
  EXPECT_TRUE(refused(infer(Op::conv_transpose, {f32({1, 0, 9, 6}), f32({4, 3, 3, 3})}, attrs)));
}

/// D6: pools with parameters that torch refuses.
TEST(InferWindow, Pool) {
  const PoolAttrs attrs{{3, 2}, {2, 2}, {1, 1}, {1, 0}, {1, 0}, false, {}};
  const TensorType x = f32({kBatch, 8, 9, 4});
  const auto with = [&](Ints PoolAttrs::*list, Ints entries) {
    PoolAttrs changed = attrs;
    changed.*list = std::move(entries);
    return infer(Op::max_pool, {x}, changed);
  };
  for (const Op op : {Op::max_pool, Op::avg_pool})
    EXPECT_EQ(infer(op, {x}, attrs), "f32[s1,4,4,4]");
  EXPECT_EQ(with(&PoolAttrs::kernel, {0, 2}), "error: kernel must be at least 1, found 0");
  EXPECT_EQ(with(&PoolAttrs::stride, {2, 0}), "error: stride must be at least 1, found 0");
  EXPECT_EQ(with(&PoolAttrs::dilation, {0, 1}), "error: dilation must be at least 1, found 0");
  EXPECT_EQ(with(&PoolAttrs::low, {-1, 0}), "error: padding (low) must be at least 0, found -1");
  EXPECT_EQ(with(&PoolAttrs::high, {0, -1}), "error: padding (high) must be at least 0, found -1");
  EXPECT_EQ(
      with(&PoolAttrs::low, {1, 2}),
      "error: padding must be smaller than the kernel, found padding 2 and 0 for a kernel of 2 "
      "with dilation 1");
  EXPECT_EQ(with(&PoolAttrs::kernel, {30, 2}),
            "error: a kernel of 30 with dilation 1 does not fit a padded axis of 10");
  EXPECT_EQ(with(&PoolAttrs::kernel, {3}), "error: expected 2 entries in kernel, found 1");
  EXPECT_TRUE(refused(with(&PoolAttrs::kernel, {kHuge, 2})));
  EXPECT_TRUE(refused(with(&PoolAttrs::dilation, {kHuge, 1})));
  EXPECT_TRUE(refused(infer(Op::max_pool, {f32({8, 9})}, attrs)));
  EXPECT_TRUE(refused(infer(Op::max_pool, {i64({1, 8, 9, 4})}, attrs)));
  EXPECT_EQ(infer(Op::avg_pool, {f32({1, kBatch, 9, 4})}, attrs),
            to_string(f32({1, symbols().parse("(s1+1)//2"), 4, 4})));
  EXPECT_EQ(with(&PoolAttrs::kernel, {12, 2}),
            "error: a kernel of 12 with dilation 1 does not fit a padded axis of 10");
  EXPECT_EQ(
      infer(Op::max_pool, {f32({1, 9, kBatch, 4})}, attrs),
      "error: a kernel of 2 with dilation 1 does not fit a padded axis of 1, the least that s1 "
      "can be");
}

TEST(InferWindow, Resize) {
  const ResizeAttrs attrs{{16, 5}, {0.5, 2}, ResizeMode::nearest, false};
  EXPECT_EQ(infer(Op::resize, {f32({kBatch, 8, 10, 3})}, attrs), "f32[s1,16,5,3]");
  EXPECT_EQ(infer(Op::resize, {f32({3, 4})}, attrs),
            "error: expected a 4-D channels-last operand, found f32[3,4]");
  EXPECT_TRUE(refused(infer(Op::resize, {f32({1, 0, 10, 3})}, attrs)));
  ResizeAttrs wrong = attrs;
  wrong.size = {0, 5};
  EXPECT_TRUE(refused(infer(Op::resize, {f32({1, 8, 10, 3})}, wrong)));
  wrong = attrs;
  wrong.step = {0.5};
  EXPECT_TRUE(refused(infer(Op::resize, {f32({1, 8, 10, 3})}, wrong)));
  wrong.step = {0.5, -2};
  EXPECT_TRUE(refused(infer(Op::resize, {f32({1, 8, 10, 3})}, wrong)));
}

TEST(InferAxis, Reductions) {
  EXPECT_EQ(infer(Op::reduce_sum, {i64({kBatch, 3, 4})}, AxesAttrs{{0, 2}}), "i64[1,3,1]");
  EXPECT_EQ(infer(Op::reduce_any, {f32({2, 3})}, AxesAttrs{{1}}), "bool[2,1]");
  EXPECT_EQ(infer(Op::reduce_sum, {f32({0})}, AxesAttrs{{0}}), "f32[1]");
  EXPECT_EQ(infer(Op::reduce_max, {f32({0, 2})}, AxesAttrs{{0}}),
            "error: expected elements along axis 0, found f32[0,2]");
  EXPECT_TRUE(refused(infer(Op::reduce_mean, {i64({2})}, AxesAttrs{{0}})));
  EXPECT_TRUE(refused(infer(Op::reduce_sum, {f32({2})}, AxesAttrs{{1}})));
  EXPECT_TRUE(refused(infer(Op::reduce_sum, {f32({2, 2})}, AxesAttrs{{0, 0}})));
  EXPECT_TRUE(refused(infer(Op::reduce_sum, {boolean({2})}, AxesAttrs{{0}})));
}

TEST(InferAxis, Others) {
  EXPECT_EQ(infer(Op::argmax, {f32({kBatch, 3})}, AxisAttrs{1}), "i64[s1,1]");
  EXPECT_TRUE(refused(infer(Op::argmin, {f32({0})}, AxisAttrs{0})));
  EXPECT_EQ(infer(Op::softmax, {f32({kBatch, 3})}, AxisAttrs{1}), "f32[s1,3]");
  EXPECT_TRUE(refused(infer(Op::softmax, {i64({3})}, AxisAttrs{0})));
  EXPECT_TRUE(refused(infer(Op::log_softmax, {f32({3})}, AxisAttrs{1})));
  EXPECT_EQ(infer(Op::normalize, {f32({2, 3})}, NormalizeAttrs{{1}, 1e-5, true}), "f32[2,3]");
  EXPECT_TRUE(refused(infer(Op::normalize, {i64({3})}, NormalizeAttrs{{0}, 1e-5, true})));
  EXPECT_TRUE(refused(infer(Op::normalize, {f32({3})}, NormalizeAttrs{{1}, 1e-5, true})));
  EXPECT_TRUE(refused(infer(Op::normalize, {f32({3})}, NormalizeAttrs{{0}, -1, true})));
  EXPECT_EQ(infer(Op::cumsum, {i64({3})}, AxisAttrs{0}), "i64[3]");
  EXPECT_TRUE(refused(infer(Op::cumsum, {i64({3})}, AxisAttrs{-1})));
}

TEST(InferQuantisation, OfWhatIsChosenAtRunTime) {
  const TensorType x = f32({4, 3}), scale = f32({4, 1}), zero = i64({4, 1});
  EXPECT_EQ(infer(Op::quantize_by, {x, scale, zero}, IntegerAttrs{}), "i8[4,3]");
  EXPECT_EQ(infer(Op::quantize_by, {x, f32({5, 1}), zero}, IntegerAttrs{}),
            "error: expected a scale and zero point that broadcast to f32[4,3], found f32[5,1]");
  EXPECT_EQ(infer(Op::quantize_by, {x, scale, f32({4, 1})}, IntegerAttrs{}),
            "error: expected a zero point of plain integers, found f32[4,1]");
  EXPECT_EQ(infer(Op::quantize_by, {x, scale, zero}, IntegerAttrs{DType::i8, -129, 127}),
            "error: the range [-129,127] is none of i8");
  EXPECT_EQ(infer(Op::choose_scale, {x}, ChooseAttrs{{1}}), "f32[4,1]");
  EXPECT_EQ(infer(Op::choose_scale, {x}, ChooseAttrs{{1}, 5, 5}),
            "error: the range [5,5] is empty");
  EXPECT_EQ(infer(Op::choose_scale, {f32({4, 0})}, ChooseAttrs{{1}}),
            "error: expected elements along axis 1, found f32[4,0]");
}

TEST(InferQuantisation, OfOtherIntegers) {
  const QuantisationAttrs bytes{per_tensor(DType::i8, 0.5f, 0)};
  EXPECT_EQ(infer(Op::reinterpret, {f32({4})}, bytes), "error: expected integers, found f32[4]");
  EXPECT_EQ(infer(Op::reinterpret, {i64({4})}, bytes),
            "error: expected i8 for this quantisation, found i64[4]");
  EXPECT_EQ(infer(Op::dequantize, {i64({4})}), "error: expected a quantised operand, found i64[4]");
}

TEST(InferWindow, GridSample) {
  const GridSampleAttrs attrs;
  EXPECT_EQ(infer(Op::grid_sample, {f32({1, 4, 4, 3}), f32({1, 2, 5, 2})}, attrs), "f32[1,2,5,3]");
  EXPECT_EQ(infer(Op::grid_sample, {f32({1, 4, 4, 3}), f32({2, 2, 5, 2})}, attrs),
            "error: expected an image [n,h,w,c] and a grid [n,rows,columns,2], found f32[1,4,4,3] "
            "and f32[2,2,5,2]");
  EXPECT_EQ(infer(Op::grid_sample, {f32({1, 0, 4, 3}), f32({1, 2, 5, 2})}, attrs),
            "error: expected an image with pixels, found f32[1,0,4,3]");
}

}  // namespace
}  // namespace layline
