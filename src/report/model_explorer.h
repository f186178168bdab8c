// The graphs of a report as Model Explorer reads them (github.com/google-ai-edge/model-explorer):
// an object with `label` and `graphs` is a graph collection to it, whatever else is in it, and one
// whose keys are names of graphs is node data, colours and numbers on a graph. So the report is
// both.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "report/picture.h"
#include "report/report.h"

namespace layline {

/// The names of a method's graphs: as imported, and as compiled.
std::string graph_before(std::string_view method);
std::string graph_after(std::string_view method);

/// Members to add to the report: `label`, `graphs`, and under the name of each graph the bytes that
/// its permutes move.
std::vector<std::pair<std::string, json::Text>> model_explorer_members(const Report& report,
                                                                       const Pictures& pictures);

/// The report with these members.
std::string to_json(const Report& report, const Pictures& pictures);

/// Numbers on nodes of a graph, the greatest in the strongest colour.
json::Text node_data(std::string_view name, const std::map<std::string, json::Text>& values);

}  // namespace layline
