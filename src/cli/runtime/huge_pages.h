#pragma once

namespace layline {

/// From here on, the process allocates in huge pages. glibc reads how it allocates when a process
/// starts, so the first call starts this command anew. Throws UserError if that fails.
void allocate_in_huge_pages();

}  // namespace layline
