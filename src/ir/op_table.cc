// The table of core ops. To add an op: its name in the enum, its row here, its rules in ops/.
#include <algorithm>
#include <array>
#include <type_traits>

#include "base/error.h"
#include "ir/op.h"
#include "ir/ops/op_rules.h"

namespace layline {
namespace {

using namespace rules;

template <typename Wanted, size_t i = 0>
constexpr size_t alternative() {
  if constexpr (std::is_same_v<std::variant_alternative_t<i, AnyAttrs>, Wanted>)
    return i;
  else
    return alternative<Wanted, i + 1>();
}

// One line for each op: name, class, attributes, least and greatest number of operands and their
// names, and the infer rule; the evaluator is named after the op.
#define OP(op, op_class, attrs, least, greatest, operands, infer)                    \
  OpInfo {                                                                           \
    Op::op, #op, OpClass::op_class, least, greatest, operands, alternative<attrs>(), \
        infer_##infer, evaluate_##op                                                 \
  }
// clang-format off
constexpr std::array kRows = {
  OP(constant,       constant,    ConstantAttrs,      0, 0,  "",              constant),
  OP(relayout,       movement,    RelayoutAttrs,      1, 1,  "x",             relayout),
  OP(expand,         movement,    ShapeAttrs,         1, 1,  "x",             expand),
  OP(slice,          movement,    SliceAttrs,         1, 1,  "x",             slice),
  OP(counted_slice,  movement,    CountedSliceAttrs,  2, 2,  "data count",    counted_slice),
  OP(concat,         movement,    AxisAttrs,          1, -1, "parts",         concat),
  OP(pad,            movement,    PadAttrs,           1, 1,  "x",             pad),
  OP(flip,           movement,    AxesAttrs,          1, 1,  "x",             flip),
  OP(roll,           movement,    RollAttrs,          1, 1,  "x",             roll),
  OP(gather,         movement,    AxisAttrs,          2, 2,  "data indices",  gather),
  OP(gather_elements, movement,   AxisAttrs,          2, 2,  "data indices",  gather_elements),
  OP(scatter,        movement,    AxisAttrs,          3, 3,  "data indices updates", scatter),
  OP(scatter_elements, movement,  AxisAttrs,          3, 3,  "data indices updates", scatter_elements),
  OP(scatter_add,    movement,    AxisAttrs,          3, 3,  "data indices updates", scatter_add),
  OP(add,            elementwise, BinaryAttrs,        2, 2,  "a b",           bounded_binary),
  OP(sub,            elementwise, BinaryAttrs,        2, 2,  "a b",           bounded_binary),
  OP(mul,            elementwise, BinaryAttrs,        2, 2,  "a b",           bounded_binary),
  OP(div,            elementwise, BinaryAttrs,        2, 2,  "a b",           bounded_float_binary),
  OP(minimum,        elementwise, NoAttrs,            2, 2,  "a b",           any_binary),
  OP(maximum,        elementwise, NoAttrs,            2, 2,  "a b",           any_binary),
  OP(pow,            elementwise, NoAttrs,            2, 2,  "a b",           numeric_binary),
  OP(floor_div,      elementwise, NoAttrs,            2, 2,  "a b",           numeric_binary),
  OP(remainder,      elementwise, NoAttrs,            2, 2,  "a b",           numeric_binary),
  OP(fmod,           elementwise, NoAttrs,            2, 2,  "a b",           numeric_binary),
  OP(equal,          elementwise, NoAttrs,            2, 2,  "a b",           comparison),
  OP(not_equal,      elementwise, NoAttrs,            2, 2,  "a b",           comparison),
  OP(less,           elementwise, NoAttrs,            2, 2,  "a b",           comparison),
  OP(less_equal,     elementwise, NoAttrs,            2, 2,  "a b",           comparison),
  OP(greater,        elementwise, NoAttrs,            2, 2,  "a b",           comparison),
  OP(greater_equal,  elementwise, NoAttrs,            2, 2,  "a b",           comparison),
  OP(logical_and,    elementwise, NoAttrs,            2, 2,  "a b",           logical_binary),
  OP(logical_or,     elementwise, NoAttrs,            2, 2,  "a b",           logical_binary),
  OP(logical_xor,    elementwise, NoAttrs,            2, 2,  "a b",           logical_binary),
  OP(bitwise_and,    elementwise, NoAttrs,            2, 2,  "a b",           integer_binary),
  OP(bitwise_or,     elementwise, NoAttrs,            2, 2,  "a b",           integer_binary),
  OP(bitwise_xor,    elementwise, NoAttrs,            2, 2,  "a b",           integer_binary),
  OP(left_shift,     elementwise, NoAttrs,            2, 2,  "a b",           integer_binary),
  OP(right_shift,    elementwise, NoAttrs,            2, 2,  "a b",           integer_binary),
  OP(atan2,          elementwise, NoAttrs,            2, 2,  "y x",           float_binary),
  OP(prelu,          elementwise, NoAttrs,            2, 2,  "x slope",       prelu),
  OP(where,          elementwise, NoAttrs,            3, 3,  "condition a b", where),
  OP(abs,            elementwise, NoAttrs,            1, 1,  "x",             numeric_unary),
  OP(neg,            elementwise, NoAttrs,            1, 1,  "x",             numeric_unary),
  OP(exp,            elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(expm1,          elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(log,            elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(log1p,          elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(sqrt,           elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(rsqrt,          elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(reciprocal,     elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(sin,            elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(cos,            elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(atan,           elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(asin,           elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(acos,           elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(sinh,           elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(cosh,           elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(asinh,          elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(acosh,          elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(atanh,          elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(tanh,           elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(sigmoid,        elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(erf,            elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(floor,          elementwise, NoAttrs,            1, 1,  "x",             numeric_unary),
  OP(ceil,           elementwise, NoAttrs,            1, 1,  "x",             numeric_unary),
  OP(round,          elementwise, NoAttrs,            1, 1,  "x",             numeric_unary),
  OP(trunc,          elementwise, NoAttrs,            1, 1,  "x",             numeric_unary),
  OP(square,         elementwise, NoAttrs,            1, 1,  "x",             numeric_unary),
  OP(sign,           elementwise, NoAttrs,            1, 1,  "x",             numeric_unary),
  OP(logical_not,    elementwise, NoAttrs,            1, 1,  "x",             logical_not),
  OP(hardswish,      elementwise, NoAttrs,            1, 1,  "x",             float_unary),
  OP(gelu,           elementwise, GeluAttrs,          1, 1,  "x",             float_unary),
  OP(elu,            elementwise, AlphaAttrs,         1, 1,  "x",             float_unary),
  OP(leaky_relu,     elementwise, AlphaAttrs,         1, 1,  "x",             float_unary),
  OP(clamp,          elementwise, ClampAttrs,         1, 1,  "x",             clamp),
  OP(convert,        elementwise, ConvertAttrs,       1, 1,  "x",             convert),
  OP(quantize,       elementwise, QuantisationAttrs,  1, 1,  "x",             quantize),
  OP(dequantize,     elementwise, NoAttrs,            1, 1,  "x",             dequantize),
  OP(reinterpret,    elementwise, QuantisationAttrs,  1, 1,  "x",             reinterpret),
  OP(quantize_by,    elementwise, IntegerAttrs,       3, 3,  "x scale zero_point", quantize_by),
  OP(dequantize_by,  elementwise, NoAttrs,            3, 3,  "x scale zero_point", dequantize_by),
  OP(linear,         contraction, LinearAttrs,        2, 3,  "x weight bias", linear),
  OP(matmul,         contraction, MatmulAttrs,        2, 2,  "a b",           matmul),
  OP(causal_attention, contraction, NoAttrs,          4, 4,  "q k v start",   causal_attention),
  OP(conv,           contraction, ConvAttrs,          2, 3,  "x weight bias", conv),
  OP(conv_transpose, contraction, ConvTransposeAttrs, 2, 3,  "x weight bias", conv_transpose),
  OP(max_pool,       window,      PoolAttrs,          1, 1,  "x",             pool),
  OP(avg_pool,       window,      PoolAttrs,          1, 1,  "x",             pool),
  OP(resize,         window,      ResizeAttrs,        1, 1,  "x",             resize),
  OP(grid_sample,    window,      GridSampleAttrs,    2, 2,  "x grid",        grid_sample),
  OP(reduce_sum,     axis,        AxesAttrs,          1, 1,  "x",             reduce_numeric),
  OP(reduce_mean,    axis,        AxesAttrs,          1, 1,  "x",             reduce_float),
  OP(reduce_max,     axis,        AxesAttrs,          1, 1,  "x",             reduce_extremum),
  OP(reduce_min,     axis,        AxesAttrs,          1, 1,  "x",             reduce_extremum),
  OP(reduce_prod,    axis,        AxesAttrs,          1, 1,  "x",             reduce_numeric),
  OP(reduce_any,     axis,        AxesAttrs,          1, 1,  "x",             reduce_logical),
  OP(reduce_all,     axis,        AxesAttrs,          1, 1,  "x",             reduce_logical),
  OP(argmax,         axis,        AxisAttrs,          1, 1,  "x",             arg_extremum),
  OP(argmin,         axis,        AxisAttrs,          1, 1,  "x",             arg_extremum),
  OP(argsort,        axis,        AxisAttrs,          1, 1,  "x",             argsort),
  OP(softmax,        axis,        AxisAttrs,          1, 1,  "x",             softmax),
  OP(log_softmax,    axis,        AxisAttrs,          1, 1,  "x",             softmax),
  OP(cumsum,         axis,        AxisAttrs,          1, 1,  "x",             cumsum),
  OP(normalize,      axis,        NormalizeAttrs,     1, 1,  "x",             normalize),
  OP(choose_scale,   axis,        ChooseAttrs,        1, 1,  "x",             choose_scale),
  OP(choose_zero_point, axis,     ChooseAttrs,        1, 1,  "x",             choose_zero_point),
  OP(scan,           axis,        ScanAttrs,          1, -1, "inputs",        scan),
};
// clang-format on
#undef OP

constexpr bool in_enum_order() {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].op != static_cast<Op>(i)) return false;
  return true;
}
static_assert(kRows.size() == kOpCount, "an op has no row");
static_assert(in_enum_order(), "the rows stand in the order of the enum");

}  // namespace

const OpInfo& info(Op op) {
  LAYLINE_ASSERT(static_cast<size_t>(op) < kRows.size(), "no op {}", static_cast<int>(op));
  return kRows[static_cast<size_t>(op)];
}

std::span<const OpInfo> all_ops() { return kRows; }

std::optional<Op> parse_op(std::string_view name) {
  const auto* found = std::ranges::find(kRows, name, &OpInfo::name);
  if (found == kRows.end()) return std::nullopt;
  return found->op;
}

}  // namespace layline
