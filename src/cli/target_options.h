// --target, and the options that targets take, from the table of targets; and --prove.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

#include "compiler/compile.h"

namespace layline {

/// Adds these options to a command. Its help says `about` each target, under `heading`. They are
/// parsed into `options`, which must outlive the parsing.
void add_target_options(CLI::App& command, std::string_view heading,
                        std::string_view Target::*about, CompileOptions& options);

/// Adds --prove, likewise.
void add_prove_option(CLI::App& command, CompileOptions& options);

/// What all targets say, in one text: ".pte or .tosa".
std::string of_all_targets(std::string_view Target::*what);

}  // namespace layline
