// The commands of layline, one file each, and what they have in common.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace layline {

/// Each adds its command to `app`; parsing a command line that names it runs it.
void add_compile_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_diff_command(CLI::App& app);
void add_completion_command(CLI::App& app);

// `layline` compiles and does not load ExecuTorch's runtime: loading takes longer than compiling a
// small model. `layline-runtime`, beside it, has all commands. Each of the two has its own versions
// of these functions: src/cli/without_runtime and src/cli/runtime.

/// Adds those commands that need the runtime: none, in a command without it.
void add_runtime_commands(CLI::App& app);
/// Lets `layline-runtime` go on with these arguments, unless they name a command that `layline` has
/// itself.
void hand_over(std::span<char* const> arguments);

/// The `NAME=VALUE` that some options take.
struct Assignment {
  std::string name;
  std::string value;
};

/// Splits at the first `=`. Throws UserError, naming `option`, if either side is empty.
Assignment parse_assignment(std::string_view option, std::string_view text);

/// Whether both names are names of one file, whether it exists yet or not.
bool same_file(const std::string& a, const std::string& b);

/// Throws UserError if `written` is the file `read`, which is `what`: writing over a file that is
/// read is never meant. An empty name is no file.
void check_stays(const std::string& read, std::string_view what, const std::string& written);

/// Prints now. Throws UserError if standard output takes no more, as on a full disk.
void write_stdout(std::string_view text);

}  // namespace layline
