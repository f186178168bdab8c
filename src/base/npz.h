// NumPy's .npz format: a zip of .npy files, as numpy.savez writes it. The member NAME.npy holds the
// array NAME.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/npy.h"
#include "base/zip.h"

namespace layline {

class NpzArchive {
 public:
  /// Reads the directory, but no array. Throws UserError if the file is no such archive, if a
  /// member is compressed, or if one is no .npy file.
  explicit NpzArchive(const std::string& path);

  /// The names of the arrays, in the order of the file.
  const std::vector<std::string_view>& names() const { return names_; }
  bool contains(std::string_view name) const;
  /// Reads an array. Throws UserError if there is none of this name, or if it is damaged.
  NpyArray read(std::string_view name) const;

 private:
  ZipArchive zip_;
  std::vector<std::string_view> names_;
};

}  // namespace layline
