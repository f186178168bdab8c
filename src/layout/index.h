// Indices that cannot be mixed up: an op's index finds ops, a value's index finds values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <ranges>
#include <utility>
#include <vector>

namespace layline {

/// A place in a list of things of one sort, which `Sort` names. Costs no more than the number.
template <typename Sort>
class Index {
 public:
  /// The first.
  constexpr Index() = default;
  constexpr explicit Index(size_t number) : number_(static_cast<uint32_t>(number)) {}
  constexpr size_t number() const { return number_; }
  constexpr auto operator<=>(const Index&) const = default;

 private:
  uint32_t number_ = 0;
};

/// A vector that takes indices of one sort only.
///
///   Indexed<NodeIndex, Cost> costs;
///   const NodeIndex node = costs.push_back(Cost{});
///   costs[node];   // costs[form] does not compile
template <typename I, typename T>
class Indexed {
 public:
  using Items = std::vector<T>;

  Indexed() = default;
  Indexed(std::initializer_list<T> items) : items_(items) {}
  explicit Indexed(size_t count, const T& item = T()) : items_(count, item) {}

  typename Items::reference operator[](I index) { return items_[index.number()]; }
  typename Items::const_reference operator[](I index) const { return items_[index.number()]; }
  typename Items::const_reference front() const { return items_.front(); }
  typename Items::reference back() { return items_.back(); }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  bool contains(I index) const { return index.number() < items_.size(); }
  /// The index that the next item will have.
  I next() const { return I(items_.size()); }
  /// All indices, the first first.
  auto indices() const {
    return std::views::iota(size_t{0}, items_.size()) |
           std::views::transform([](size_t number) { return I(number); });
  }

  /// Returns the index of the new item.
  I push_back(T item) {
    items_.push_back(std::move(item));
    return I(items_.size() - 1);
  }
  /// Adds items until there is one at `index`.
  void extend_to(I index, const T& item = T()) {
    if (!contains(index)) items_.resize(index.number() + 1, item);
  }
  void reserve(size_t count) { items_.reserve(count); }
  void resize(size_t count, const T& item = T()) { items_.resize(count, item); }
  void assign(size_t count, const T& item) { items_.assign(count, item); }

  const Items& items() const { return items_; }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool operator==(const Indexed&) const = default;

 private:
  Items items_;
};

}  // namespace layline

template <typename Sort>
struct std::hash<layline::Index<Sort>> {
  size_t operator()(layline::Index<Sort> index) const noexcept { return index.number(); }
};
