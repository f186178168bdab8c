// Constants are written once, under names that differ where the bytes do.
#include "targets/constant_pool.h"

#include <gtest/gtest.h>

#include "base/sink.h"
#include "make_tensor.h"

namespace layline {
namespace {

Constant numbers(const std::vector<double>& values) {
  return Constant::of(f32({static_cast<int64_t>(values.size())}, values));
}

TEST(ConstantPool, EqualBytesHaveOneKey) {
  ConstantPool pool;
  EXPECT_EQ(pool.add(numbers({1, 2}), "w"), "w");
  EXPECT_EQ(pool.add(numbers({1, 2}), "other"), "w");
  EXPECT_EQ(pool.add(numbers({1, 3}), "w"), "w_1");
  EXPECT_EQ(pool.add(numbers({1, 4}), "w"), "w_2");
  EXPECT_EQ(pool.add(numbers({1, 5}), "w_1"), "w_1_1");
  EXPECT_EQ(pool.byte_count(), 32u);
}

TEST(ConstantPool, TensorsAreCountedApart) {
  ConstantPool pool;
  EXPECT_EQ(pool.add_tensor(numbers({1, 2})), 0u);
  EXPECT_EQ(pool.add_tensor(numbers({3, 4})), 1u);
  EXPECT_EQ(pool.add_tensor(numbers({1, 2})), 0u);
  pool.add(numbers({1, 2}), "w");
  EXPECT_EQ(pool.byte_count(), 24u);
  pte::Program program;
  std::move(pool).write_to(program);
  EXPECT_EQ(program.constants.size(), 2u);
  ASSERT_EQ(program.named_data.size(), 1u);
  EXPECT_EQ(program.named_data[0].key, "w");
  MemorySink sink;
  program.constants[1].write(sink);
  EXPECT_EQ(sink.bytes(), numbers({3, 4}).bytes());
}

/// Large bytes that a kernel and a delegate both read are there once, whoever comes first.
TEST(ConstantPool, TensorsShareBytesWithNames) {
  const Constant first = numbers(std::vector<double>(1024, 1));
  const Constant second = numbers(std::vector<double>(1024, 2));
  ConstantPool pool;
  pool.add(first, "first");
  EXPECT_EQ(pool.add_tensor(first), 0u);
  EXPECT_EQ(pool.add_tensor(second), 1u);
  EXPECT_EQ(pool.add(second, "second"), "second");
  pool.add(numbers(std::vector<double>(1024, 3)), "third");
  EXPECT_EQ(pool.byte_count(), 3 * 4096u);
  pte::Program program;
  std::move(pool).write_to(program);
  EXPECT_EQ(program.constants.size(), 2u);
  EXPECT_EQ(program.blobs.size(), 1u);
  ASSERT_EQ(program.named_data.size(), 1u);
  EXPECT_EQ(program.named_data[0].key, "third");
  ASSERT_EQ(program.named_constants.size(), 2u);
  EXPECT_EQ(program.named_constants[0].key, "first");
  EXPECT_EQ(program.named_constants[0].data.index, 0u);
  EXPECT_EQ(program.named_constants[1].key, "second");
  EXPECT_EQ(program.named_constants[1].data.index, 1u);
}

/// Keeps apart what is written at once and what may be written later.
struct LendingSink : ByteSink {
  size_t written = 0, lent = 0;
  void write(std::span<const std::byte> bytes) override { written += bytes.size(); }
  void lend(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) override {
    EXPECT_NE(owner, nullptr);
    lent += bytes.size();
  }
};

TEST(ConstantPool, WhatNeedsNoWorkIsLent) {
  LendingSink as_stored, moved;
  const Constant data = Constant::of(f32({2, 2}, {1, 2, 3, 4}));
  data_source(data).write(as_stored);
  EXPECT_EQ(as_stored.lent, 16u);
  EXPECT_EQ(as_stored.written, 0u);
  const std::vector<int> swap = {1, 0};
  data_source(data.relaid(Relayout::permute({2, 2}, swap))).write(moved);
  EXPECT_EQ(moved.written, 16u);
  EXPECT_EQ(moved.lent, 0u);
}

}  // namespace
}  // namespace layline
