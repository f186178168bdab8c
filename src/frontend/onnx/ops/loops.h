// Loop and Scan as loops in the program.
#pragma once

#include "frontend/onnx/call.h"

namespace layline::onnx {

/// Imports the Loop as a loop in the program, and says whether it did. It does not where unrolled
/// rounds are better, or where only they can be imported. Refuses a Loop whose number of rounds is
/// dynamic, and whose body needs more than a loop in the program can do.
bool loop_in_program(Call& call);

/// Where a Scan reads or writes: an axis, and whether from its end.
struct Track {
  int64_t axis;
  bool backwards;
};
/// One entry of the lists of axes and directions; axes count from the end if negative.
Track track(const Call& call, std::string_view axes, std::string_view directions, size_t i,
            int64_t rank);

struct Scanned {
  std::vector<Value*> state, outputs;
};
/// The same for a Scan; nothing if it is to be unrolled.
std::optional<Scanned> scan_in_program(const Call& call, const std::vector<Value*>& state,
                                       const std::vector<Value*>& sequences,
                                       const std::vector<Track>& tracks);

}  // namespace layline::onnx
