// A line on the terminal while something takes its time.
#pragma once

#include <string>
#include <thread>

namespace layline {

/// From the second second of its life on, shows `activity` and the seconds passed on stderr, if
/// that is a terminal, and wipes the line when it goes.
class Progress {
 public:
  explicit Progress(std::string activity);

 private:
  std::jthread thread_;
};

}  // namespace layline
