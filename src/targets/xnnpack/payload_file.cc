#include "targets/xnnpack/payload_file.h"

namespace layline::xnnpack {

namespace et = executorch_flatbuffer;

const fb_xnnpack::XNNGraph* called_graph(const pte::ProgramFile& file,
                                         const et::ExecutionPlan& plan,
                                         const et::DelegateCall& call) {
  const auto [backend, payload] = file.delegate(plan, call);
  if (backend != "XnnpackBackend") return nullptr;
  pte::ProgramFile::Bytes bytes = payload;
  // Offset and size of the graph follow the header's magic and its own size (payload.h).
  if (pte::has_magic(bytes, 4, "XH00")) {
    const auto offset = pte::read_at<uint32_t>(bytes, 10);
    const auto size = pte::read_at<uint32_t>(bytes, 14);
    if (offset > bytes.size() || size > bytes.size() - offset) file.fail("is damaged");
    bytes = bytes.subspan(offset, size);
  }
  const auto* graph = pte::verified<fb_xnnpack::XNNGraph>(bytes);
  if (graph == nullptr || graph->xnodes() == nullptr) file.fail("has a damaged delegate");
  return graph;
}

}  // namespace layline::xnnpack
