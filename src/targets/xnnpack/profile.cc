#include "targets/xnnpack/profile.h"

#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/mapped_file.h"
#include "targets/xnnpack/built_in_profiles.h"

namespace layline::xnnpack {
namespace {

namespace dom = simdjson::dom;

constexpr int64_t kVersion = 1;
// A second for a call, a terabyte for a run: more is a mistake, and sums cannot overflow.
constexpr int64_t kMost = 1'000'000'000'000;

/// Reads members of the document by their JSON pointers, which also say where an error is.
class ProfileReader {
 public:
  ProfileReader(std::string_view json, std::string_view file) : file_(file) {
    const auto parsed = parser_.parse(simdjson::padded_string(json));
    if (parsed.error())
      throw UserError("{}: not a cost profile: {}", file, simdjson::error_message(parsed.error()));
    root_ = parsed.value_unsafe();
  }

  std::string string(std::string_view pointer) const {
    std::string_view text;
    if (root_.at_pointer(pointer).get(text)) fail(pointer, "a string");
    return std::string(text);
  }

  int64_t number(std::string_view pointer, int64_t least) const {
    int64_t value = 0;
    if (root_.at_pointer(pointer).get(value) || value < least || value > kMost)
      fail(pointer, fmt::format("an integer from {} to {}", least, kMost));
    return value;
  }

  TransposeCosts transpose(std::string_view pointer) const {
    const auto member = [&](std::string_view name, int64_t least) {
      return number(fmt::format("{}/{}", pointer, name), least);
    };
    return {member("piece", 1), member("read_ps", 0), member("write_ps", 0),
            member("matrix_ps", 0)};
  }

  RunCosts runs(std::string_view pointer) const {
    dom::array items;
    if (root_.at_pointer(pointer).get(items) || items.size() == 0)
      fail(pointer, "a list of [bytes, picoseconds]");
    RunCosts runs;
    runs.points.clear();
    for (size_t i = 0; i < items.size(); ++i) {
      dom::array pair;
      if (items.at(i).get(pair) || pair.size() != 2)
        fail(fmt::format("{}/{}", pointer, i), "[bytes, picoseconds]");
      const RunCosts::Point point = {number(fmt::format("{}/{}/0", pointer, i), 1),
                                     number(fmt::format("{}/{}/1", pointer, i), 0)};
      if (i > 0 && (point.bytes <= runs.points.back().bytes || point.ps < runs.points.back().ps))
        fail(fmt::format("{}/{}", pointer, i), "a longer run than the one before, and no cheaper");
      runs.points.push_back(point);
    }
    return runs;
  }

 private:
  [[noreturn]] void fail(std::string_view pointer, std::string_view expected) const {
    throw UserError("{}: not a cost profile: {} must be {}; `layline tune` writes one", file_,
                    pointer, expected);
  }

