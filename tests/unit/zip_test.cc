// The zip container and, on top of it, the .pt2 archive.
#include "frontend/pt2/zip.h"

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
  return ZipArchive(MappedFile::open(file.path()));
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
