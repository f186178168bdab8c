// ExecuTorch reports the cause of an error only in its log, which would go to stderr. Here the log
// is kept in memory instead, so that stderr stays ours and messages can say the cause.
#pragma once

#include <string>

namespace layline {

/// Takes over ExecuTorch's log. Must come before any other use of the runtime; may be repeated.
void capture_runtime_log();

/// The error lines logged since the last call, oldest first, joined to one line; empty if none.
std::string take_runtime_errors();

}  // namespace layline
