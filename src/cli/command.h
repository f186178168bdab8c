// The commands of layline, one file each, and what they have in common.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace layline {

/// Each adds its command to `app`; parsing a command line that names it runs it.
void add_compile_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_verify_command(CLI::App& app);
void add_diff_command(CLI::App& app);
void add_completion_command(CLI::App& app);

/// The `NAME=VALUE` that some options take.
struct Assignment {
  std::string name;
  std::string value;
};

/// Splits at the first `=`. UserError naming `option` if either side is empty.
Assignment parse_assignment(std::string_view option, std::string_view text);

/// True if both names are of one file, whether it is there yet or not.
bool same_file(const std::string& a, const std::string& b);

/// Writing over a file that is read is never meant. UserError if `written` is the file `read`,
/// which is `what`; an empty name is no file.
void check_stays(const std::string& read, std::string_view what, const std::string& written);

/// Prints now. UserError if standard output takes no more, as on a full disk.
void write_stdout(std::string_view text);

}  // namespace layline
