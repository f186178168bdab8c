#include "base/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "base/error.h"

namespace layline {
namespace {

std::vector<std::byte> npy(int version, std::string header, std::string_view data = {}) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  file += header;
  file += data;
  const auto bytes = std::as_bytes(std::span(file));
  return {bytes.begin(), bytes.end()};
}

std::string error_of(const std::vector<std::byte>& file) {
  try {
    parse_npy(file, "x.npy");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

template <typename T>
std::vector<T> values(const NpyArray& array) {
  std::vector<T> result(array.bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), array.bytes.data(), array.bytes.size());
  return result;
}

TEST(Npy, WritesAndReadsEveryType) {
  const std::string path = testing::TempDir() + "npy_" + std::to_string(::getpid()) + ".npy";
  for (int i = 0; i <= static_cast<int>(NpyType::kRaw16); ++i) {
    const auto type = static_cast<NpyType>(i);
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {3}, {2, 3}, {0, 4}, {1, 2, 3, 4, 5, 6, 7}}) {
      const auto count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
      std::vector<std::byte> bytes(static_cast<size_t>(count) * npy_element_size(type));
      for (size_t b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<std::byte>(b * 7);
      write_npy(path, type, shape, bytes);
      EXPECT_EQ((std::filesystem::file_size(path) - bytes.size()) % 64, 0u);
      const NpyArray array = read_npy(path);
      EXPECT_EQ(array.type, type);
      EXPECT_EQ(array.shape, shape);
      EXPECT_EQ(array.bytes, bytes);
    }
  }
  std::filesystem::remove(path);
}

TEST(Npy, ReadsVersion2AndKeysInAnyOrder) {
  const NpyArray array = parse_npy(
      npy(2, "{ \"shape\":(2,),'fortran_order':False , 'descr':'|u1'}   \n", "ab"), "x.npy");
  EXPECT_EQ(array.shape, std::vector<int64_t>{2});
  EXPECT_EQ(array.type, NpyType::kUint8);
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  // Element (i, j, k) of shape (2, 3, 2) holds its row-major number; the file has i innermost.
  std::string data;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) data += static_cast<char>((i * 3 + j) * 2 + k);
  const NpyArray array = parse_npy(
      npy(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3, 2), }\n", data), "x.npy");
  std::vector<int8_t> expected(12);
  std::iota(expected.begin(), expected.end(), int8_t{0});
  EXPECT_EQ(values<int8_t>(array), expected);
}

TEST(Npy, RefusesWhatIsNotAnArray) {
  const auto with = [](const std::string& descr, const std::string& shape) {
    return npy(1, "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + "}\n",
               "0123");
  };
  EXPECT_EQ(error_of(with("'<f4'", "(1,)")), "no UserError");
  EXPECT_NE(error_of(with("'>f4'", "(1,)")).find("'>f4' is not supported"), std::string::npos);
  EXPECT_NE(error_of(with("'<c8'", "(1,)")).find("not supported"), std::string::npos);
  EXPECT_NE(error_of(with("[('a', '<f4')]", "(1,)")).find("records"), std::string::npos);
  EXPECT_NE(error_of(with("'<f4'", "(2,)")).find("holds 4 bytes of data"), std::string::npos);
  EXPECT_NE(error_of(with("'<f4'", "(-1,)")).find("non-negative"), std::string::npos);
  EXPECT_NE(error_of(with("'<f4'", "(4611686018427387904, 4)")).find("more than fit"),
            std::string::npos);
  EXPECT_NE(error_of(with("'<f4'", "(99999999999999999999,)")).find("size"), std::string::npos);
  EXPECT_NE(error_of(npy(3, "{}\n")).find("version 3"), std::string::npos);
  EXPECT_NE(error_of(npy(1, "{}\n")).find("required"), std::string::npos);
  EXPECT_NE(error_of(npy(1, "{'extra': 1}\n")).find("unexpected key"), std::string::npos);
  EXPECT_EQ(error_of({}), "'x.npy' is not a .npy file");
}

TEST(Npy, EveryTruncationIsAnError) {
  const auto file =
      npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "01234567");
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(error_of({file.begin(), file.begin() + static_cast<ptrdiff_t>(size)}), "no UserError")
        << size;
}

}  // namespace
}  // namespace layline
