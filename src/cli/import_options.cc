#include "cli/import_options.h"

#include "base/error.h"
#include "cli/command.h"
#include "compiler/import_options.h"

namespace layline {
namespace {

std::map<std::string, std::string> by_name(std::string_view option,
                                           const std::vector<std::string>& texts) {
  std::map<std::string, std::string> values;
  for (const std::string& text : texts) {
    const auto [name, value] = parse_assignment(option, text);
    if (!values.emplace(name, value).second)
      throw UserError("{} is given twice for '{}'", option, name);
  }
  return values;
}

}  // namespace

void add_import_options(CLI::App& command, ImportArguments& arguments) {
  command
      .add_option("--dim", arguments.dims,
                  "A size that an ONNX model leaves open: batch=1, width=32..960, or in steps\n"
                  "width=32..960:32; repeatable")
      ->option_text("NAME=SIZE ...")
      ->allow_extra_args(false);
  command
      .add_option("--fix", arguments.fixed,
                  "An input of an ONNX model that is always the same: a number, or FILE.npy.\n"
                  "The program does not have it; repeatable")
      ->option_text("INPUT=VALUE ...")
      ->allow_extra_args(false);
}

ImportOptions read_import_options(const ImportArguments& arguments) {
  return parse_import_options(by_name("--dim", arguments.dims), by_name("--fix", arguments.fixed));
}

}  // namespace layline
