// The graphs of a report as Model Explorer reads them (github.com/google-ai-edge/model-explorer).
// To it, an object with `label` and `graphs` is a graph collection, whatever else is in it. An
// object whose keys are names of graphs is node data: colours and numbers on a graph. The report is
// both.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "report/picture.h"
#include "report/report.h"

namespace layline {

/// The names of a method's graphs: as imported, and as compiled.
std::string graph_before(std::string_view method);
std::string graph_after(std::string_view method);

/// How many reasons are told about one node at most; `layline explain --why` tells all.
inline constexpr size_t kMostReasonsTold = 32;

/// The report, with the members `label`, `graphs`, and under the name of each graph the bytes that
/// its permutes move.
void write_report(JsonWriter& json, const Report& report, const Pictures& pictures);

/// Writes numbers on nodes of a graph, the greatest in the strongest colour.
void write_node_data(JsonWriter& json, std::string_view name,
                     const std::map<std::string, double>& values, int decimals);

}  // namespace layline