  std::string_view file_;
  dom::parser parser_;
  dom::element root_;
};

constexpr std::string_view kHost = "host";

/// The name of the profile for the instructions that XNNPACK would use on this machine.
std::string_view host_profile() {
#if defined(__x86_64__)
  // What its AVX-512 kernels ask for: those of Skylake's servers.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "epyc-avx512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "epyc-avx2";
#endif
  throw UserError(
      "--profile host: no profile was measured on a machine like this one; "
      "`layline tune -o FILE` measures one, and `--profile FILE` uses it");
}

void write(JsonWriter& json, const RunCosts& runs) {
  json.list_of(runs.points, [&](const RunCosts::Point& point) {
    json.numbers(std::array{point.bytes, point.ps});
  });
}

void write(JsonWriter& json, const TransposeCosts& costs) {
  json.object([&] {
    json.key("piece").number(costs.piece);
    json.key("read_ps").number(costs.read_ps);
    json.key("write_ps").number(costs.write_ps);
    json.key("matrix_ps").number(costs.matrix_ps);
  });
}

void write(JsonWriter& json, const ProductCosts& costs) {
  json.object([&] {
    json.key("window").number(costs.window_fs);
    json.key("pointwise").number(costs.pointwise_fs);
    json.key("depthwise").number(costs.depthwise_fs);
    json.key("grouped").number(costs.grouped_fs);
    json.key("integer_depthwise9").number(costs.integer_depthwise9_fs);
    json.key("integer_depthwise25").number(costs.integer_depthwise25_fs);
  });
}

}  // namespace

Profile parse_profile(std::string_view json, std::string_view file) {
  const ProfileReader reader(json, file);
  const int64_t version = reader.number("/version", 0);
  if (version != kVersion)
    throw UserError("{}: a cost profile of version {}; this layline reads version {}", file,
                    version, kVersion);
  Profile profile;
  profile.name = reader.string("/name");
  profile.cpu = reader.string("/cpu");
  profile.runtime = reader.string("/runtime");
  profile.moves.margin_ps = reader.number("/margin_ps", 0);
  profile.moves.call_ps = reader.number("/call_ps", 0);
  profile.moves.transpose = reader.transpose("/transpose");
  profile.moves.transpose_bytes = reader.transpose("/transpose_bytes");
  profile.moves.permute = reader.runs("/run_ps/permute");
  profile.moves.slice = reader.runs("/run_ps/slice");
  profile.moves.concat = reader.runs("/run_ps/concat");
  profile.products.window_fs = reader.number("/multiply_add_fs/window", 0);
  profile.products.pointwise_fs = reader.number("/multiply_add_fs/pointwise", 0);
  profile.products.depthwise_fs = reader.number("/multiply_add_fs/depthwise", 0);
  profile.products.grouped_fs = reader.number("/multiply_add_fs/grouped", 0);
  profile.products.integer_depthwise9_fs = reader.number("/multiply_add_fs/integer_depthwise9", 0);
  profile.products.integer_depthwise25_fs =
      reader.number("/multiply_add_fs/integer_depthwise25", 0);
  profile.products.convert_fs = reader.number("/convert_fs", 0);
  return profile;
}

std::string to_json(const Profile& profile) {
  const MoveCosts& moves = profile.moves;
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.key("version").number(kVersion);
      json.key("name").string(profile.name);
      json.key("cpu").string(profile.cpu);
      json.key("runtime").string(profile.runtime);
      json.key("margin_ps").number(moves.margin_ps);
      json.key("call_ps").number(moves.call_ps);
      write(json.key("transpose"), moves.transpose);
      write(json.key("transpose_bytes"), moves.transpose_bytes);
      json.key("run_ps").object([&] {
        write(json.key("permute"), moves.permute);
        write(json.key("slice"), moves.slice);
        write(json.key("concat"), moves.concat);
      });
      write(json.key("multiply_add_fs"), profile.products);
      json.key("convert_fs").number(profile.products.convert_fs);
    });
  });
}

const Profile& default_profile() {
  static const Profile kProfile = find_profile(std::string(kDefaultProfile));
  return kProfile;
}

std::vector<std::string_view> profile_names() {
  std::vector<std::string_view> names;
  for (const BuiltInProfile& profile : kBuiltInProfiles) names.push_back(profile.name);
  names.push_back(kHost);
  return names;
}

Profile find_profile(const std::string& name_or_file) {
  const std::string_view name = name_or_file == kHost ? host_profile() : name_or_file;
  const auto* built_in = std::ranges::find(kBuiltInProfiles, name, &BuiltInProfile::name);
  if (built_in != std::end(kBuiltInProfiles)) return parse_profile(built_in->json, name);
  if (!std::filesystem::exists(name_or_file))
    throw UserError("there is no profile `{}`; give one of {}, or a file that `layline tune` wrote",
                    name_or_file, fmt::join(profile_names(), ", "));
  const auto file = MappedFile::open(name_or_file);
  return parse_profile(file->text(), name_or_file);
}

}  // namespace layline::xnnpack
