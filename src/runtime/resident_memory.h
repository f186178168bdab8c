// Resident memory of this process, as Linux accounts for it.
#pragma once

#include <cstdint>

namespace layline {

/// Bytes now in memory; 0 if the system does not say.
uint64_t resident_bytes();

/// The most bytes that were ever in memory, or since the last successful reset_peak_resident.
uint64_t peak_resident_bytes();

/// Starts the peak anew from what is resident now. False if the system does not allow it.
bool reset_peak_resident();

/// Gives memory that is free back to the system, as far as the allocator can.
void return_free_memory();

}  // namespace layline
