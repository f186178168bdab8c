#include "compiler/import_options.h"

#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/parse_number.h"
#include "ir/npy_types.h"

namespace layline {
namespace {

SizeRange parse_range(const std::string& name, std::string_view text) {
  const size_t dots = text.find("..");
  const size_t colon = text.find(':');
  const auto least = parse_number<int64_t>(text.substr(0, dots));
  auto greatest = least;
  std::optional<int64_t> step = 1;
  if (dots != std::string_view::npos) {
    greatest = parse_number<int64_t>(text.substr(dots + 2, colon - dots - 2));
    if (colon != std::string_view::npos) step = parse_number<int64_t>(text.substr(colon + 1));
  }
  if (!least || !greatest || !step || *least < 0 || *step < 1)
    throw UserError("--dim {}={}: give a size (3), a range (32..960) or one in steps (32..960:32)",
                    name, text);
  if (*least > *greatest) throw UserError("--dim {}={}: the range is empty", name, text);
  if (*least % *step != 0 || *greatest % *step != 0)
    throw UserError("--dim {}={}: {} and {} should be multiples of {}", name, text, *least,
                    *greatest, *step);
  if (*least == 0 && *greatest > 0)
    throw UserError("--dim {}={}: a dynamic size is at least 1", name, text);
  return {*least, *greatest, *step};
}

}  // namespace

ImportOptions parse_import_options(const std::map<std::string, std::string>& dims,
                                   const std::map<std::string, std::string>& fixed) {
  ImportOptions options;
  for (const auto& [name, text] : dims) options.sizes.emplace(name, parse_range(name, text));
  for (const auto& [name, text] : fixed) {
    if (text.ends_with(".npy"))
      options.fixed.emplace(name, tensor_of(read_npy(text)));
    else if (const auto number = parse_number<double>(text))
      options.fixed.emplace(name, *number);
    else if (text == "true" || text == "false")
      options.fixed.emplace(name, text == "true" ? 1.0 : 0.0);
    else
      throw UserError("--fix {}={}: give a number or FILE.npy", name, text);
  }
  return options;
}

}  // namespace layline
