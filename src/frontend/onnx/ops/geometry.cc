// Regions of images, patches, elements put elsewhere, and determinants.
#include <algorithm>
#include <cstdlib>

#include "frontend/onnx/ops/rules.h"
#include "frontend/onnx/ops/window.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/deform_conv.h"
#include "frontend/ops/determinant.h"
#include "frontend/ops/index.h"
#include "frontend/ops/pad.h"
#include "frontend/ops/roi_align.h"
#include "frontend/ops/scatter.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/unfold.h"

namespace layline::onnx {
namespace {

void det(Call& call) { call.result(ops::determinant(call, call.input(0))); }

void col2im(Call& call) {
  const Ints image = call.integers(1, "`image_shape`"), kernel = call.integers(2, "`block_shape`");
  const size_t axes = image.size();
  ops::Patches patches;
  patches.kernel = kernel;
  patches.stride = call.ints("strides", Ints(axes, 1));
  patches.dilation = call.ints("dilations", Ints(axes, 1));
  const Ints pads = call.ints("pads", Ints(2 * axes, 0));
  if (kernel.size() != axes || patches.stride.size() != axes || patches.dilation.size() != axes ||
      pads.size() != 2 * axes)
    call.fail("has {} axes, but other lists are of other lengths", axes);
  const auto behind = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  patches.padding.assign(pads.begin(), behind);
  call.result(ops::col2im(call, call.input(0), image, patches, Ints(behind, pads.end())));
}

/// Crops what is too long and pads what is too short; an odd element is cut off or added behind.
void center_crop_pad(Call& call) {
  Value* x = call.input(0);
  const Ints sizes = call.integers(1, "`shape`");
  const Ints given = call.ints("axes", ops::all_axes(x));
  if (given.size() != sizes.size())
    call.fail("has {} sizes for {} axes", sizes.size(), given.size());
  call.axes(given, x->type().rank());  // each once
  PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, 0};
  for (size_t i = 0; i < given.size(); ++i) {
    const int64_t axis = call.axis(given[i], x->type().rank());
    const int64_t more = sizes[i] - ops::static_length(call, x, axis);
    if (sizes[i] < 0) call.fail("the size {} is negative", sizes[i]);
    pad.low[static_cast<size_t>(axis)] = more / 2;
    pad.high[static_cast<size_t>(axis)] = more - more / 2;
  }
  call.result(ops::pad(call, x, std::move(pad)));
}

/// The inverse of a max pool with indices, which count the elements of the whole tensor.
void max_unpool(Call& call) {
  Value* x = call.input(0);
  const Window window = read_window(call, x, call.ints("kernel_shape", {}));
  if (!is_static(x->shape()))
    call.fail("takes no {}; fix its sizes with --dim", to_string(x->type()));
  Shape shape = x->shape();
  for (size_t i = 0; i < window.kernel.size(); ++i)
    shape[i + 2] = (shape[i + 2].value() - 1) * window.stride[i] + window.kernel[i] -
                   window.low[i] - window.high[i];
  const Dim count = element_count(x->shape());
  Value* zeros = ops::filled(call, {x->dtype(), {element_count(shape)}}, 0);
  Value* places = call.view(call.input(1), {count});
  Value* values = call.view(x, {count});
  Value* y = call.view(ops::scatter(call, Op::scatter_elements, zeros, places, values, 0), shape);
  if (call.has(2)) {
    const Ints wanted = call.integers(2, "`output_shape`");
    if (wanted.size() != shape.size()) call.fail("`output_shape` has {} sizes", wanted.size());
    PadAttrs pad{Ints(wanted.size(), 0), Ints(wanted.size(), 0), PadMode::constant, 0};
    for (size_t i = 0; i < wanted.size(); ++i) pad.high[i] = wanted[i] - shape[i].value();
    y = ops::pad(call, y, std::move(pad));
  }
  call.result(y);
}

void roi_align(Call& call) {
  const std::string_view mode = call.string("mode", "avg");
  if (mode != "avg" && mode != "max") call.fail("there is no mode `{}`", mode);
  // Before opset 16, coordinates are those of the pixels' corners.
  const std::string_view coordinates = call.string(
      "coordinate_transformation_mode", call.opset() < 16 ? "output_half_pixel" : "half_pixel");
  ops::RoiAlign how{};
  how.rows = call.integer("output_height", 1);
  how.columns = call.integer("output_width", 1);
  how.samples = call.integer("sampling_ratio", 0);
  how.scale = call.number("spatial_scale", 1);
  how.half_pixel = coordinates == "half_pixel";
  how.greatest = mode == "max";
  if (how.samples < 1)
    call.fail(
        "takes as many samples as a region is large, which is not supported; set `sampling_ratio`");
  if (how.rows < 1 || how.columns < 1) call.fail("makes regions of {}x{}", how.rows, how.columns);
  call.result(ops::roi_align(call, call.input(0), call.input(1),
                             call.convert(call.input(2), DType::i64), how));
}

void deform_conv(Call& call) {
  Value* x = call.input(0);
  Value* weight = call.input(1);
  if (weight->shape().size() != 4) call.fail("only images are supported");
  const Window window = read_window(
      call, x, {ops::static_length(call, weight, 2), ops::static_length(call, weight, 3)});
  ops::DeformedWindow deformed;
  deformed.stride = window.stride;
  deformed.dilation = window.dilation;
  deformed.low = window.low;
  deformed.groups = call.integer("group", 1);
  deformed.offset_groups = call.integer("offset_group", 1);
  call.result(ops::deform_conv(call, x, weight, call.optional(3), call.input(2), call.optional(4),
                               deformed));
}

/// Reverses the first elements of each sequence, as many as its length says.
void reverse_sequence(Call& call) {
  Value* x = call.input(0);
  const int64_t rank = x->type().rank();
  const int64_t time = call.axis(call.integer("time_axis", 0), rank);
  const int64_t batch = call.axis(call.integer("batch_axis", 1), rank);
  if (time == batch) call.fail("has one axis for time and batch");
  Shape along(x->shape().size(), 1), across = along;
  along[static_cast<size_t>(time)] = x->shape()[static_cast<size_t>(time)];
  across[static_cast<size_t>(batch)] = x->shape()[static_cast<size_t>(batch)];
  Value* lengths = ops::view(call, call.convert(call.input(1), DType::i64), across);
  Value* place = ops::arange(call, {DType::i64, along}, 0, 1);
  Value* last = call.add(Op::sub, {lengths, call.scalar(DType::i64, 1)});
  Value* mirrored = call.add(Op::sub, {last, place});
  Value* within = call.add(Op::less, {place, lengths});
  Value* index = call.add(Op::where, {within, mirrored, place});
  call.result(ops::take_along_axis(call, x, index, time));
}

/// The same bits as another type. Programs have no op for this; constants can be read anew.
void bit_cast(Call& call) {
  Value* x = call.input(0);
  const DType to = call.dtype("to", x->dtype());
  if (to == x->dtype()) return call.result(x);
  if (byte_size(to) != byte_size(x->dtype()))
    call.fail("from {} to {}, which has another size", name(x->dtype()), name(to));
  if (x->dtype() == DType::boolean) return call.result(call.convert(x, to));
  const Tensor& known = call.known(0, "a tensor whose bits are read as another type");
  const auto bytes = known.bytes();
  call.result(call.constant(Tensor({to, x->shape()}, {bytes.begin(), bytes.end()})));
}

/// Elements of the last axis. A vector counts as one row.
void array_feature_extractor(Call& call) {
  Value* x = call.input(0);
  if (x->shape().size() < 2) x = call.view(x, {1, element_count(x->shape())});
  Value* places = call.convert(call.input(1), DType::i64);
  places = call.view(places, {element_count(places->shape())});
  call.result(ops::gather(call, x, places, x->type().rank() - 1));
}

void binarizer(Call& call) {
  Value* x = call.input(0);
  Value* bound = call.scalar(x->dtype(), call.number("threshold", 0));
  call.result(call.convert(call.add(Op::greater, {x, bound}), x->dtype()));
}

/// (x - offset) * scale; one of each for all columns, or one for every column.
void scaler(Call& call) {
  Value* x = call.convert(call.input(0), DType::f32);
  auto list = [&](std::string_view attribute) -> Value* {
    const std::vector<double> numbers = call.numbers(attribute);
    if (numbers.empty()) return nullptr;
    Tensor tensor({DType::f32, {std::ssize(numbers)}});
    for (size_t i = 0; i < numbers.size(); ++i) tensor.set(static_cast<int64_t>(i), numbers[i]);
    return call.constant(tensor);
  };
  if (Value* offset = list("offset")) x = call.add(Op::sub, {x, offset});
  if (Value* scale = list("scale")) x = call.add(Op::mul, {x, scale});
  call.result(x);
}

void non_max_suppression(Call& call) {
  call.fail(
      "how many boxes it keeps is known only when the model runs, which is not supported; end the "
      "model before it, with the boxes and scores as outputs, and choose among them afterwards");
}

constexpr OpRule kRules[] = {
    {"Det", det},
    {"Col2Im", col2im},
    {"CenterCropPad", center_crop_pad},
    {"MaxUnpool", max_unpool},
    {"RoiAlign", roi_align},
    {"DeformConv", deform_conv},
    {"ReverseSequence", reverse_sequence},
    {"BitCast", bit_cast},
    {"NonMaxSuppression", non_max_suppression},
    {"ai.onnx.ml.ArrayFeatureExtractor", array_feature_extractor},
    {"ai.onnx.ml.Binarizer", binarizer},
    {"ai.onnx.ml.Scaler", scaler},
};

}  // namespace

std::span<const OpRule> geometry_rules() { return kRules; }

}  // namespace layline::onnx
