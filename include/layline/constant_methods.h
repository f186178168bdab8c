// Methods that return what is known when a model is compiled, such as the length of its cache. An
// application, or ExecuTorch's runner of language models, asks the program for them by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace layline {

using ConstantValue = std::variant<bool, int64_t, double>;

/// By name: what the method returns, one output for each value. It takes no inputs. A list is
/// several outputs, as ExecuTorch's own `constant_methods` writes it.
using ConstantMethods = std::map<std::string, std::vector<ConstantValue>>;

}  // namespace layline
