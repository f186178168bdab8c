// Payloads as they lie in a program's file, whoever wrote them. Compiled with hidden symbols, as
// all that includes pte/program_file.h is.
#pragma once

#include "pte/program_file.h"
#include "schema/xnnpack_generated.h"

namespace layline::xnnpack {

/// The graph of the XNNPACK delegate that is called; null if the delegate is another backend's.
/// Throws UserError if it is damaged.
const fb_xnnpack::XNNGraph* called_graph(const pte::ProgramFile& file,
                                         const executorch_flatbuffer::ExecutionPlan& plan,
                                         const executorch_flatbuffer::DelegateCall& call);

}  // namespace layline::xnnpack
