#include "targets/tosa/index_rules.h"

#include <array>
#include <optional>

#include "ir/tensor.h"
#include "targets/tosa/formula.h"
#include "transforms/rewrite.h"

namespace layline::tosa {
namespace {

/// A limit on comparisons with every place: they are all in one tensor.
constexpr int64_t kMostComparisons = int64_t{1} << 26;

/// The axes in order, with one of them last; and how to undo it.
struct AxisLast {
  std::vector<int> there, back;

  AxisLast(size_t rank, int64_t axis) : back(rank) {
    for (int a = 0; a < static_cast<int>(rank); ++a)
      if (a != axis) there.push_back(a);
    there.push_back(static_cast<int>(axis));
    for (size_t i = 0; i < rank; ++i) back[static_cast<size_t>(there[i])] = static_cast<int>(i);
  }
};

/// The numbers 0, 1, 2 ... along one axis of the shape, whose other axes are 1.
Value* counting(const Builder& build, DType dtype, Shape shape) {
  Tensor numbers({dtype, std::move(shape)});
  for (int64_t i = 0; i < numbers.count(); ++i) numbers.set_int(i, i);
  return build.constant(numbers);
}

Value* sum(const Builder& build, Value* x, int64_t axis) {
  return build.add(Op::reduce_sum, {x}, AxesAttrs{{axis}});
}

/// The indices of a scatter, compared with every place of the data along the axis.
class Places {
 public:
  /// Nothing if there are too many comparisons.
  static std::optional<Places> of(const Builder& build, const Node& node) {
    const int64_t length =
        node.operand(0)->shape()[static_cast<size_t>(node.attrs<AxisAttrs>().axis)].value();
    const int64_t all = element_count(node.operand(1)->shape()).value();
    if (all == 0 || length == 0 || all > kMostComparisons / length) return std::nullopt;
    return Places(build, node);
  }

  /// [rows, 1, count]: a number for each index.
  Value* listed(Value* x) const {
    return build_.view(build_.permute(x, last_.there), {rows_, 1, count_});
  }

  /// [rows, length, 1]: a number for each place, as the data has them; 0 for what no index can
  /// name.
  Value* spread(Value* x) const {
    Shape moved;
    for (int a : last_.there)
      moved.push_back(a == last_.there.back() ? length_ : indices_[static_cast<size_t>(a)]);
    Value* y = build_.permute(build_.view(x, moved), last_.back);
    PadAttrs pad{Ints(data_.size(), 0), {}, PadMode::constant, 0};
    for (size_t a = 0; a < data_.size(); ++a)
      pad.high.push_back(data_[a].value() - y->shape()[a].value());
    return build_.add(Op::pad, {y}, std::move(pad));
  }

  Value* is_here;  // [rows, length, count]

 private:
  Places(const Builder& build, const Node& node)
      : build_(build),
        data_(node.operand(0)->shape()),
        indices_(node.operand(1)->shape()),
        last_(indices_.size(), node.attrs<AxisAttrs>().axis),
        length_(data_[static_cast<size_t>(last_.there.back())]),
        count_(indices_[static_cast<size_t>(last_.there.back())]),
        rows_(element_count(indices_).value() / count_.value()) {
    is_here = build.add(Op::equal, {listed(node.operand(1)),
                                    counting(build, node.operand(1)->dtype(), {1, length_, 1})});
  }

  const Builder& build_;
  Shape data_, indices_;
  AxisLast last_;
  Dim length_, count_, rows_;
};

/// The places in pixels that a grid names: rows and columns of an image, for n times P points.
struct Points {
  Value* row;
  Value* column;
};

class GridSample {
 public:
  GridSample(const Builder& build, const Node& node)
      : build_(build),
        f_(build, node),
        attrs_(node.attrs<GridSampleAttrs>()),
        image_(node.operand(0)),
        shape_(image_->shape()),
        points_(element_count(node.operand(1)->shape()).value() / 2),
        first_(build.constant(first_pixels())) {}

