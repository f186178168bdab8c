// What torch was given and what it computed, in the .npz of a fixture (tests/models/export.py).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/npz.h"

namespace layline {

/// The arrays of one run: those whose names begin with `prefix`, "" or such as "step_0/". The
/// archive outlives it.
class FixtureRun {
 public:
  FixtureRun(const NpzArchive& archive, std::string prefix)
      : archive_(&archive), prefix_(std::move(prefix)) {}

  const std::string& prefix() const { return prefix_; }
  bool exists() const {
    return std::ranges::any_of(archive_->names(),
                               [&](std::string_view name) { return name.starts_with(prefix_); });
  }
  bool contains(std::string_view kind, size_t i) const { return archive_->contains(name(kind, i)); }
  NpyArray read(std::string_view kind, size_t i) const { return archive_->read(name(kind, i)); }

 private:
  std::string name(std::string_view kind, size_t i) const {
    return fmt::format("{}{}_{}", prefix_, kind, i);
  }

  const NpzArchive* archive_;
  std::string prefix_;
};

/// The runs of one method in a row: step_0, step_1..., or one run, and where there are other sizes,
/// size_1, size_2... and the first once more.
inline std::vector<FixtureRun> runs_of(const NpzArchive& archive, const std::string& method) {
  const std::string prefix = method + "/";
  // An archive with one method does not name it.
  const FixtureRun first(archive, FixtureRun(archive, prefix).exists() ? prefix : "");
  std::vector<FixtureRun> runs;
  const auto add = [&](std::string_view kind, int i) {
    FixtureRun run(archive, fmt::format("{}{}_{}/", first.prefix(), kind, i));
    if (!run.exists()) return false;
    runs.push_back(std::move(run));
    return true;
  };
  for (int i = 0; add("step", i);) ++i;
  if (!runs.empty()) return runs;
  runs.push_back(first);
  for (int i = 1; add("size", i);) ++i;
  if (runs.size() > 1) runs.push_back(first);
  return runs;
}

}  // namespace layline
