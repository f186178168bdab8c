// layline diff: two programs side by side, whoever compiled them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>

#include "base/json_writer.h"
#include "base/mapped_file.h"
#include "cli/color.h"
#include "cli/command.h"
#include "targets/xnnpack/program_facts.h"

namespace layline {
namespace {

struct DiffArguments {
  std::string before, after;
  bool all = false;
  bool json = false;
};

/// A figure that both programs have.
struct Row {
  std::string name;
  int64_t before = 0, after = 0;
};

int64_t count(const std::map<std::string, int64_t>& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

void add_counts(std::vector<Row>& rows, std::string_view prefix,
                const std::map<std::string, int64_t>& before,
                const std::map<std::string, int64_t>& after) {
  std::set<std::string> names;
  for (const auto& [name, number] : before) names.insert(name);
  for (const auto& [name, number] : after) names.insert(name);
  for (const std::string& name : names)
    rows.push_back({fmt::format("{}{}", prefix, name), count(before, name), count(after, name)});
}

int64_t total(const std::map<std::string, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [name, number] : counts) sum += number;
  return sum;
}

std::vector<Row> compare(const xnnpack::ProgramFacts& before, const xnnpack::ProgramFacts& after) {
  std::vector<Row> rows = {
      {"file bytes", before.file_bytes, after.file_bytes},
      {"segment bytes", before.segment_bytes, after.segment_bytes},
      {"arena bytes", before.arena_bytes, after.arena_bytes},
      {"methods", static_cast<int64_t>(before.methods.size()),
       static_cast<int64_t>(after.methods.size())},
      {"delegates", before.delegates, after.delegates},
      {"transposes", before.transposes, after.transposes},
      {"ops in delegates", total(before.operators), total(after.operators)},
      {"ops outside", total(before.kernels), total(after.kernels)},
  };
  add_counts(rows, "in delegates: ", before.operators, after.operators);
  add_counts(rows, "outside: ", before.kernels, after.kernels);
  return rows;
}

std::string difference(const Row& row) {
  if (row.before == row.after) return "";
  return paint(row.after < row.before ? Color::green : Color::red,
               fmt::format("{:>+12}", row.after - row.before));
}

std::string as_table(const std::vector<Row>& rows) {
  if (rows.empty()) return "the programs are made of the same\n";
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string text = fmt::format("{:<{}} {:>12} {:>12} {:>12}\n", "", width, "A", "B", "B - A");
  for (const Row& row : rows)
    text += fmt::format("{:<{}} {:>12} {:>12} {}\n", row.name, width, row.before, row.after,
                        difference(row));
  return text;
}

std::string as_json(const std::vector<Row>& rows) {
  return json_text([&](JsonWriter& json) {
    json.list_of(rows, [&](const Row& row) {
      json.object([&] {
        json.key("what").string(row.name);
        json.key("a").number(row.before);
        json.key("b").number(row.after);
      });
    });
  });
}

xnnpack::ProgramFacts facts_of(const std::string& path) {
  return xnnpack::read_facts(MappedFile::open(path)->bytes(), path);
}

void run_diff(const DiffArguments& arguments) {
  std::vector<Row> rows = compare(facts_of(arguments.before), facts_of(arguments.after));
  if (!arguments.all) std::erase_if(rows, [](const Row& row) { return row.before == row.after; });
  write_stdout(arguments.json ? as_json(rows) : as_table(rows));
}

}  // namespace

void add_diff_command(CLI::App& app) {
  const auto arguments = std::make_shared<DiffArguments>();
  CLI::App* command =
      app.add_subcommand("diff", "Tell what two programs are made of, and how they differ")
          ->group("Commands");
  command->add_option("A", arguments->before, "A .pte file, of layline or any other compiler")
      ->type_name("")
      ->required();
  command->add_option("B", arguments->after, "Another one")->type_name("")->required();
  command->add_flag("--all", arguments->all, "Also what is the same in both");
  command->add_flag("--json", arguments->json, "As JSON: a list of {what, a, b}");
  command->footer(
      "Example:\n"
      "  layline diff executorch.pte layline.pte");
  command->callback([arguments] { run_diff(*arguments); });
}

}  // namespace layline
