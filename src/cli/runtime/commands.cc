#include "cli/runtime/commands.h"

#include "cli/command.h"

namespace layline {

void add_runtime_commands(CLI::App& app) {
  add_run_command(app);
  add_generate_command(app);
  add_bench_command(app);
  add_tune_command(app);
  add_verify_command(app);
}

void hand_over(std::span<char* const>) {}

}  // namespace layline
