#include "layout/slice_places.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"

namespace layline {
namespace {

/// Where the axes of a slice of %x may go, if %x is its root after `from_root`.
std::vector<std::string> places(std::string_view shape, std::string_view attributes,
                                const char* from_root) {
  const Graph graph = parse_graph(fmt::format("graph \"test\" {{\ninput \"x\" %x : f32{}\n"
                                              "%y = slice(%x) {{ {} }}\noutput \"y\" %y\n}}\n",
                                              shape, attributes),
                                  "test");
  std::vector<std::string> result;
  for (const Relayout& place :
       slice_places(*graph.outputs()[0].value->def(), parse_relayout(from_root)))
    result.push_back(to_string(place));
  return result;
}

using Places = std::vector<std::string>;

TEST(SlicePlaces, AreBesideTheNeighboursInTheRoot) {
  // The channels lie between images and pixels there.
  EXPECT_EQ(places("[2,5,3]", "start = [0,0,1], size = [2,5,2], step = [1,1,1]",
                   "[2,3,5] (2,3,5)->(0,2,1) [2,5,3]"),
            (Places{"[2,5,3] (2,5,3)->(0,2,1) [2,3,5]", "[2,5,3] (2,5,3)->(0,2,1) [2,3,5]"}));
  // First, and last, in the root.
  EXPECT_EQ(
      places("[5,3]", "start = [0,1], size = [5,2], step = [1,1]", "[3,5] (3,5)->(1,0) [5,3]"),
      (Places{"[5,3] (5,3)->(1,0) [3,5]"}));
  EXPECT_EQ(
      places("[5,3]", "start = [1,0], size = [2,3], step = [1,1]", "[3,5] (3,5)->(1,0) [5,3]"),
      (Places{"[5,3] (5,3)->(1,0) [3,5]"}));
}

TEST(SlicePlaces, AreNoneWhereNothingMoved) {
  EXPECT_EQ(places("[5,3]", "start = [0,1], size = [5,2], step = [1,1]", "[15] -> [5,3]"),
            Places{});
  EXPECT_EQ(
      places("[5,3]", "start = [0,0], size = [5,3], step = [1,1]", "[3,5] (3,5)->(1,0) [5,3]"),
      Places{});
}

}  // namespace
}  // namespace layline
