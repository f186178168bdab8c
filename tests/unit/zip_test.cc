// The zip container and, on top of it, the .pt2 archive.
#include "base/zip.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../zip_writer.h"
#include "base/error.h"
#include "frontend/pt2/archive.h"

namespace layline::pt2 {
namespace {

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ZipArchive open_zip(const std::string& contents) {
  const TemporaryFile file(contents);
  return ZipArchive(MappedFile::open(file.path()), {".zip", "zip -0"});
}

/// Opens the archive and reads all of its first model; the error, or "" if there is none.
std::string read_error(const std::string& contents) {
  const TemporaryFile file(contents);
  try {
    const Pt2Archive archive(MappedFile::open(file.path()));
    archive.program(archive.models()[0]);
    archive.weights(archive.models()[0]);
    archive.constants(archive.models()[0]);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_CONTAINS(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

constexpr const char* kProgram = R"({"schema_version":{"major":8,"minor":20},
  "graph_module":{"graph":{"inputs":[],"outputs":[],"nodes":[],"tensor_values":{},
  "sym_int_values":{},"sym_bool_values":{}},"signature":{"input_specs":[],"output_specs":[]}},
  "range_constraints":{},"opset_version":{"aten":10}})";

std::string meta(const std::string& sizes, const std::string& strides,
                 const std::string& offset = "0", int dtype = 7) {
  const auto list = [](const std::string& numbers) {
    std::string result = "[";
    std::string number;
    for (char c : numbers + ' ') {
      if (c != ' ') {
        number += c;
      } else if (!number.empty()) {
        result += (result.size() > 1 ? "," : "") + fmt::format(R"({{"as_int":{}}})", number);
        number.clear();
      }
    }
    return result + "]";
  };
  return fmt::format(R"({{"dtype":{},"sizes":{},"requires_grad":false,
    "device":{{"type":"cpu","index":null}},"strides":{},"storage_offset":{{"as_int":{}}},
    "layout":7}})",
                     dtype, list(sizes), list(strides), offset);
}

struct ArchiveParts {
  std::string format = "pt2";
  std::string byteorder = "little";
  std::string program = kProgram;
  std::string meta = pt2::meta("2 3", "3 1");
  bool pickle = false;
  std::string storage = std::string(24, 'w');
  std::string storage_name = "weight_0";
  int method = 0;
  bool zip64 = false;
};

std::string pt2_file(const ArchiveParts& parts) {
  ZipWriter zip;
  zip.method = parts.method;
  zip.zip64 = parts.zip64;
  zip.add("root/data/weights/" + parts.storage_name, parts.storage);
  zip.add("root/data/weights/model_weights_config.json",
          fmt::format(R"({{"config":{{"a.w":{{"path_name":"weight_0","is_param":true,
            "use_pickle":{},"tensor_meta":{}}}}}}})",
                      parts.pickle, parts.meta));
  zip.add("root/data/constants/model_constants_config.json", R"({"config":{}})");
  zip.add("root/models/model.json", parts.program);
  if (!parts.format.empty()) zip.add("root/archive_format", parts.format);
  zip.add("root/byteorder", parts.byteorder);
  return zip.finish();
}

TEST(Zip, ReadsStoredEntriesInPlace) {
  for (bool zip64 : {false, true}) {
    ZipWriter writer;
    writer.zip64 = zip64;
    writer.add("r/a", "alpha").add("r/empty", "").add("r/b", std::string(1000, 'b'));
    const ZipArchive zip = open_zip(writer.finish("a comment"));
    ASSERT_EQ(zip.entries().size(), 3u);
    EXPECT_EQ(zip.entries()[0].name, "r/a");
    ASSERT_NE(zip.find("r/b"), nullptr);
    EXPECT_EQ(text(zip.find("r/a")->data), "alpha");
    EXPECT_EQ(text(zip.find("r/empty")->data), "");
    EXPECT_EQ(text(zip.find("r/b")->data), std::string(1000, 'b'));
    EXPECT_EQ((zip.find("r/b")->data.data() - zip.file().bytes().data()) % 64, 0);
    EXPECT_EQ(zip.find("r/c"), nullptr);
  }
}

TEST(Zip, RefusesDuplicatesCompressionAndEncryption) {
  EXPECT_CONTAINS(read_error(ZipWriter().add("r/a", "1").add("r/a", "2").finish()),
                  "holds 'r/a' twice");
  ArchiveParts deflated;
  deflated.method = 8;
  EXPECT_CONTAINS(read_error(pt2_file(deflated)), "is compressed");
  EXPECT_CONTAINS(read_error(pt2_file(deflated)), "torch.export.save");
  ZipWriter encrypted;
  encrypted.flags = 1;
  EXPECT_CONTAINS(read_error(encrypted.add("r/a", "1").finish()), "encrypted");
}

