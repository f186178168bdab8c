// Host tensors in `.npy` and `.npz` files.
#pragma once

#include <map>
#include <string>

#include "base/npy.h"
#include "runtime/host_tensor.h"

namespace layline {

HostTensor as_host(NpyArray array);

/// Reads an array. Throws UserError if the file is none.
HostTensor read_tensor(const std::string& path);

/// The arrays of an .npz file, or of the .npy files of a directory, by their names. UserError if
/// there are none.
std::map<std::string, HostTensor> read_tensors(const std::string& path);

}  // namespace layline
