// Near misses: a graph on which a pass fires, and edits of one or two words after which it must
// not.
//
// tests/near_misses/PASS.near holds, for one pass of the pipeline, graphs in text form. A line
// `// TARGET: xnnpack` before a graph gives the pass that target's rules, one of `xnnpack avx512`
// with the costs of that machine; without it the target takes every op. The lines after a graph
// are its cases:
//
//   // MISS: the conv is padded behind       the pass must leave the graph as it is
//   //   high = [0,0] => high = [1,1]         a replacement in the graph's text, found exactly once
//   // STILL: with a bias                     the pass must fire, and the graph mean what it meant
//   //   ...                                  "\n" in a replacement begins a new line
//   // ALONE: why                             no program is made of it to be compared, too
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace layline {

/// One graph, and whether the pass must fire on it.
struct NearMiss {
  std::string pass;
  std::string target;  // empty: one that takes every op
  std::string name;    // FILE:LINE and what is different
  std::string text;
  bool fires = true;
  bool alone = false;  // the runtime is known to differ
  std::vector<std::string> edits = {};
};

namespace near_misses {

/// "a => b", applied to the text.
inline void edit(std::string& text, std::string_view line, const std::string& where) {
  const size_t arrow = line.find(" => ");
  if (arrow == std::string_view::npos) throw std::runtime_error(where + ": no ' => '");
  const std::string from(line.substr(0, arrow));
  std::string to(line.substr(arrow + 4));
  for (size_t at; (at = to.find("\\n")) != std::string::npos;) to.replace(at, 2, "\n");
  const size_t at = text.find(from);
  if (from.empty() || at == std::string::npos || text.find(from, at + 1) != std::string::npos)
    throw std::runtime_error(where + ": '" + from + "' is not in the graph exactly once");
  text.replace(at, from.size(), to);
}

}  // namespace near_misses

/// The cases of a file, graphs as they stand first.
inline std::vector<NearMiss> read_near_misses(const std::filesystem::path& path) {
  std::vector<NearMiss> cases;
  std::ifstream file(path);
  std::string line, target, base;
  const std::string pass = path.stem().string();
  bool inside = false;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string where = path.filename().string() + ":" + std::to_string(number);
    const auto after = [&](std::string_view prefix) {
      return line.starts_with(prefix) ? line.substr(prefix.size()) : std::string();
    };
    if (line.starts_with("graph ")) {
      inside = true;
      base.clear();
      cases.push_back({pass, target, where, "", true, false});
      target.clear();
    }
    if (inside) {
      base += line + "\n";
      if (line == "}") {
        inside = false;
        cases.back().text = base;
      }
    } else if (const std::string name = after("// TARGET: "); !name.empty()) {
      target = name;
    } else if (const std::string miss = after("// MISS: "); !miss.empty()) {
      cases.push_back({pass, cases.back().target, where + " " + miss, base, false, false});
    } else if (const std::string still = after("// STILL: "); !still.empty()) {
      cases.push_back({pass, cases.back().target, where + " " + still, base, true, false});
    } else if (line.starts_with("// ALONE: ")) {
      cases.back().alone = true;
    } else if (const std::string change = after("//   "); !change.empty()) {
      near_misses::edit(cases.back().text, change, where);
      cases.back().edits.push_back(change);
    }
  }
  return cases;
}

/// The names of all files, without ".near".
inline std::vector<std::string> near_miss_files(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".near") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace layline
