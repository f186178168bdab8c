// The relayout algebra against brute force on maps of positions. The bytes choose two relayouts,
// one after the other, and an operand that is broadcast.
#include "algebra/relayout.h"

#include <algorithm>
#include <numeric>

#include "fuzz.h"

namespace layline::fuzz {
namespace {

using Map = std::vector<int64_t>;

constexpr int64_t kMostElements = 2000;

/// Choices, made by the bytes; the first of all alternatives once they are used up.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes) {}

  int64_t below(int64_t count) {
    if (bytes_.empty()) return 0;
    const auto byte = std::to_integer<int64_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return byte % count;
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Sizes whose product is `count`, with some units in between.
Shape some_shape(Choices& choices, int64_t count) {
  Shape shape;
  while (true) {
    if (choices.below(5) == 4) shape.push_back(1);
    if (count == 1) return shape;
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= count; ++d)
      if (count % d == 0) divisors.push_back(d);
    const int64_t size = divisors[static_cast<size_t>(choices.below(std::ssize(divisors)))];
    shape.push_back(size);
    count /= size;
  }
}

Relayout some_relayout(Choices& choices, const Shape& source) {
  const int64_t count = element_count(source).value();
  // Along the dims as models do, or across them.
  Dims factors;
  if (choices.below(2) == 0) {
    for (const Dim& dim : source)
      std::ranges::copy(some_shape(choices, dim.value()), std::back_inserter(factors));
  } else {
    factors = some_shape(choices, count);
  }
  Permutation order(factors.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(choices.below(static_cast<int64_t>(i)))]);
  const Shape target = some_shape(choices, count);
  return Relayout::from_factors(source, factors, order, target);
}

Map map_of(const Relayout& relayout) {
  Map map(static_cast<size_t>(element_count(relayout.source()).value()));
  for (size_t p = 0; p < map.size(); ++p) map[p] = relayout.map_position(static_cast<int64_t>(p));
  return map;
}

/// The canonical factors and order of the relayout with this map, if it is one: read off the map
/// from the innermost digit outwards. The innermost digit is as large as positions step evenly.
struct Digits {
  Dims factors;
  Permutation order;
};
std::optional<Digits> digits_of(const Map& map) {
  struct Digit {
    int64_t size, stride;
  };
  std::vector<Digit> digits;  // innermost first
  int64_t stride = 1;         // of the next digit in the source
  const auto count = static_cast<int64_t>(map.size());
  const auto at = [&](int64_t p) { return map[static_cast<size_t>(p)]; };
  if (count > 0 && at(0) != 0) return std::nullopt;
  while (stride < count) {
    const int64_t step = at(stride);
    int64_t size = 1;
    while (size * stride < count && at(size * stride) == size * step) ++size;
    if (step <= 0 || count % (size * stride) != 0) return std::nullopt;
    for (int64_t p = 0; p < count; ++p) {
      const int64_t digit = p / stride % size;
      if (at(p) != at(p - digit * stride) + digit * step) return std::nullopt;
    }
    digits.push_back({size, step});
    stride *= size;
  }
  std::ranges::reverse(digits);
  Digits result;
  for (const Digit& digit : digits) result.factors.push_back(digit.size);
  result.order.resize(digits.size());
  std::iota(result.order.begin(), result.order.end(), 0);
  std::ranges::sort(result.order, std::greater(),
                    [&](int i) { return digits[static_cast<size_t>(i)].stride; });
  int64_t inner = 1;
  for (size_t i = digits.size(); i-- > 0;) {
    const Digit& digit = digits[static_cast<size_t>(result.order[i])];
    if (digit.stride != inner) return std::nullopt;
    inner *= digit.size;
  }
  return result;
}

void check_map(const Relayout& relayout) {
  const Map map = map_of(relayout);
  const auto digits = digits_of(map);
  require(digits.has_value(), "a relayout permutes digits");
  require(digits->factors == relayout.factors() && digits->order == relayout.order(),
          "the factors are those of the map");
  const Map back = map_of(relayout.inverse());
  for (size_t p = 0; p < map.size(); ++p)
    require(back[static_cast<size_t>(map[p])] == static_cast<int64_t>(p), "the inverse leads back");
  require(parse_relayout(to_string(relayout)) == relayout, "the text reads back");

  std::vector<int16_t> in(map.size()), out(map.size());
  std::iota(in.begin(), in.end(), int16_t{0});
  apply(relayout, std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(out)), 2);
  for (size_t p = 0; p < map.size(); ++p)
    require(out[static_cast<size_t>(map[p])] == in[p], "data moves as positions do");
}

void check_composition(const Relayout& first, const Relayout& second) {
  Map map = map_of(first);
  const Map next = map_of(second);
  for (int64_t& position : map) position = next[static_cast<size_t>(position)];
  const auto composed = first.then(second);
  require(composed.has_value() == digits_of(map).has_value(),
          "two relayouts are one exactly if their map permutes digits");
  if (!composed) return;
  require(map_of(*composed) == map, "a composition moves as the two in a row");
  require(composed->source() == first.source() && composed->target() == second.target(),
          "a composition has the outer shapes");
}

/// The position in `operand`, which broadcasts to `shape`, of the element at a position of `shape`.
int64_t broadcast_position(int64_t position, const Shape& shape, const Shape& operand) {
  int64_t result = 0, stride = 1;
  for (size_t i = 0; i < operand.size(); ++i) {
    const int64_t size = shape[shape.size() - 1 - i].value();
    const int64_t kept = operand[operand.size() - 1 - i].value();
    if (kept != 1) result += position % size * stride;
    stride *= kept;
    position /= size;
  }
  return result;
}

void check_broadcast(Choices& choices, const Relayout& relayout) {
  Shape operand = relayout.source();
  for (Dim& dim : operand)
    if (choices.below(2) == 1) dim = 1;
  operand.erase(operand.begin(), operand.begin() + choices.below(std::ssize(operand) + 1));
  const auto moved = relayout.for_broadcast(operand);
  if (!moved) return;
  require(moved->source() == operand, "the operand is what is moved");
  const Map map = map_of(relayout);
  for (size_t p = 0; p < map.size(); ++p) {
    const int64_t before = broadcast_position(static_cast<int64_t>(p), relayout.source(), operand);
    const int64_t after = broadcast_position(map[p], relayout.target(), moved->target());
    require(moved->map_position(before) == after, "broadcasting commutes with moving");
  }
}

void check_axes(const Relayout& relayout) {
  if (const auto perm = relayout.as_permutation())
    require(Relayout::permute(relayout.source(), *perm) == relayout,
            "a permutation is what it says");
}

}  // namespace

void run(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  int64_t count = 1;
  for (int64_t left = choices.below(9); left > 0; --left) {
    const int64_t factor = 1 + choices.below(7);
    if (count * factor <= kMostElements) count *= factor;
  }
  const Relayout first = some_relayout(choices, some_shape(choices, count));
  const Relayout second = some_relayout(choices, first.target());
  for (const Relayout& relayout : {first, second}) {
    check_map(relayout);
    check_axes(relayout);
    check_broadcast(choices, relayout);
  }
  check_composition(first, second);
  check_composition(first, first.inverse());
}

}  // namespace layline::fuzz
