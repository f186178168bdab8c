#include "targets/xnnpack/operator_names.h"

#include <algorithm>

#include "schema/xnnpack_generated.h"

namespace layline::xnnpack {
namespace {

using fb_xnnpack::XNodeUnion;

/// The name of an operator, without the types and kernels that follow it in brackets.
struct OperatorName {
  XNodeUnion kind;
  std::string_view name;
};
constexpr OperatorName kOperatorNames[] = {
    {XNodeUnion::XNNAbs, "Abs"},
    {XNodeUnion::XNNAdd, "Add"},
    {XNodeUnion::XNNArgMaxPooling2d, "ArgMax Pooling"},
    {XNodeUnion::XNNAvgPooling2d, "Average Pooling"},
    {XNodeUnion::XNNBatchMatrixMultiply, "Batch Matrix Multiply"},
    {XNodeUnion::XNNCeiling, "Ceiling"},
    {XNodeUnion::XNNClamp, "Clamp"},
    {XNodeUnion::XNNConcatenate2, "Copy"},
    {XNodeUnion::XNNConcatenate3, "Copy"},
    {XNodeUnion::XNNConcatenate4, "Copy"},
    {XNodeUnion::XNNConcatenate5, "Copy"},
    {XNodeUnion::XNNConv2d, "Convolution"},
    {XNodeUnion::XNNConv2d, "Fully Connected"},  // 1x1
    {XNodeUnion::XNNConvTranspose2d, "Deconvolution"},
    {XNodeUnion::XNNConvert, "Convert"},
    {XNodeUnion::XNNCopy, "Copy"},
    {XNodeUnion::XNNCos, "Cosine"},
    {XNodeUnion::XNNDepthwiseConv2d, "Convolution"},
    {XNodeUnion::XNNDiv, "Divide"},
    {XNodeUnion::XNNELU, "ELU"},
    {XNodeUnion::XNNExp, "Exp"},
    {XNodeUnion::XNNFloor, "Floor"},
    {XNodeUnion::XNNFullyConnected, "Dynamic Fully Connected"},
    {XNodeUnion::XNNFullyConnected, "Fully Connected"},
    {XNodeUnion::XNNGelu, "GELU"},
    {XNodeUnion::XNNGlobalAvgPooling2d, "Mean"},
    {XNodeUnion::XNNHardswish, "HardSwish"},
    {XNodeUnion::XNNLeakyReLU, "LeakyReLU"},
    {XNodeUnion::XNNLog, "Log"},
    {XNodeUnion::XNNMaxPooling2d, "Max Pooling"},
    {XNodeUnion::XNNMaximum, "Maximum"},
    {XNodeUnion::XNNMinimum, "Minimum"},
    {XNodeUnion::XNNMultiply, "Multiply"},
    {XNodeUnion::XNNNegate, "Negate"},
    {XNodeUnion::XNNPReLU, "PReLU"},
    {XNodeUnion::XNNReciprocalSquareRoot, "Reciprocal Square Root"},
    {XNodeUnion::XNNSigmoid, "Sigmoid"},
    {XNodeUnion::XNNSin, "Sine"},
    {XNodeUnion::XNNSoftmax, "Softmax"},
    {XNodeUnion::XNNSquare, "Square"},
    {XNodeUnion::XNNSquareRoot, "Square Root"},
    {XNodeUnion::XNNStaticConstantPad, "Constant Pad"},
    {XNodeUnion::XNNStaticReshape, "Static Reshape"},
    {XNodeUnion::XNNStaticResizeBilinear2D, "Resize Bilinear"},
    {XNodeUnion::XNNStaticSlice, "Slice"},
    {XNodeUnion::XNNStaticTranspose, "Transpose"},
    {XNodeUnion::XNNSubtract, "Subtract"},
    {XNodeUnion::XNNTanh, "TanH"},
};

}  // namespace

bool can_become(int kind, std::string_view name) {
  name = name.substr(0, name.find(" ("));
  return std::ranges::any_of(kOperatorNames, [&](const OperatorName& row) {
    return static_cast<int>(row.kind) == kind && row.name == name;
  });
}

}  // namespace layline::xnnpack
