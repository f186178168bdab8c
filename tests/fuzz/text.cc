// The text form of graphs: what is read prints, and reads back as the same.
#include "ir/text.h"

#include "fuzz.h"
#include "ir/verify.h"

namespace layline::fuzz {

void run(std::span<const std::byte> bytes) {
  for (const Graph& graph : parse_graphs(as_text(bytes), "fuzz.lay")) {
    verify(graph);
    const std::string text = print(graph);
    require(print(parse_graph(text, "printed.lay")) == text, "a printed graph reads back");
  }
}

}  // namespace layline::fuzz
