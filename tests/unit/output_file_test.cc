#include "base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <random>

#include "base/block_writer.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/truncated_map.h"

namespace layline {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("output_file_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  std::string contents(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

TEST_F(OutputFileTest, AppearsOnlyOnCommit) {
  OutputFile file(path("out"));
  file.write("hello");
  EXPECT_FALSE(fs::exists(path("out")));
  file.commit();
  EXPECT_EQ(contents("out"), "hello");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, WithoutCommitTheTargetKeepsItsOldContents) {
  std::ofstream(path("out")) << "old";
  { OutputFile(path("out")).write("new"); }
  EXPECT_EQ(contents("out"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, CommitReplacesAnExistingFile) {
  std::ofstream(path("out")) << "something longer";
  OutputFile file(path("out"));
  file.write("new");
  file.commit();
  EXPECT_EQ(contents("out"), "new");
}

TEST_F(OutputFileTest, PadsToPowersOfTwo) {
  OutputFile file(path("out"));
  file.pad_to(128);
  EXPECT_EQ(file.position(), 0u);
  file.write("abc");
  file.pad_to(16);
  EXPECT_EQ(file.position(), 16u);
  file.pad_to(16);
  EXPECT_EQ(file.position(), 16u);
  file.pad_to(1 << 14);
  file.write("d");
  file.commit();
  std::string expected = "abc";
  expected.resize(1 << 14, '\0');
  EXPECT_EQ(contents("out"), expected + "d");
}

TEST_F(OutputFileTest, SmallAndLargeWritesKeepTheirOrder) {
  std::string expected;
  OutputFile file(path("out"));
  for (size_t size :
       {5u, 1000u, (1u << 20) - 1005u, 1u, 3u << 20, 7u, 1u << 20, 0u, 600000u, 600000u}) {
    const std::string chunk(size, static_cast<char>('a' + expected.size() % 26));
    file.write(chunk);
    expected += chunk;
    ASSERT_EQ(file.position(), expected.size());
  }
  file.commit();
  EXPECT_EQ(contents("out"), expected);
}

TEST_F(OutputFileTest, LentBytesKeepTheirPlace) {
  std::mt19937 random(3);
  std::string expected;
  std::vector<std::weak_ptr<std::string>> lent;
  OutputFile file(path("out"));
  for (int i = 0; i < 200; ++i) {
    const size_t size = random() % (i % 10 == 0 ? 5'000'000 : 200'000);
    const auto chunk = std::make_shared<std::string>(size, static_cast<char>('a' + i % 26));
    expected += *chunk;
    const auto bytes = std::as_bytes(std::span(*chunk));
    switch (random() % 3) {
      case 0:
        file.write(*chunk);
        break;
      case 1:
        file.lend(bytes, nullptr);  // nobody keeps them: they are written or copied
        break;
      default:
        file.lend(bytes, chunk);
        lent.push_back(chunk);
    }
    ASSERT_EQ(file.position(), expected.size());
  }
  file.commit();
  EXPECT_EQ(contents("out"), expected);
  for (const auto& chunk : lent) EXPECT_TRUE(chunk.expired());
}

TEST_F(OutputFileTest, BlocksThatDoNotFitAreReported) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  const std::vector<std::byte> block(BlockWriter::kBlock);
  for (const bool lends : {false, true}) {
    BlockWriter writer(full);
    int error = 0;
    for (int i = 0; i < 100 && error == 0; ++i)
      error = lends ? writer.lend(block, nullptr) : writer.write(block);
    EXPECT_EQ(error, ENOSPC) << "100 blocks are more than may wait";
    EXPECT_EQ(writer.finish(), ENOSPC);
    EXPECT_EQ(writer.write({}), ENOSPC);
  }
  BlockWriter small(full);
  EXPECT_EQ(small.write(std::vector<std::byte>(10)), ENOSPC);
  EXPECT_EQ(small.finish(), ENOSPC);
  ::close(full);
}

TEST_F(OutputFileTest, LentBytesOfAFileThatWasCutShortAreReported) {
  {
    OutputFile file(path("in"));
    file.write(std::string(3'000'000, 'x'));
    file.commit();
  }
  const auto mapped = MappedFile::open(path("in"));
  fs::resize_file(path("in"), 10);
  OutputFile file(path("out"));
  EXPECT_EQ(message_of([&] {
              file.lend(mapped->bytes(), mapped);
              file.commit();
            }),
            "a file was cut short, or its disk failed, while it was read; nothing was written");
}

TEST_F(OutputFileTest, WhatIsUnderWayIsGoneWithoutACommit) {
  {
    OutputFile file(path("out"));
    for (int i = 0; i < 5; ++i) file.write(std::string(700'000, 'x'));
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, ResultHasTheUsualMode) {
  const mode_t mask = ::umask(022);
  OutputFile file(path("out"));
  file.commit();
  ::umask(mask);
  struct stat status {};
  ASSERT_EQ(::stat(path("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST_F(OutputFileTest, ErrorsNameThePath) {
  EXPECT_NE(message_of([&] { OutputFile{path("")}; }).find("is a directory"), std::string::npos);
  const std::string missing = path("no/such/out");
  EXPECT_EQ(message_of([&] { OutputFile{missing}; }),
            "cannot write '" + missing + "': No such file or directory");
  EXPECT_EQ(message_of([] { OutputFile{"/dev/null"}; }),
            "cannot write '/dev/null': it is not a regular file");
  EXPECT_EQ(message_of([] { OutputFile{"-"}; }),
            "cannot write '-': give the name of a file ('./-' for one that is named so)");
}

TEST_F(OutputFileTest, WhatIsProtectedStays) {
  std::ofstream(path("protected")) << "old";
  fs::permissions(path("protected"), fs::perms::owner_read);
  const auto write_without_privileges = [](const std::string& path) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) std::exit(3);
    try {
      OutputFile file(path);
      file.write("new");
      file.commit();
    } catch (const UserError& error) {
      std::cerr << error.what() << "\n";
      std::exit(1);
    }
    std::exit(0);
  };
  EXPECT_EXIT(write_without_privileges(path("protected")), testing::ExitedWithCode(1),
              "cannot write '.*protected': Permission denied");
  EXPECT_EQ(contents("protected"), "old");
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EXIT(write_without_privileges(path("another")), testing::ExitedWithCode(1),
              "cannot write '.*another': Permission denied");
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, MappedFileReadsWhatWasWritten) {
  OutputFile file(path("out"));
  file.write("mapped");
  file.commit();
  const auto mapped = MappedFile::open(path("out"));
  ASSERT_EQ(mapped->bytes().size(), 6u);
  EXPECT_EQ(static_cast<char>(mapped->bytes()[5]), 'd');
  EXPECT_EQ(mapped->path(), path("out"));
}

TEST_F(OutputFileTest, FilesMappedAheadAreTheSame) {
  std::string expected(9'000'001, 'x');
  expected.back() = 'y';
  OutputFile file(path("out"));
  file.write(expected);
  file.commit();
  for (int i = 0; i < 10; ++i) {
    const auto mapped = MappedFile::open_ahead(path("out"));
    const auto bytes = mapped->bytes();
    if (i % 2 == 0) continue;  // closed at once
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
  }
  // Whatever has been mapped by then, what is no more cannot be read.
  const auto mapped = MappedFile::open_ahead(path("out"));
  fs::resize_file(path("out"), 10);
  EXPECT_EQ(mapped->bytes().front(), std::byte{'x'});
}

TEST_F(OutputFileTest, SyncWritesWhatIsBuffered) {
  OutputFile file(path("out"));
  file.write("hello");
  file.sync();
  EXPECT_FALSE(fs::exists(path("out")));
  file.write(" again");
  file.commit();
  EXPECT_EQ(contents("out"), "hello again");
}

TEST_F(OutputFileTest, MappedFileCutShortEndsTheProcessWithOneLine) {
  OutputFile file(path("out"));
  file.write(std::string(100'000, 'x'));
  file.commit();
  const auto read_past_the_end = [&] {
    exit_on_truncated_map();
    const auto mapped = MappedFile::open(path("out"));
    fs::resize_file(path("out"), 10);
    const volatile std::byte last = mapped->bytes().back();
    std::exit(last == std::byte{'x'} ? 0 : 3);
  };
  EXPECT_EXIT(read_past_the_end(), testing::ExitedWithCode(1), "layline: a file was cut short");
}

TEST_F(OutputFileTest, MappedFileRefusesWhatIsNoFile) {
  std::ofstream(path("empty")).flush();
  EXPECT_EQ(message_of([&] { MappedFile::open(path("empty")); }),
            "'" + path("empty") + "' is empty");
  EXPECT_EQ(message_of([&] { MappedFile::open(folder_); }),
            "'" + folder_.string() + "' is a directory, not a file");
  EXPECT_EQ(message_of([&] { MappedFile::open(path("missing")); }),
            "cannot open '" + path("missing") + "': No such file or directory");
}

TEST(Checked, ProductIsExactOrNothing) {
  constexpr int64_t kBig = int64_t{1} << 62;
  EXPECT_EQ(checked_product({}), 1);
  EXPECT_EQ(checked_product(std::array<int64_t, 3>{2, 3, 4}), 24);
  EXPECT_EQ(checked_product(std::array<int64_t, 2>{kBig, 2}), std::nullopt);
  EXPECT_EQ(checked_product(std::array<int64_t, 3>{kBig, 2, 0}), 0);
  EXPECT_EQ(checked_product(std::array<int64_t, 2>{-1, 0}), std::nullopt);
  EXPECT_EQ(checked_align(std::numeric_limits<uint64_t>::max(), 2), std::nullopt);
  EXPECT_EQ(checked_align(17, 16), 32u);
}

}  // namespace
}  // namespace layline
