#include "layline/session.h"

#include <map>
#include <utility>

#include "base/error.h"
#include "runtime/program.h"
#include "runtime/threads.h"

namespace layline {
namespace {

Port describe_port(const IoInfo& io) {
  Port port;
  port.name = io.name;
  port.is_tensor = io.kind == IoKind::tensor;
  port.description = describe(io);
  port.bytes = most_bytes(io);
  if (!port.is_tensor) return port;
  port.dtype = name(io.dtype);
  port.shape = io.shape;
  return port;
}

std::vector<Port> describe_ports(const std::vector<IoInfo>& ios) {
  std::vector<Port> ports;
  for (const IoInfo& io : ios) ports.push_back(describe_port(io));
  return ports;
}

}  // namespace

struct Session::Contents {
  struct Ports {
    std::vector<Port> inputs, outputs;
  };

  Contents(LoadedProgram loaded, const std::vector<std::string>& methods)
      : program(std::move(loaded)) {
    for (const std::string& method : methods) {
      program.use(method);
      ports[method] = {describe_ports(program.inputs()), describe_ports(program.outputs())};
    }
    use(methods.front());
  }

  void use(const std::string& method) {
    const auto found = ports.find(method);
    if (found == ports.end()) throw UserError("the method `{}` is not loaded", method);
    program.use(method);
    current = &found->second;
  }

  LoadedProgram program;
  std::map<std::string, Ports> ports;
  const Ports* current = nullptr;
};

Session::Session(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Session Session::from_file(const std::string& path, const std::vector<std::string>& methods) {
  return Session(std::make_unique<Contents>(LoadedProgram::from_file(path, methods), methods));
}

Session Session::from_bytes(std::span<const std::byte> bytes, const std::string& name,
                            const std::vector<std::string>& methods) {
  return Session(
      std::make_unique<Contents>(LoadedProgram::from_bytes(bytes, name, methods), methods));
}

void Session::use(const std::string& method) { contents_->use(method); }

const std::vector<Port>& Session::inputs() const { return contents_->current->inputs; }
const std::vector<Port>& Session::outputs() const { return contents_->current->outputs; }

void Session::execute(const std::vector<ArrayView>& inputs) {
  const std::vector<Port>& ports = contents_->current->inputs;
  if (inputs.size() != ports.size())
    throw UserError("the program has {} inputs, {} are given", ports.size(), inputs.size());
  std::vector<TensorView> tensors(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!ports[i].is_tensor) continue;
    const auto dtype = parse_dtype(inputs[i].dtype);
    if (!dtype) throw UserError("input `{}`: no dtype '{}'", ports[i].name, inputs[i].dtype);
    tensors[i] = {*dtype, inputs[i].shape, inputs[i].bytes};
  }
  contents_->program.set_input_views(tensors);
  contents_->program.execute();
}

std::vector<Array> Session::run(const std::vector<ArrayView>& inputs) {
  execute(inputs);
  std::vector<Array> outputs;
  for (HostTensor& tensor : contents_->program.get_outputs())
    outputs.push_back(
        {std::string(name(tensor.dtype)), std::move(tensor.shape), std::move(tensor.bytes)});
  return outputs;
}

void Session::run_into(const std::vector<ArrayView>& inputs, std::span<OutputBuffer> outputs) {
  const std::vector<Port>& ports = contents_->current->outputs;
  if (outputs.size() != ports.size())
    throw UserError("the program has {} outputs, {} buffers are given", ports.size(),
                    outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].bytes.size() < ports[i].bytes)
      throw UserError("output `{}` may have {} bytes, its buffer has {}", ports[i].name,
                      ports[i].bytes, outputs[i].bytes.size());
  execute(inputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    contents_->program.get_output(i, outputs[i].bytes, outputs[i].shape);
}

void set_thread_count(unsigned count) { set_threads(count); }

}  // namespace layline
