// Serialises a program as an ExecuTorch `.pte` file.
//
//   0            u32 offset of the root table, counted from byte 0
//   4            "ET12"
//   8            extended header, 32 bytes: "eh00", u32 header size, u64 program size,
//                u64 segment base, u64 segment data size
//   40           the rest of the flatbuffer
//   segment base (a multiple of 128) the segments, each a multiple of 128 from there:
//                one of constants and one of initial states, if there are any, then one per blob;
//                those of named constants are parts of the first
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/sink.h"
#include "pte/program.h"

namespace layline::pte {

/// Writes `program`, the same bytes for the same description. The data of constants and blobs is
/// streamed from its sources, each once. Throws InternalError, before the first byte is written,
/// if the description is one that the runtime would refuse: an index out of range, a value of the
/// wrong kind, data of the wrong size, a name given twice or too long.
void write_program(const Program& program, ByteSink& sink);

/// Whether a file begins as an ExecuTorch program of any release: "ET" and two digits at byte 4.
bool begins_as_program(std::span<const std::byte> file);

/// Whether a file is given as a program rather than a model: it is called one, or begins as one.
bool is_program(std::string_view path, std::span<const std::byte> file);

}  // namespace layline::pte
