// The commands that need ExecuTorch's runtime, one file each.
#pragma once

namespace CLI {
class App;
}

namespace layline {

void add_run_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_verify_command(CLI::App& app);

}  // namespace layline
