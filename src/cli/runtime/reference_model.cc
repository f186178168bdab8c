#include "cli/runtime/reference_model.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/output_file.h"
#include "ir/npy_types.h"
#include "runtime/tensor_file.h"
#include "schema/tosa_generated.h"

namespace layline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "tosa_reference_model";

bool is_executable(const fs::path& path) { return access(path.c_str(), X_OK) == 0; }

/// A folder that is removed with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "layline-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr)
      throw UserError("cannot make a folder for temporary files; set TMPDIR to one that is there");
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Runs the program with both streams into a file; returns its status.
int status_of(const fs::path& program, const std::vector<std::string>& arguments,
              const fs::path& log) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw UserError("cannot run '{}'", program.string());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// The last line of the log that is not a warning.
std::string last_line(const fs::path& log) {
  std::ifstream file(log);
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && !line.starts_with("WARNING:") && !line.starts_with("Graph result:"))
      last = line;
  return last;
}

/// Throws why the model refused to run a program. It is the user's error if inputs make SCATTER
/// write to an element twice: SCATTER may write to each once.
void refuse(const fs::path& log) {
  const std::string why = last_line(log);
  if (why.find("written to more than once") != std::string::npos)
    throw UserError(
        "these inputs write to one element twice, which TOSA leaves open; give others with "
        "--inputs");
  throw InternalError(fmt::format("Arm's reference model refuses the program: {}", why));
}

fs::path find_program() {
  std::vector<fs::path> folders;
  if (const char* python = std::getenv("LAYLINE_TOSA_PYTHON"))
    folders.push_back(fs::path(python).parent_path());
  folders.emplace_back(".venv-tosa/bin");
  if (const char* path = std::getenv("PATH")) {
    std::istringstream text(path);
    for (std::string folder; std::getline(text, folder, ':');) folders.emplace_back(folder);
  }
  const auto found = std::ranges::find_if(
      folders, [](const fs::path& folder) { return is_executable(folder / kProgram); });
  if (found == folders.end())
    throw UserError(
        "Arm's {} is not installed: `pip install tosa-tools` in a venv, and set "
        "LAYLINE_TOSA_PYTHON to its Python",
        kProgram);
  return *found / kProgram;
}

std::vector<std::string> texts(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>& names) {
  std::vector<std::string> result;
  for (const flatbuffers::String* name : names) result.push_back(name->str());
  return result;
}

std::vector<Tensor> run(const fs::path& reference_model, std::span<const std::byte> program,
                        std::span<const Tensor> inputs) {
  if (inputs.empty()) throw UserError("Arm's {} runs no program without inputs", kProgram);
  const ScratchFolder folder;
  {
    OutputFile file((folder.path() / "model.tosa").string());
    file.write(program);
    file.commit();
  }
  const ::tosa::TosaBasicBlock& block =
      *::tosa::GetTosaGraph(program.data())->regions()->Get(0)->blocks()->Get(0);
  // Files are numbered: names may be longer than a file's.
  std::vector<std::string> input_files, output_files;
  for (size_t i = 0; i < inputs.size(); ++i) {
    input_files.push_back(fmt::format("in{}.npy", i));
    write_npy((folder.path() / input_files.back()).string(), npy_type(inputs[i].dtype()),
              inputs[i].dims(), inputs[i].bytes());
  }
  for (size_t i = 0; i < block.outputs()->size(); ++i)
    output_files.push_back(fmt::format("out{}.npy", i));
  const std::string place = folder.path().string();
  const std::vector<std::string> arguments = {
      "--tosa_file=model.tosa",
      "--flatbuffer_dir=" + place,
      "--output_dir=" + place,
      "--tosa_level=EIGHTK",
      fmt::format("--ifm_name={}", fmt::join(texts(*block.inputs()), ",")),
      fmt::format("--ifm_file={}", fmt::join(input_files, ",")),
      fmt::format("--ofm_name={}", fmt::join(texts(*block.outputs()), ",")),
      fmt::format("--ofm_file={}", fmt::join(output_files, ","))};
  const fs::path log = folder.path() / "log";
  const int status = status_of(reference_model, arguments, log);
  std::vector<Tensor> outputs;
  for (const std::string& file : output_files) {
    // It ends with success where it does not know an output.
    const fs::path path = folder.path() / file;
    if (status != 0 || !fs::exists(path)) refuse(log);
    outputs.push_back(as_tensor(read_tensor(path.string())));
  }
  return outputs;
}

}  // namespace

LoadMethod load_in_reference_model() {
  return [path = find_program()](std::span<const std::byte> program, const std::string&) {
    return [path, bytes = std::vector(program.begin(), program.end())](
               std::span<const Tensor> inputs) { return run(path, bytes, inputs); };
  };
}

}  // namespace layline
