// What happens when a mapped file shrinks while it is read: the system sends SIGBUS.
#pragma once

namespace layline {

/// From now on, reading past the end of a file that was cut short after it was mapped ends the
/// process as a user's error does: status 1, one line on stderr.
void exit_on_truncated_map();

}  // namespace layline
