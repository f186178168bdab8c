// A program written straight into its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/output_file.h"
#include "base/sink.h"

namespace layline {

class FileSink : public ByteSink {
 public:
  /// Writes to `file`, which must outlive the sink. The sink does not commit it.
  explicit FileSink(OutputFile& file) : file_(file) {}
  void expect(uint64_t bytes) override { file_.reserve(bytes); }
  void write(std::span<const std::byte> bytes) override { file_.write(bytes); }
  void lend(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) override {
    file_.lend(bytes, owner);
  }

 private:
  OutputFile& file_;
};

}  // namespace layline
