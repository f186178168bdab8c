// The rules that the rows of op_table.cc name, family by family: what an op's result type is
// (infer_*) and what its elements are (evaluate_*).
#pragma once

#include <span>

#include "algebra/symbols.h"
#include "ir/attributes.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace layline::rules {

using Types = std::span<const TensorType>;
using Tensors = std::span<const Tensor>;

using InferRule = TensorType(Types operands, const Attributes& attributes, SymbolTable& symbols);
using EvaluateRule = Tensor(Tensors operands, const Attributes& attributes,
                            const TensorType& result);

// movement.cc
InferRule infer_constant, infer_relayout, infer_expand, infer_slice, infer_counted_slice,
    infer_concat, infer_pad, infer_flip, infer_roll, infer_gather, infer_gather_elements,
    infer_scatter, infer_scatter_elements, infer_scatter_add;
EvaluateRule evaluate_constant, evaluate_relayout, evaluate_expand, evaluate_slice,
    evaluate_counted_slice, evaluate_concat, evaluate_pad, evaluate_flip, evaluate_roll,
    evaluate_gather, evaluate_gather_elements, evaluate_scatter, evaluate_scatter_elements,
    evaluate_scatter_add;

// elementwise.cc
InferRule infer_bounded_binary, infer_bounded_float_binary, infer_numeric_binary, infer_any_binary,
    infer_integer_binary, infer_float_binary, infer_comparison, infer_logical_binary, infer_prelu,
    infer_where, infer_numeric_unary, infer_float_unary, infer_logical_not, infer_clamp,
    infer_convert;

// binary.cc
EvaluateRule evaluate_add, evaluate_sub, evaluate_mul, evaluate_div, evaluate_minimum,
    evaluate_maximum, evaluate_pow, evaluate_floor_div, evaluate_remainder, evaluate_fmod,
    evaluate_equal, evaluate_not_equal, evaluate_less, evaluate_less_equal, evaluate_greater,
    evaluate_greater_equal, evaluate_logical_and, evaluate_logical_or, evaluate_logical_xor,
    evaluate_bitwise_and, evaluate_bitwise_or, evaluate_bitwise_xor, evaluate_left_shift,
    evaluate_right_shift, evaluate_atan2, evaluate_prelu, evaluate_where;

// unary.cc
EvaluateRule evaluate_abs, evaluate_neg, evaluate_exp, evaluate_expm1, evaluate_log, evaluate_log1p,
    evaluate_sqrt, evaluate_rsqrt, evaluate_reciprocal, evaluate_sin, evaluate_cos, evaluate_atan,
    evaluate_asin, evaluate_acos, evaluate_sinh, evaluate_cosh, evaluate_asinh, evaluate_acosh,
    evaluate_atanh, evaluate_tanh, evaluate_sigmoid, evaluate_erf, evaluate_floor, evaluate_ceil,
    evaluate_round, evaluate_trunc, evaluate_square, evaluate_sign, evaluate_logical_not,
    evaluate_hardswish, evaluate_gelu, evaluate_elu, evaluate_leaky_relu, evaluate_clamp,
    evaluate_convert;

// contraction.cc
InferRule infer_linear, infer_matmul, infer_causal_attention, infer_conv, infer_conv_transpose;
EvaluateRule evaluate_linear, evaluate_matmul, evaluate_causal_attention, evaluate_conv,
    evaluate_conv_transpose;

// window.cc
InferRule infer_pool, infer_resize;
EvaluateRule evaluate_max_pool, evaluate_avg_pool, evaluate_resize;

// grid_sample.cc
InferRule infer_grid_sample;
EvaluateRule evaluate_grid_sample;

// axis.cc
InferRule infer_reduce_numeric, infer_reduce_float, infer_reduce_extremum, infer_reduce_logical,
    infer_arg_extremum, infer_argsort, infer_softmax, infer_cumsum, infer_normalize;
EvaluateRule evaluate_reduce_sum, evaluate_reduce_mean, evaluate_reduce_max, evaluate_reduce_min,
    evaluate_reduce_prod, evaluate_reduce_any, evaluate_reduce_all, evaluate_argmax,
    evaluate_argmin, evaluate_argsort, evaluate_softmax, evaluate_log_softmax, evaluate_cumsum,
    evaluate_normalize;

// scan.cc
InferRule infer_scan;
EvaluateRule evaluate_scan;

// quantisation.cc
InferRule infer_quantize, infer_dequantize, infer_reinterpret, infer_quantize_by,
    infer_dequantize_by, infer_choose_scale, infer_choose_zero_point;
EvaluateRule evaluate_quantize, evaluate_dequantize, evaluate_reinterpret, evaluate_quantize_by,
    evaluate_dequantize_by, evaluate_choose_scale, evaluate_choose_zero_point;

}  // namespace layline::rules
