// embed MODEL.pt2 OUT.pte: compiles a model, tells what was done, and runs it once on zeros.
#include <layline/layline.h>
#include <layline/session.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: embed MODEL.pt2 OUT.pte\n");
    return 1;
  }
  try {
    const layline::CompiledModel model = layline::compile_model(argv[1]);
    model.save(argv[2]);
    std::fputs(model.explain().c_str(), stdout);

    layline::Session session = layline::Session::from_file(argv[2]);
    std::vector<layline::Array> inputs;
    for (const layline::Port& port : session.inputs()) {
      size_t bytes = port.dtype == "f32" ? 4 : 8;  // what this example knows: f32, i64 and f64
      for (const int64_t size : port.shape) bytes *= static_cast<size_t>(size);
      inputs.push_back({port.dtype, port.shape, std::vector<std::byte>(bytes)});
    }
    const std::vector<layline::Array> outputs = session.run({inputs.begin(), inputs.end()});
    for (size_t i = 0; i < outputs.size(); ++i)
      std::printf("%s: %s, %zu bytes\n", session.outputs()[i].name.c_str(),
                  outputs[i].dtype.c_str(), outputs[i].bytes.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return 1;
  }
}
