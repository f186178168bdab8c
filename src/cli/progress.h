// A line on the terminal while something takes its time.
#pragma once

#include <string>
#include <thread>

namespace layline {

/// Shows `activity` and the seconds passed on stderr, if that is a terminal, from the second second
/// of its life on. Wipes the line when it goes.
class Progress {
 public:
  explicit Progress(std::string activity);

 private:
  std::jthread thread_;
};

}  // namespace layline