  Value* sampled(Value* grid) const {
    Value* pairs = build_.view(grid, {Dim(points_), 2});
    const Points at = {place(build_.slice(pairs, 1, 1, 1), shape_[1].value()),
                       place(build_.slice(pairs, 1, 0, 1), shape_[2].value())};
    if (attrs_.mode == ResizeMode::nearest)
      return pixel({f_.apply(Op::round, at.row), f_.apply(Op::round, at.column)});
    const Points low = {f_.apply(Op::floor, at.row), f_.apply(Op::floor, at.column)};
    const Points high = {f_.plus(low.row, 1), f_.plus(low.column, 1)};
    const Points part = {f_.sub({at.row, low.row}), f_.sub({at.column, low.column})};
    Value* top = mixed({pixel(low), pixel({low.row, high.column})}, part.column);
    Value* bottom = mixed({pixel({high.row, low.column}), pixel(high)}, part.column);
    return mixed({top, bottom}, part.row);
  }

 private:
  Value* mixed(std::array<Value*, 2> pair, Value* part) const {
    return f_.add({f_.mul({f_.sub({f_.number(1), part}), pair[0]}), f_.mul({part, pair[1]})});
  }

  /// The place in pixels of a coordinate from -1 to 1, along an axis of `size`, as torch computes
  /// it.
  Value* place(Value* coordinate, int64_t size) const {
    const auto n = static_cast<double>(size);
    Value* from_0 = f_.plus(coordinate, 1);
    Value* x = attrs_.align_corners ? f_.times(f_.times(from_0, 0.5), n - 1)
                                    : f_.times(f_.plus(f_.times(from_0, n), -1), 0.5);
    if (attrs_.outside == OutsideMode::reflection)
      x = attrs_.align_corners ? reflected(x, 0, n - 1) : reflected(x, -0.5, n - 0.5);
    return attrs_.outside == OutsideMode::zeros ? x : build_.clamp(x, 0, n - 1);
  }

  /// The place, reflected back and forth between `low` and `high`.
  Value* reflected(Value* x, double low, double high) const {
    if (low == high) return f_.times(x, 0);
    const double span = high - low;
    Value* distance = f_.apply(Op::abs, f_.plus(x, -low));
    Value* way = build_.add(Op::fmod, {distance, f_.number(2 * span)});
    Value* returning = f_.sub({f_.number(high + span), way});
    return f_.choose({f_.is(Op::less_equal, way, span), f_.plus(way, low), returning});
  }

  /// The first pixel of each point's image, counted among all images.
  Tensor first_pixels() const {
    Tensor first({DType::i32, {Dim(points_), 1}});
    const int64_t pixels = shape_[1].value() * shape_[2].value();
    const int64_t each = points_ / shape_[0].value();
    for (int64_t i = 0; i < points_; ++i) first.set_int(i, i / each * pixels);
    return first;
  }

  Value* is_within(Value* x, int64_t size) const {
    return f_.is(Op::logical_and,
                 {f_.is(Op::greater_equal, x, 0.0), f_.is(Op::less, x, static_cast<double>(size))});
  }

  Value* index(Value* x, int64_t size) const {
    return build_.convert(build_.clamp(x, 0, static_cast<double>(size - 1)), DType::i32);
  }

  /// The pixels [points, channels]; 0 outside the image.
  Value* pixel(Points at) const {
    const int64_t height = shape_[1].value(), width = shape_[2].value();
    Value* rows = build_.add(
        Op::mul, {index(at.row, height), build_.scalar(DType::i32, static_cast<double>(width))});
    Value* in_image = build_.add(Op::add, {rows, index(at.column, width)});
    Value* indices = build_.add(Op::add, {in_image, first_});
    Value* pixels = build_.view(image_, {shape_[0] * shape_[1] * shape_[2], shape_[3]});
    Value* found =
        build_.add(Op::gather, {pixels, build_.view(indices, {Dim(points_)})}, AxisAttrs{0});
    if (attrs_.outside != OutsideMode::zeros) return found;
    Value* within =
        f_.is(Op::logical_and, {is_within(at.row, height), is_within(at.column, width)});
    return f_.choose({within, found, f_.number(0)});
  }

