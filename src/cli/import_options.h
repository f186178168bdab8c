// The options --dim and --fix.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "frontend/import_options.h"

namespace layline {

/// The texts that were given.
struct ImportArguments {
  std::vector<std::string> dims;
  std::vector<std::string> fixed;
};

/// Adds both to a command. They are parsed into `arguments`, which must outlive the parsing.
void add_import_options(CLI::App& command, ImportArguments& arguments);

/// Throws UserError for what does not read, and for a name given twice.
ImportOptions read_import_options(const ImportArguments& arguments);

}  // namespace layline
