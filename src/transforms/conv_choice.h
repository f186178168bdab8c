// What the passes share that turn a convolution into others if the target's costs say so:
// unfold_convs, winograd_convs, split_depthwise, real_depthwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/graph.h"
#include "layout/cost.h"
#include "transforms/pass.h"
#include "transforms/rewrite.h"

namespace layline {

/// The sizes of a convolution over two axes, channels last.
struct ConvSizes {
  int64_t batch, height, width, channels;  // the input's, without padding
  int64_t rows, columns;                   // the window's
  int64_t out_height, out_width, out_channels;

  int64_t out_pixels() const { return batch * out_height * out_width; }
  double products(int64_t groups) const {
    return static_cast<double>(out_pixels() * out_channels) *
           static_cast<double>(rows * columns * (channels / groups));
  }
};

/// The sizes; nullopt for convolutions that these passes leave alone: 1-d and 3-d windows, weights
/// that are computed, dynamic or empty sizes.
std::optional<ConvSizes> conv_sizes(const Node& conv);
/// Like conv_sizes, but also nullopt for numbers other than f32.
std::optional<ConvSizes> float_conv_sizes(const Node& conv);

/// The time of `count` products, in microseconds.
double products_us(double count, int64_t fs_each);
/// The time that adding two f32 tensors takes: as much as copying both.
int64_t addition_ps(const MoveCosts& moves, int64_t elements, int64_t run);

/// Whether something else saves a fifth of the convolution's time; less could be the error of the
/// estimate. Explains the decision either way.
bool pays(PassContext& context, const Node& conv, double as_it_is_us, double instead_us,
          std::string_view instead);

}  // namespace layline