  const Builder& build_;
  Formula f_;
  const GridSampleAttrs& attrs_;
  Value* image_;
  const Shape& shape_;
  int64_t points_;
  Value* first_;
};

}  // namespace

/// Writes one number to several places, some of them perhaps twice. The result is the same in any
/// order, but SCATTER leaves it open. Each place looks whether it is among the indices.
Value* scatter_number(const Builder& build, const Node& node) {
  const std::optional<double> number = uniform_value(node.operand(2));
  const std::optional<Places> places = number ? Places::of(build, node) : std::nullopt;
  if (!places) return nullptr;
  Value* any = build.add(Op::reduce_any, {places->is_here}, AxesAttrs{{2}});
  Value* is_written = places->spread(build.convert(any, DType::i32));
  Value* data = node.operand(0);
  return build.add(Op::where, {build.convert(is_written, DType::boolean),
                               build.scalar(data->dtype(), *number), data});
}

/// SCATTER leaves open what two writes to one place give. Each place instead adds up the updates
/// whose index it is.
Value* scatter_add(const Builder& build, const Node& node) {
  const std::optional<Places> places = Places::of(build, node);
  if (!places) return nullptr;
  Value* updates = places->listed(node.operand(2));
  Value* here = build.add(Op::where, {places->is_here, updates, build.scalar(updates->dtype(), 0)});
  return build.add(Op::add, {node.operand(0), places->spread(sum(build, here, 2))});
}

/// The place of each element in the order: how many come before it. Those are the larger ones, and
/// its equals to the left. NaN is larger than any number.
Value* argsort(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  const int64_t axis = node.attrs<AxisAttrs>().axis;
  const Shape& shape = x->shape();
  const Dim count = shape[static_cast<size_t>(axis)];
  const int64_t all = element_count(shape).value();
  if (all == 0 || all > kMostComparisons / count.value()) return nullptr;
  const Dim rows(all / count.value());
  const AxisLast last(shape.size(), axis);
  Value* numbers = build.permute(x, last.there);
  Value* own = build.view(numbers, {rows, count, 1});
  Value* other = build.view(numbers, {rows, 1, count});
  Value* larger = build.add(Op::greater, {other, own});
  Value* equal = build.add(Op::equal, {other, own});
  if (is_float(x->dtype())) {
    Value* own_nan = build.add(Op::not_equal, {own, own});
    Value* other_nan = build.add(Op::not_equal, {other, other});
    Value* only_other =
        build.add(Op::logical_and, {other_nan, build.add(Op::logical_not, {own_nan})});
    larger = build.add(Op::logical_or, {larger, only_other});
    equal = build.add(Op::logical_or, {equal, build.add(Op::logical_and, {other_nan, own_nan})});
  }
  Value* is_left = build.add(Op::less, {counting(build, DType::i32, {1, 1, count}),
                                        counting(build, DType::i32, {1, count, 1})});
  Value* comes_before =
      build.add(Op::logical_or, {larger, build.add(Op::logical_and, {equal, is_left})});
  Value* places = sum(build, build.convert(comes_before, DType::i32), 2);
  Value* is_there = build.add(Op::equal, {places, counting(build, DType::i32, {1, 1, count})});
  Value* index = build.add(Op::where, {is_there, counting(build, DType::i32, {1, count, 1}),
                                       build.scalar(DType::i32, 0)});
  Shape moved;
  for (int a : last.there) moved.push_back(shape[static_cast<size_t>(a)]);
  Value* order = build.permute(build.view(sum(build, index, 1), moved), last.back);
  return build.convert(order, node.result()->dtype());
}

Value* grid_sample(const Builder& build, const Node& node) {
  if (element_count(node.result()->shape()).is_zero()) return nullptr;
  return build.view(GridSample(build, node).sampled(node.operand(1)), node.result()->shape());
}

}  // namespace layline::tosa
