#include "report/folders.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace layline {
namespace {

PictureNode node(std::string name, std::string op, std::string module) {
  PictureNode made;
  made.name = std::move(name);
  made.op = std::move(op);
  made.module = std::move(module);
  return made;
}

std::string folder(const Folders& folders, size_t node) {
  return folders.paths[folders.of_node[node]];
}

/// What each folder holds: nodes by their numbers, folders by their names.
std::map<std::string, std::set<std::string>> contents(const Folders& folders) {
  std::map<std::string, std::set<std::string>> held;
  for (size_t i = 0; i < folders.of_node.size(); ++i) {
    std::string path = folder(folders, i), name = fmt::format("node {}", i);
    while (true) {
      held[path].insert(name);
      if (path.empty()) break;
      const size_t dot = path.rfind('.');
      name = path.substr(dot + 1);
      path = dot == std::string::npos ? "" : path.substr(0, dot);
    }
  }
  return held;
}

TEST(Folders, AreTheModulesOfASmallModel) {
  const Picture picture = {
      "forward",
      {node("x", "input", ""), node("a", "conv", "features.0"), node("b", "relu", "features"),
       node("c", "conv", "features.0"), node("y", "output", "")}};
  const Folders folders = folders_of(picture);
  EXPECT_EQ(folder(folders, 0), "");
  EXPECT_EQ(folder(folders, 1), "features.0");
  EXPECT_EQ(folder(folders, 2), "features");
  EXPECT_EQ(folders.of_node[3], folders.of_node[1]);
  EXPECT_EQ(folders.repeats, std::vector<size_t>(5, 1));
}

TEST(Folders, StepsAfterTheFirstAreInOneFolder) {
  Picture picture;
  for (size_t step = 0; step < 5; ++step)
    for (size_t i = 0; i < 6; ++i)
      picture.nodes.push_back(node(fmt::format("v{}_{}", step, i), fmt::format("op{}", i), "rnn"));
  const Folders folders = folders_of(picture);
  EXPECT_EQ(folder(folders, 5), "rnn");
  EXPECT_EQ(folders.repeats[5], 5u);
  EXPECT_EQ(folders.of_repeats, std::vector<std::string>{"rnn.4 more like v0_0"});
  EXPECT_EQ(folder(folders, 6), "rnn.4 more like v0_0.repeat 2");
  EXPECT_EQ(folder(folders, 29), "rnn.4 more like v0_0.repeat 5");
  EXPECT_EQ(folders.repeats[29], 1u);
}

TEST(Folders, LayersThatAreAlikeKeepTheirNames) {
  Picture picture;
  for (size_t layer = 0; layer < 4; ++layer)
    for (const char* part : {"norm", "mlp.fc1", "mlp.act", "mlp.fc2", "out", "add"})
      picture.nodes.push_back(
          node(fmt::format("{}{}", part, layer), part, fmt::format("blocks.{}.{}", layer, part)));
  const Folders folders = folders_of(picture);
  EXPECT_EQ(folder(folders, 1), "blocks.0.mlp.fc1");
  EXPECT_EQ(folders.repeats[1], 4u);
  EXPECT_EQ(folder(folders, 7), "blocks.3 more like 0.1.mlp.fc1");
  EXPECT_EQ(folder(folders, 23), "blocks.3 more like 0.3.add");
}

TEST(Folders, StepsWithinLayersThatAreAlike) {
  Picture picture;
  for (size_t layer = 0; layer < 3; ++layer) {
    picture.nodes.push_back(node("n", "norm", fmt::format("l.{}", layer)));
    for (size_t step = 0; step < 30; ++step)
      picture.nodes.push_back(
          node(fmt::format("s{}", step), "abs", fmt::format("l.{}.rnn", layer)));
  }
  const Folders folders = folders_of(picture);
  EXPECT_EQ(folder(folders, 0), "l.0");
  EXPECT_EQ(folders.repeats[0], 3u);
  EXPECT_EQ(folder(folders, 1), "l.0.rnn");
  EXPECT_EQ(folders.repeats[1], 90u);
  EXPECT_EQ(folder(folders, 2), "l.0.rnn.29 more like s0.repeat 2");
  EXPECT_EQ(folders.repeats[2], 3u);
  EXPECT_EQ(folder(folders, 32), "l.2 more like 0.1.rnn");
  EXPECT_EQ(folder(folders, 33), "l.2 more like 0.1.rnn.29 more like s0.repeat 2");
}

TEST(Folders, NoneHoldsMoreThanCanBeDrawn) {
  std::mt19937 random(1);
  const auto op = [&] { return fmt::format("op{}", random() % 1000); };
  Picture flat, steps, modules;
  for (size_t i = 0; i < 30'000; ++i) {
    flat.nodes.push_back(node(fmt::format("v{}", i), op(), ""));
    steps.nodes.push_back(node(fmt::format("v{}", i), fmt::format("op{}", i % 2), "rnn"));
    modules.nodes.push_back(node(fmt::format("v{}", i), op(), fmt::format("layers.{}", i / 3)));
  }
  for (const Picture* picture : {&flat, &steps, &modules}) {
    const Folders folders = folders_of(*picture);
    ASSERT_EQ(folders.of_node.size(), picture->nodes.size());
    size_t nodes = 0;
    for (const auto& [path, held] : contents(folders)) {
      EXPECT_LE(held.size(), kMostInFolder) << path;
      for (const std::string& name : held) nodes += name.starts_with("node ");
    }
    EXPECT_EQ(nodes, picture->nodes.size());
  }
  EXPECT_EQ(folder(folders_of(flat), 12'345), "10001 to 20000.12301 to 12400");
  EXPECT_EQ(folder(folders_of(modules), 9), "layers.1 to 100.3");
}

}  // namespace
}  // namespace layline
