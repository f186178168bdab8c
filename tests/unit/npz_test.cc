#include "base/npz.h"

#include <gtest/gtest.h>

#include "../zip_writer.h"
#include "base/error.h"

namespace layline {
namespace {

/// One byte for each letter of `data`.
std::string npy(const std::string& data) {
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" +
                             std::to_string(data.size()) + ",), }\n";
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

std::string letters(const NpyArray& array) {
  return {reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()};
}

/// The error of opening the archive and reading all of it, or "" if there is none.
std::string error_of(const std::string& contents) {
  const TemporaryFile file(contents);
  try {
    const NpzArchive archive(file.path());
    for (const std::string_view name : archive.names()) archive.read(name);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_CONTAINS(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST(Npz, ReadsArraysByTheirNames) {
  const TemporaryFile file(ZipWriter()
                               .add("b.npy", npy("beta"))
                               .add("a/x.npy", npy(""))
                               .add("a.npy.npy", npy("a"))
                               .finish());
  const NpzArchive archive(file.path());
  EXPECT_EQ(archive.names(), (std::vector<std::string_view>{"b", "a/x", "a.npy"}));
  EXPECT_EQ(letters(archive.read("b")), "beta");
  EXPECT_EQ(letters(archive.read("a/x")), "");
  EXPECT_EQ(letters(archive.read("a.npy")), "a");
  EXPECT_TRUE(archive.contains("a/x"));
  EXPECT_FALSE(archive.contains("b.npy"));
  EXPECT_FALSE(archive.contains(""));
  try {
    archive.read("c");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_CONTAINS(error.what(), "holds no array 'c'; there are b, a/x, a.npy");
  }
}

TEST(Npz, AnEmptyArchiveHasNoArrays) { EXPECT_EQ(error_of(ZipWriter().finish()), ""); }

TEST(Npz, RefusesWhatItWouldHaveToUnpack) {
  ZipWriter deflated;
  deflated.method = 8;
  EXPECT_CONTAINS(error_of(deflated.add("a.npy", npy("alpha")).finish()),
                  "entry 'a.npy' is compressed, but entries are read where they lie; save it "
                  "again with numpy.savez");
}

TEST(Npz, RefusesWhatIsNoArray) {
  EXPECT_CONTAINS(error_of("text"), "is not a .npz archive; write one with numpy.savez");
  EXPECT_CONTAINS(error_of(npy("alpha")), "is not a .npz archive");
  EXPECT_CONTAINS(error_of(ZipWriter().add("a.npy", npy("a")).add("a.txt", "a").finish()),
                  "holds 'a.txt', which is no array");
  EXPECT_CONTAINS(error_of(ZipWriter().add("npy", npy("a")).finish()), "holds 'npy'");
  // The message names the archive and the member.
  EXPECT_CONTAINS(error_of(ZipWriter().add("a.npy", "text").finish()),
                  ": a.npy' is not a .npy file");
}

TEST(Npz, RefusesANameThatIsThereTwice) {
  EXPECT_CONTAINS(error_of(ZipWriter().add("a.npy", npy("1")).add("a.npy", npy("2")).finish()),
                  "holds 'a.npy' twice");
}

TEST(Npz, EveryTruncationIsAnError) {
  const std::string whole = ZipWriter().add("a.npy", npy("alpha")).finish();
  ASSERT_EQ(error_of(whole), "");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(error_of(whole.substr(0, size)), "") << size;
  for (size_t size = 0; size < npy("alpha").size(); ++size)
    EXPECT_NE(error_of(ZipWriter().add("a.npy", npy("alpha").substr(0, size)).finish()), "")
        << size;
}

TEST(Npz, NoDamagedByteCrashes) {
  // Any outcome but a crash: a flipped byte may also leave the file readable.
  const std::string whole = ZipWriter().add("a.npy", npy("alpha")).finish();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (char flip : {'\xff', '\x01'}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      EXPECT_NO_THROW(error_of(damaged)) << at;
    }
  }
}

}  // namespace
}  // namespace layline
