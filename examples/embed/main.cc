// embed MODEL.pt2 OUT.pte [SECONDS]: compiles a model, tells what was done, and runs it once on
// zeros. "-" in place of MODEL is standard input, and in place of OUT standard output: nothing is
// told and run then. After SECONDS it gives up.
#include <layline/layline.h>
#include <layline/session.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// Where a program goes that has no file: here to standard output, piece by piece.
class StandardOutput : public layline::Sink {
 public:
  void write(std::span<const std::byte> piece) override {
    std::cout.write(reinterpret_cast<const char*>(piece.data()),
                    static_cast<std::streamsize>(piece.size()));
    if (!std::cout) throw layline::Error("cannot write to standard output");
  }
};

layline::CompiledModel compile(const layline::Model& model, const std::string& program,
                               const layline::Options& options) {
  if (program != "-") return layline::compile_to_file(model, program, options);
  StandardOutput sink;
  return layline::compile_model(model, sink, options);
}

/// Runs a program on zeros. The buffers could serve any number of runs.
void run(const std::string& program) {
  layline::Session session = layline::Session::from_file(program);
  std::vector<layline::Array> inputs;
  for (const layline::Port& port : session.inputs())
    inputs.push_back({port.dtype, port.shape, std::vector<std::byte>(port.bytes)});
  std::vector<std::vector<std::byte>> memory;
  std::vector<layline::OutputBuffer> outputs;
  for (const layline::Port& port : session.outputs()) {
    memory.emplace_back(port.bytes);
    outputs.push_back({memory.back(), {}});
  }
  session.run_into({inputs.begin(), inputs.end()}, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::printf("%s: %s[", session.outputs()[i].name.c_str(), session.outputs()[i].dtype.c_str());
    for (const int64_t size : outputs[i].shape) std::printf(" %lld", static_cast<long long>(size));
    std::printf(" ]\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: embed MODEL.pt2 OUT.pte [SECONDS]\n");
    return 1;
  }
  const std::string path = argv[1];
  const std::string program = argv[2];
  layline::Options options;
  options.explain = program != "-";
  if (argc == 4) {
    const std::chrono::duration<double> most(std::atof(argv[3]));
    options.cancelled = [most, start = Clock::now()] { return Clock::now() - start >= most; };
  }
  try {
    std::string read;
    if (path == "-") read.assign(std::istreambuf_iterator<char>(std::cin), {});
    const layline::Model model =
        path == "-" ? layline::Model(std::as_bytes(std::span(read)), "standard input")
                    : layline::Model(path);
    const layline::CompiledModel compiled = compile(model, program, options);
    if (program == "-") return 0;
    std::printf("layline %s\n%s", std::string(layline::version()).c_str(),
                compiled.explain().c_str());
    run(program);
  } catch (const layline::Error& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return 1;
  } catch (const layline::BugError& error) {
    std::fprintf(stderr, "embed: a bug of layline: %s\n", error.what());
    return 2;
  } catch (const layline::Cancelled&) {
    std::fprintf(stderr, "embed: it takes too long\n");
    return 3;
  }
}
