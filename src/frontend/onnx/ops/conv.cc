// Convolutions.
#include "frontend/ops/conv.h"

#include <algorithm>
#include <limits>

#include "frontend/onnx/ops/conv.h"
#include "frontend/onnx/ops/rules.h"
#include "frontend/onnx/ops/window.h"
#include "frontend/ops/pad.h"

namespace layline::onnx {
namespace {

/// The sizes of the window: an attribute, or those of the weight.
Ints kernel_of(const Call& call, const Value* weight) {
  Ints kernel;
  for (size_t i = 2; i < weight->shape().size(); ++i) kernel.push_back(weight->shape()[i].value());
  if (const Ints given = call.ints("kernel_shape", kernel); given != kernel)
    call.fail("`kernel_shape` does not fit the weight {}", to_string(weight->type()));
  return kernel;
}

void conv(Call& call) {
  Value* x = call.input(0);
  call.result(convolve(call, x, call.input(1), call.optional(2)));
}

/// The pads of a transposed convolution crop its result. `output_shape`, if given, decides them.
void conv_transpose(Call& call) {
  Value* x = call.input(0);
  Value* weight = call.input(1);
  const Ints kernel = kernel_of(call, weight);
  const size_t spatial = kernel.size();
  const std::string_view mode = call.string("auto_pad", "NOTSET");
  ConvTransposeAttrs attrs;
  attrs.extra = call.ints("output_padding", Ints(spatial, 0));
  if (attrs.extra.size() != spatial)
    call.fail("`output_padding` has {} entries", attrs.extra.size());
  attrs.groups = call.integer("group", 1);
  Ints sizes = call.ints("output_shape", {});
  if (sizes.size() == spatial + 2) sizes.erase(sizes.begin(), sizes.begin() + 2);
  Window window = read_window(call, x, kernel);
  attrs.stride = window.stride;
  attrs.dilation = window.dilation;
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!sizes.empty() || same) {
    if (!sizes.empty() && sizes.size() != spatial)
      call.fail("`output_shape` has {} entries", sizes.size());
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t reach = (kernel[i] - 1) * window.dilation[i] + 1;
      int64_t total = reach + attrs.extra[i] - window.stride[i];  // for length * stride elements
      if (!sizes.empty()) {
        if (!x->shape()[i + 2].is_static())
          call.fail("has `output_shape`, but its input is {}; fix it with --dim",
                    to_string(x->type()));
        const int64_t length = x->shape()[i + 2].value();
        total = window.stride[i] * (length - 1) + attrs.extra[i] + reach - sizes[i];
      }
      if (total < 0) {  // more elements than the convolution gives: zeros behind
        attrs.extra[i] -= total;
        total = 0;
      }
      window.high[i] = mode == "SAME_UPPER" ? total - total / 2 : total / 2;
      window.low[i] = total - window.high[i];
      if (mode == "SAME_UPPER") std::swap(window.low[i], window.high[i]);
    }
  }
  attrs.low = window.low;
  attrs.high = window.high;
  call.result(ops::conv_transpose(call, x, weight, call.optional(2), std::move(attrs)));
}

constexpr OpRule kRules[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
};

}  // namespace

Value* convolve(const Call& call, Value* x, Value* weight, Value* bias) {
  Window window = read_window(call, x, kernel_of(call, weight));
  const auto crops = [](int64_t pad) { return pad < 0; };
  if (std::ranges::any_of(window.low, crops) || std::ranges::any_of(window.high, crops)) {
    PadAttrs crop{Ints(2, 0), Ints(2, 0), PadMode::constant, 0};
    for (size_t i = 0; i < window.low.size(); ++i) {
      crop.low.push_back(std::min<int64_t>(window.low[i], 0));
      crop.high.push_back(std::min<int64_t>(window.high[i], 0));
      window.low[i] = std::max<int64_t>(window.low[i], 0);
      window.high[i] = std::max<int64_t>(window.high[i], 0);
    }
    x = ops::pad(call, x, std::move(crop));
  }
  ConvAttrs attrs;
  attrs.stride = window.stride;
  attrs.dilation = window.dilation;
  attrs.low = window.low;
  attrs.high = window.high;
  attrs.groups = call.integer("group", 1);
  return ops::conv(call, x, weight, bias, std::move(attrs));
}

std::span<const OpRule> conv_rules() { return kRules; }

}  // namespace layline::onnx
