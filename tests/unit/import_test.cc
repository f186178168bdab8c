// Models that torch would not have written: each is refused with one message that names the node or
// the weight, never imported with a guess.
#include "frontend/pt2/import.h"

#include <gtest/gtest.h>

#include "../zip_writer.h"
#include "base/error.h"
#include "frontend/pt2/archive.h"

namespace layline::pt2 {
namespace {

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A fixture with the text of one entry replaced, once, after `anchor`.
struct Change {
  std::string entry;  // the end of its name
  std::string anchor;
  std::string from;
  std::string to;
};

std::string changed(const std::string& fixture, const Change& change) {
  const ZipArchive archive(
      MappedFile::open(std::string(LAYLINE_TEST_DATA) + "/" + fixture + ".pt2"),
      {".pt2", "torch.export.save"});
  ZipWriter writer;
  bool found = false;
  for (const ZipEntry& entry : archive.entries()) {
    std::string contents = text(entry.data);
    if (entry.name.ends_with(change.entry)) {
      const size_t start = contents.find(change.anchor);
      const size_t place = contents.find(change.from, start);
      EXPECT_NE(start, std::string::npos) << change.anchor;
      EXPECT_NE(place, std::string::npos) << change.from;
      if (start == std::string::npos || place == std::string::npos) continue;
      contents.replace(place, change.from.size(), change.to);
      found = true;
    }
    writer.add(std::string(entry.name), contents);
  }
  EXPECT_TRUE(found) << change.entry;
  return writer.finish();
}

void expect_refused(const Change& change, const std::string& message,
                    const std::string& fixture = "fused_activations") {
  const TemporaryFile file(changed(fixture, change));
  try {
    import_archive(MappedFile::open(file.path()));
    FAIL() << "imported";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

const std::string kModel = "models/model.json";
const std::string kWeights = "model_weights_config.json";

TEST(Import, B8MissingMetadataNamesTheNode) {
  expect_refused({kModel, "\"tensor_values\"", "\"hardtanh\"", "\"somebody\""},
                 "records no dtype and shape for `hardtanh`");
  expect_refused({kModel, "\"tensor_values\"", "\"x\"", "\"y\""},
                 "records no dtype and shape for `x`");
}

TEST(Import, B8ARecordedTypeThatIsNotTheOpsIsRefused) {
  expect_refused({kModel, "\"tensor_values\": {", "\"hardtanh\": {\"dtype\": 7",
                  "\"hardtanh\": {\"dtype\": 5"},
                 "the model records i64");
}

TEST(Import, UnknownOpsAreListedWithTheirSource) {
  expect_refused({kModel, "\"nodes\"", "aten.sigmoid.default", "aten.sigmode.default"},
                 "1 unsupported op: aten.sigmode.default at sigmoid (layers.py:21");
}

TEST(Import, UndefinedNames) {
  expect_refused({kModel, "\"nodes\"", "{\"name\": \"x\"}", "{\"name\": \"z\"}"},
                 "uses `z`, which nothing before it defines");
}

TEST(Import, CyclicNames) {
  // The first node reads what the second one writes.
  expect_refused({kModel, "\"nodes\"", "{\"name\": \"x\"}", "{\"name\": \"hardtanh\"}"},
                 "uses `hardtanh`, which nothing before it defines");
}

/// Of sizes that no input can have, and of sizes that all have.
TEST(Import, RangesOfSizes) {
  const auto ranging = [](const std::string& range) {
    return Change{kModel, "\"range_constraints\"", "\"min_val\": 2, \"max_val\": 24", range};
  };
  expect_refused(ranging("\"min_val\": 9, \"max_val\": 2"), "empty range 9 to 2", "dynamic_length");
  expect_refused(ranging("\"min_val\": -2, \"max_val\": 2"), "may be negative", "dynamic_length");
  for (const int64_t size : {0, 5}) {
    const TemporaryFile file(changed(
        "dynamic_length", ranging(fmt::format("\"min_val\": {0}, \"max_val\": {0}", size))));
    const auto methods = import_archive(MappedFile::open(file.path()));
    EXPECT_EQ(methods[0].graph.inputs()[0].value->shape(), (Shape{1, size}));
  }
}

TEST(Import, AStateStaysWhatItIs) {
  expect_refused({kModel, "\"user_input_mutation\"", "\"where_1\"", "\"sum_1\""},
                 "in place to `x`, which is f32[2,3]", "state_inputs.decomposed");
}

TEST(Import, UnknownDtypes) {
  expect_refused({kModel, "\"tensor_values\"", "\"dtype\": 7", "\"dtype\": 99"}, "99");
  expect_refused({kModel, "\"tensor_values\"", "\"dtype\": 7", "\"dtype\": 10"}, "complex64");
}

TEST(Import, AbsurdShapes) {
  for (const char* size : {"4611686018427387904", "-3", "99999999999999999999"})
    expect_refused(
        {kModel, "\"x\": {\"dtype\"", "\"as_int\": 3}", fmt::format("\"as_int\": {}}}", size)}, "");
  // Each is possible, their product is not.
  expect_refused({kModel, "\"x\": {\"dtype\"", "{\"as_int\": 3}",
                  "{\"as_int\": 4294967296}, {\"as_int\": 4294967296}"},
                 "");
}

TEST(Import, WeightsThatDoNotFit) {
  expect_refused({kWeights, "layers.0.0.weight", "\"as_int\": 4}", "\"as_int\": 400}"},
                 "layers.0.0.weight");
  expect_refused({kWeights, "layers.0.0.weight", "weight_0", "weight_99"}, "weight_99");
  expect_refused({kWeights, "layers.0.0.weight", "\"use_pickle\": false", "\"use_pickle\": true"},
                 "layers.0.0.weight");
  expect_refused({kWeights, "config", "layers.0.0.weight", "layers.0.0.weights"},
                 "layers.0.0.weight");
}

TEST(Import, OtherSchemaVersionsAreRefused) {
  expect_refused({kModel, "\"schema_version\"", "\"major\": 8", "\"major\": 9"}, "9.");
}

TEST(Import, D6PoolsWithBadParameters) {
  expect_refused({kModel, "aten.max_pool2d.default", "\"as_ints\": [3, 3]", "\"as_ints\": [0, 3]"},
                 "but is 0", "max_pool2d");
  expect_refused(
      {kModel, "aten.max_pool2d.default", "\"as_ints\": [3, 3]", "\"as_ints\": [3, 3, 3]"},
      "argument `kernel_size` has 3 entries for 2 axes", "max_pool2d");
}

/// D7: a channels-last input keeps its logical shape, and its value is what lies in memory.
TEST(Import, D7ChannelsLastInputsEnterAsTheyLie) {
  auto methods = import_archive(
      MappedFile::open(std::string(LAYLINE_TEST_DATA) + "/conv2d.channels_last.pt2"));
  const GraphInput& input = methods[0].graph.inputs()[0];
  EXPECT_EQ(input.dim_order, (std::vector<int>{0, 2, 3, 1}));
  EXPECT_EQ(to_string(input.value->shape()), "[2,6,7,6]");  // torch's shape is [2,6,6,7]
}

}  // namespace
}  // namespace layline::pt2
