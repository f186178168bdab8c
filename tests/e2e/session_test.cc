// Programs as embedders run them: docs/embedding.md has the promises.
#include "layline/session.h"
#include "../message_of.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "fixture.h"
#include "layline/layline.h"

namespace layline {
namespace {

Session load(const std::string& name) {
  const CompiledModel model = compile_model(model_of(name));
  return Session::from_bytes(model.bytes(), name);
}

/// An input that is the same in all its elements. Of what is dynamic, `leading` is the first size.
Array filled(const Port& port, float value, int64_t leading = 0) {
  Array array{port.dtype, port.shape, {}};
  EXPECT_EQ(port.dtype, "f32");
  if (leading > 0) array.shape.at(0) = leading;
  size_t count = 1;
  for (const int64_t size : array.shape) count *= static_cast<size_t>(size);
  const std::vector<float> values(count, value);
  const auto bytes = std::as_bytes(std::span(values));
  array.bytes.assign(bytes.begin(), bytes.end());
  return array;
}

/// The buffers of all outputs, and the outputs as they came.
struct Buffers {
  explicit Buffers(const Session& session) {
    for (const Port& port : session.outputs()) memory.emplace_back(port.bytes, std::byte{0xee});
    for (std::vector<std::byte>& bytes : memory) views.push_back({bytes, {}});
  }

  void expect_equal(const std::vector<Array>& arrays) const {
    ASSERT_EQ(arrays.size(), views.size());
    for (size_t i = 0; i < arrays.size(); ++i) {
      EXPECT_EQ(views[i].shape, arrays[i].shape);
      ASSERT_LE(arrays[i].bytes.size(), memory[i].size());
      EXPECT_EQ(std::memcmp(memory[i].data(), arrays[i].bytes.data(), arrays[i].bytes.size()), 0);
      // And nothing behind them is touched.
      for (size_t at = arrays[i].bytes.size(); at < memory[i].size(); ++at)
        ASSERT_EQ(memory[i][at], std::byte{0xee}) << at;
    }
  }

  std::vector<std::vector<std::byte>> memory;
  std::vector<OutputBuffer> views;
};

TEST(Session, RunsIntoBuffersOfTheCaller) {
  Session session = load("mobile_block");
  Buffers buffers(session);
  for (const float value : {0.5f, -1.0f}) {
    const Array input = filled(session.inputs().at(0), value);
    session.run_into({input}, buffers.views);
    buffers.expect_equal(session.run({input}));
    // Another run needs no more memory, not even for the shape.
    const int64_t* shape = buffers.views[0].shape.data();
    session.run_into({input}, buffers.views);
    EXPECT_EQ(buffers.views[0].shape.data(), shape);
  }
}

TEST(Session, ABufferHoldsWhatADynamicOutputMayHave) {
  Session session = load("dynamic_batch_mobile");
  ASSERT_EQ(session.outputs().at(0).shape.size(), 2u);
  for (const int64_t batch : {int64_t{1}, int64_t{2}}) {
    Buffers buffers(session);
    const Array input = filled(session.inputs().at(0), 0.25f, batch);
    session.run_into({input}, buffers.views);
    EXPECT_EQ(buffers.views[0].shape.at(0), batch);
    EXPECT_LT(session.run({input}).at(0).bytes.size(), session.outputs()[0].bytes);
    buffers.expect_equal(session.run({input}));
  }
}

TEST(Session, ABufferMayBeLargerAndNotSmaller) {
  Session session = load("mobile_block");
  const Array input = filled(session.inputs().at(0), 0.5f);
  const Port& port = session.outputs().at(0);
  std::vector<std::byte> memory(port.bytes + 3, std::byte{0xee});
  std::vector<OutputBuffer> outputs = {{memory, {}}};
  session.run_into({input}, outputs);
  EXPECT_EQ(memory.back(), std::byte{0xee});

  outputs[0].bytes = std::span(memory).first(port.bytes - 1);
  EXPECT_EQ(message_of([&] { session.run_into({input}, outputs); }),
            "output `" + port.name + "` may have " + std::to_string(port.bytes) +
                " bytes, its buffer has " + std::to_string(port.bytes - 1));
  EXPECT_EQ(message_of([&] { session.run_into({input}, {}); }),
            "the program has 1 outputs, 0 buffers are given");
}

TEST(Session, WhatCannotBeTakenChangesNoState) {
  Session session = load("state_conv");
  Session other = load("state_conv");
  std::vector<ArrayView> inputs;
  std::vector<Array> kept;
  for (const Port& port : session.inputs()) kept.push_back(filled(port, 1.0f));
  inputs.assign(kept.begin(), kept.end());
  Buffers buffers(session);
  std::vector<OutputBuffer> small = buffers.views;
  small.back().bytes = {};
  EXPECT_THROW(session.run_into(inputs, small), Error);
  for (int i = 0; i < 2; ++i) {
    session.run_into(inputs, buffers.views);
    buffers.expect_equal(other.run(inputs));
  }
}

TEST(Session, SessionsOfTwoThreadsRunAtOnce) {
  Session alone = load("mobile_block");
  const Array input = filled(alone.inputs().at(0), 0.5f);
  const std::vector<Array> expected = alone.run({input});
  const auto run = [&] {
    Session session = load("mobile_block");
    Buffers buffers(session);
    for (int i = 0; i < 50; ++i) {
      session.run_into({input}, buffers.views);
      buffers.expect_equal(expected);
    }
  };
  const std::jthread one(run), two(run);
}

TEST(Session, WhatTheCallerCanPutRightIsAnError) {
  const CompiledModel model = compile_model(model_of("mobile_block"));
  EXPECT_THROW(Session::from_file("missing.pte"), Error);
  EXPECT_THROW(Session::from_bytes(model.bytes(), "model", {"backward"}), Error);
  EXPECT_THROW(Session::from_bytes(model.bytes(), "model", {}), Error);
  EXPECT_THROW(Session::from_bytes(model.bytes().first(100), "model"), Error);
  Session session = Session::from_bytes(model.bytes(), "model");
  EXPECT_THROW(session.use("backward"), Error);
  EXPECT_THROW(session.run({}), Error);
  EXPECT_THROW(session.run({Array{"f32", {1}, std::vector<std::byte>(4)}}), Error);
  EXPECT_THROW(session.run({Array{"f33", {1}, std::vector<std::byte>(4)}}), Error);
  EXPECT_THROW(set_thread_count(2), Error);  // while there is a session
}

}  // namespace
}  // namespace layline