TEST(Zip, RefusesWhatIsNoArchive) {
  EXPECT_CONTAINS(read_error(""), "is empty");
  EXPECT_CONTAINS(read_error("x"), "is not a .pt2 archive");
  EXPECT_CONTAINS(read_error(std::string(100000, 'x')), "is not a .pt2 archive");
  EXPECT_CONTAINS(read_error(ZipWriter().finish()), "empty archive");
}

/// Little-endian, as zip has its numbers.
void put(std::string& file, size_t at, uint64_t value, size_t bytes) {
  ASSERT_LE(at + bytes, file.size());
  for (size_t i = 0; i < bytes; ++i) file[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

/// One number of an archive of two entries, "r/a" and "r/b", changed.
struct Damage {
  std::string record;  // how the record begins
  bool last;           // the last record of the kind, or the first
  size_t at;           // in the record
  size_t bytes;
  uint64_t value;
  std::string message;  // empty: the file is read all the same
  bool zip64 = false;
};

const std::string kLocal = "PK\3\4", kHeader = "PK\1\2", kEnd = "PK\5\6", kEnd64 = "PK\6\6",
                  kLocator = "PK\6\7";

/// Each field that is looked at, one beyond what it may be.
TEST(Zip, EveryFieldIsChecked) {
  const std::vector<Damage> damages = {
      {kLocal, false, 0, 1, 'Q', "bad local header"},
      {kLocal, true, 28, 2, 0, ""},  // without its extra field the data begins earlier
      {kHeader, true, 0, 1, 'Q', "bad directory entry"},
      {kHeader, false, 0, 1, 'Q', "bad directory entry"},
      {kHeader, true, 8, 2, 9, "is encrypted"},
      {kHeader, true, 8, 2, 0xfffe, ""},
      {kHeader, true, 10, 2, 1, "is compressed"},
      {kHeader, true, 20, 4, 6, "a stored entry has two sizes"},
      {kHeader, true, 24, 4, 6, "a stored entry has two sizes"},
      {kHeader, true, 28, 2, 4, "bad directory entry"},
      {kHeader, true, 30, 2, 1, "bad directory entry"},
      {kHeader, true, 32, 2, 1, "bad directory entry"},
      {kHeader, false, 28, 2, 4, "bad directory entry"},
      {kHeader, true, 42, 4, 0xfffffff0, "a record lies outside the file"},
      {kHeader, true, 42, 4, 1, "bad local header"},
      {kEnd, true, 4, 2, 1, "it is split over several files"},
      {kEnd, true, 10, 2, 3, "impossible entry count"},
      {kEnd, true, 10, 2, 1, ""},
      {kEnd, true, 12, 4, 1000, "a record lies outside the file"},
      {kEnd, true, 16, 4, 0xfffffff0, "a record lies outside the file"},
      {kEnd, true, 20, 2, 1, "its end is missing"},
      // What a zip64 record says counts, and not what the plain one would.
      {kEnd, true, 4, 2, 1, "", true},
      {kEnd, true, 10, 2, 3, "", true},
      {kEnd64, true, 0, 1, 'Q', "bad zip64 end record", true},
      {kEnd64, true, 32, 8, 5, "impossible entry count", true},
      {kEnd64, true, 40, 8, 1000, "a record lies outside the file", true},
      {kEnd64, true, 48, 8, uint64_t{0} - 1, "a record lies outside the file", true},
      {kLocator, true, 8, 8, uint64_t{0} - 8, "a record lies outside the file", true},
      {kHeader, true, 49 + 2, 2, 25, "an extra field is too long", true},
      {kHeader, true, 49 + 2, 2, 23, "a zip64 size is missing", true},
      {kHeader, true, 49 + 2, 2, 0, "a zip64 size is missing", true},
      {kHeader, true, 49, 2, 2, "a record lies outside the file", true},  // no zip64 field
      {kHeader, true, 49 + 4, 8, 6, "a stored entry has two sizes", true},
      {kHeader, true, 49 + 12, 8, 6, "a stored entry has two sizes", true},
      {kHeader, true, 49 + 20, 8, uint64_t{0} - 8, "a record lies outside the file", true},
  };
  for (const Damage& damage : damages) {
    ZipWriter writer;
    writer.zip64 = damage.zip64;
    std::string file = writer.add("r/a", "alpha").add("r/b", "beta!").finish();
    const size_t record = damage.last ? file.rfind(damage.record) : file.find(damage.record);
    SCOPED_TRACE(fmt::format("byte {} of {}, {}", damage.at, damage.record, damage.message));
    ASSERT_NE(record, std::string::npos);
    put(file, record + damage.at, damage.value, damage.bytes);
    if (damage.message.empty())
      EXPECT_NO_THROW(open_zip(file));
    else
      EXPECT_CONTAINS(read_error(file), damage.message);
  }
}

/// Data may reach as far as the directory, and no further.
TEST(Zip, NoEntryReachesIntoTheDirectory) {
  for (const bool zip64 : {false, true}) {
    ZipWriter writer;
    writer.zip64 = zip64;
    const std::string whole = writer.add("r/a", "alpha").finish();
    EXPECT_EQ(text(open_zip(whole).find("r/a")->data), "alpha");
    std::string longer = whole;
    const size_t sizes = longer.find(kHeader) + (zip64 ? 53 : 20);
    for (const size_t at : {size_t{0}, size_t{zip64 ? 8u : 4u}})
      put(longer, sizes + at, 6, zip64 ? 8 : 4);
    EXPECT_CONTAINS(read_error(longer), "an entry overlaps the directory");
  }
}

/// Only the numbers that do not fit are in the zip64 field, behind fields of other kinds.
TEST(Zip, FindsTheNumbersThatDoNotFit) {
  std::string file = ZipWriter().add("r/a", "alpha").finish();
  const size_t header = file.find(kHeader), end = file.find(kEnd);
  put(file, header + 42, 0xffffffff, 4);
  std::string extra(16, '\0');
  put(extra, 0, 7, 2);  // another kind, without anything in it
  put(extra, 4, 1, 2);  // zip64
  put(extra, 6, 8, 2);  // and its length
  put(extra, 8, 0, 8);  // where the entry begins
  put(file, header + 30, extra.size(), 2);
  put(file, end + 12, end - header + extra.size(), 4);
  file.insert(end, extra);
  EXPECT_EQ(text(open_zip(file).find("r/a")->data), "alpha");
  // Up to three bytes behind the fields are no field.
  put(file, header + 30, extra.size() + 3, 2);
  put(file, end + extra.size() + 12, end - header + extra.size() + 3, 4);
  file.insert(end + extra.size(), 3, 'x');
  EXPECT_EQ(text(open_zip(file).find("r/a")->data), "alpha");
}

TEST(Zip, TheEndIsFoundBehindItsComment) {
  const std::string whole = ZipWriter().add("r/a", "alpha").finish(std::string(0xffff, 'c'));
  EXPECT_EQ(open_zip(whole).entries().size(), 1u);
  EXPECT_CONTAINS(read_error(whole + "c"), "its end is missing");
  EXPECT_CONTAINS(read_error("PK\3\4"), "its end is missing");
  EXPECT_CONTAINS(read_error("PK\3"), "is not a .pt2 archive");
  EXPECT_CONTAINS(read_error(std::string(21, 'x')), "is not a .pt2 archive");
  // The shortest archive there is, and one that begins with the locator of a zip64 record.
  const std::string empty = ZipWriter().finish();
  EXPECT_EQ(empty.size(), 22u);
  EXPECT_CONTAINS(read_error(empty), "empty archive");
  std::string locator("PK\6\7");
  locator.resize(20, '\0');
  EXPECT_CONTAINS(read_error(locator + empty), "a record lies outside the file");
}

/// A zip64 field that has room for nothing is one all the same.
TEST(Zip, EmptyFieldsAreRead) {
  ZipWriter writer;
  writer.zip64 = true;
  std::string file = writer.add("r/a", "alpha").finish();
  put(file, file.find(kHeader) + 30, 4, 2);
  put(file, file.find(kHeader) + 51, 0, 2);
  EXPECT_CONTAINS(read_error(file), "a zip64 size is missing");
}

TEST(Zip, EntriesMayHaveComments) {
  std::string file = ZipWriter().add("r/a", "alpha").add("r/b", "beta").finish();
  const size_t header = file.find(kHeader), end = file.find(kEnd);
  put(file, header + 32, 3, 2);
  put(file, end + 12, end - header + 3, 4);
  file.insert(header + 49, "why");
  EXPECT_EQ(text(open_zip(file).find("r/b")->data), "beta");
}

/// A directory that is shorter than the number of entries needs, though long enough for some.
TEST(Zip, DirectoriesThatEndEarly) {
  std::string file = ZipWriter().add("r/" + std::string(100, 'n'), "alpha").finish();
  put(file, file.find(kEnd) + 10, 2, 2);
  EXPECT_CONTAINS(read_error(file), "bad directory entry");
  // The second header is there, and reaches one byte beyond the directory.
  const std::string name = "r/" + std::string(100, 'n');
  file = ZipWriter().add(name, "alpha").add(name + "n", "beta").finish();
  put(file, file.find(kEnd) + 12, 46 + name.size() + 45, 4);
  EXPECT_CONTAINS(read_error(file), "bad directory entry");
}

TEST(Zip, EveryTruncationIsAnError) {
  for (bool zip64 : {false, true}) {
    ArchiveParts parts;
    parts.zip64 = zip64;
    const std::string whole = pt2_file(parts);
    ASSERT_EQ(read_error(whole), "");
    for (size_t part = 0; part < 16; ++part)
      EXPECT_NE(read_error(whole.substr(0, whole.size() * part / 16)), "") << part;
    for (size_t cut = 1; cut < 200; ++cut)
      EXPECT_NE(read_error(whole.substr(0, whole.size() - cut)), "") << cut;
  }
}

TEST(Zip, NoDamagedByteCrashes) {
  // Any outcome but a crash: a flipped byte may also leave the file readable.
  for (bool zip64 : {false, true}) {
    ArchiveParts parts;
    parts.zip64 = zip64;
    const std::string whole = pt2_file(parts);
    for (size_t at = 0; at < whole.size(); ++at) {
      for (char flip : {'\xff', '\x01'}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        EXPECT_NO_THROW(read_error(damaged)) << at;
      }
    }
  }
}

TEST(Archive, ListsModelsAndTheirPayloads) {
  const TemporaryFile file(pt2_file({}));
  const Pt2Archive archive(MappedFile::open(file.path()));
  EXPECT_EQ(archive.models(), std::vector<std::string>{"model"});
  EXPECT_EQ(text(archive.model_json("model")), kProgram);
  EXPECT_EQ(archive.program("model").opset_version.at("aten"), 10);
  EXPECT_EQ(archive.constants("model").size(), 0u);
  const PayloadTable weights = archive.weights("model");
  ASSERT_EQ(weights.size(), 1u);
  const Payload& weight = weights.tensor("a.w");
  EXPECT_EQ(weight.path, "data/weights/weight_0");
  EXPECT_EQ(weight.storage.size(), 24u);
  EXPECT_TRUE(weight.is_param);
  EXPECT_EQ(weight.meta->dtype, TorchDType::kFloat32);
  EXPECT_EQ(weight.meta->device.type, "cpu");
  EXPECT_EQ(weights.find("a.b"), nullptr);
  EXPECT_THROW(weights.tensor("a.b"), UserError);
  EXPECT_THROW(archive.program("other"), UserError);
}

TEST(Archive, ChecksFormatAndByteOrder) {
  ArchiveParts parts;
  parts.byteorder = "big";
  EXPECT_CONTAINS(read_error(pt2_file(parts)), "big-endian");
  parts = {};
  parts.format = "mar";
  EXPECT_CONTAINS(read_error(pt2_file(parts)), "a 'mar' archive, not pt2");
  parts.format = "";
  EXPECT_CONTAINS(read_error(pt2_file(parts)), "no archive_format");
  EXPECT_CONTAINS(read_error(ZipWriter().add("m/data.pkl", "").finish()), "torch.save checkpoint");
  EXPECT_CONTAINS(
      read_error(ZipWriter().add("m/archive_format", "pt2").add("m/byteorder", "little").finish()),
      "holds no exported program");
}

TEST(Archive, StoragesMustHoldTheirTensors) {
  const auto error = [](const std::string& m, size_t bytes) {
    ArchiveParts parts;
    parts.meta = m;
    parts.storage = std::string(bytes, 'w');
    return read_error(pt2_file(parts));
  };
  EXPECT_EQ(error(meta("2 3", "3 1"), 24), "");
  EXPECT_EQ(error(meta("2 3", "1 2"), 24), "");
  EXPECT_EQ(error(meta("", ""), 4), "");
  EXPECT_EQ(error(meta("0 3", "3 1", "1000"), 0), "");
  EXPECT_EQ(error(meta("1000 3", "0 1"), 12), "");
  EXPECT_CONTAINS(error(meta("2 3", "3 1"), 23), "reaches to byte 24");
  EXPECT_CONTAINS(error(meta("2 3", "3 1"), 23), "a.w");
  EXPECT_CONTAINS(error(meta("2 3", "3 1", "1"), 24), "reaches to byte 28");
  EXPECT_CONTAINS(error(meta("2 3", "4 1"), 24), "reaches to byte 28");
  EXPECT_CONTAINS(error(meta("2 3", "4611686018427387904 1"), 24), "2^63 and beyond");
  EXPECT_CONTAINS(error(meta("3 3", "9223372036854775807 1"), 24), "2^63 and beyond");
  EXPECT_CONTAINS(error(meta("2", "1", "9223372036854775807"), 24), "2^63 and beyond");
  EXPECT_CONTAINS(error(meta("2 3", "3 -1"), 24), "negative stride");
  EXPECT_CONTAINS(error(meta("2 3", "3 1", "-1"), 24), "negative storage_offset");
  EXPECT_CONTAINS(error(meta("-2 3", "3 1"), 24), "negative size");
  EXPECT_CONTAINS(error(meta("4611686018427387904 4", "1 1"), 24), "larger than memory");
  EXPECT_CONTAINS(error(meta("2 3", "1"), 24), "1 strides for 2 sizes");
  EXPECT_CONTAINS(error(meta("2 3", "3 1", "0", 99), 24), "unknown dtype number 99");
}

/// Every model below models/, by its name, and no other file.
TEST(Archive, FindsModelsByTheirPlace) {
  ZipWriter zip;
  zip.add("m/archive_format", "pt2\n\n").add("m/byteorder", "little\n");
  for (const char* name : {"models/.json", "models/a.json", "models/b.json.txt", "model/c.json",
                           "x/models/d.json", "models/e.json"})
    zip.add(std::string("m/") + name, "{}");
  const TemporaryFile file(zip.finish());
  const Pt2Archive archive(MappedFile::open(file.path()));
  EXPECT_EQ(archive.models(), (std::vector<std::string>{"a", "e"}));
}

TEST(Archive, WhatIsNoPlainTensor) {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const auto error = [](const std::string& m) {
    ArchiveParts parts;
    parts.meta = m;
    return read_error(pt2_file(parts));
  };
  const std::string symbolic =
      R"json({"as_expr":{"expr_str":"Symbol('s0')","hint":{"as_int":2}}})json";
  const std::string plain = meta("2 3", "3 1");
  const std::string two = R"({"as_int":2})", one = R"({"as_int":1})", none = R"({"as_int":0})";
  EXPECT_CONTAINS(error(replaced(plain, two, symbolic)), "a stored tensor has a symbolic size");
  EXPECT_CONTAINS(error(replaced(plain, one, symbolic)), "a stored tensor has a symbolic stride");
  EXPECT_CONTAINS(error(replaced(plain, none, symbolic)),
                  "a stored tensor has a symbolic storage_offset");
  // Sparse tensors and objects are refused where they are used.
  for (const auto& [entry, message] : std::vector<std::pair<std::string, std::string>>{
           {replaced(meta("200 3", "3 1"), "\"layout\":7", "\"layout\":1"), "is a sparse tensor"},
           {"null", "is a custom object, not a tensor"}}) {
    ArchiveParts parts;
    parts.meta = entry;
    const TemporaryFile file(pt2_file(parts));
    const PayloadTable weights = Pt2Archive(MappedFile::open(file.path())).weights("model");
    try {
      weights.tensor("a.w");
      FAIL();
    } catch (const UserError& refused) {
      EXPECT_CONTAINS(refused.what(), message);
    }
  }
}

TEST(Archive, MissingStorageNamesTheTensor) {
  ArchiveParts parts;
  parts.storage_name = "weight_1";
  const std::string error = read_error(pt2_file(parts));
  EXPECT_CONTAINS(error, "config.a.w: its data 'data/weights/weight_0' is not in the archive");
}

TEST(Archive, PickledTensorsAreRefusedOnlyWhenUsed) {
  ArchiveParts parts;
  parts.pickle = true;
  parts.storage = "pickle";
  const TemporaryFile file(pt2_file(parts));
  const PayloadTable weights = Pt2Archive(MappedFile::open(file.path())).weights("model");
  EXPECT_TRUE(weights.find("a.w")->use_pickle);
  try {
    weights.tensor("a.w");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_CONTAINS(error.what(), "unwrap_tensor_subclass");
    EXPECT_CONTAINS(error.what(), "run_decompositions({})");
  }
}

}  // namespace
}  // namespace layline::pt2
