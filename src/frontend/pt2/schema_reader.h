// Reads the records that graphs and payload configs share, from JSON.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>

#include "frontend/pt2/exported_program.h"
#include "frontend/pt2/json_cursor.h"

namespace layline::pt2 {

/// Reads schema records of one document. Everything wrong is a UserError with the value's path.
class SchemaReader {
 public:
  TensorMeta tensor_meta(const JsonCursor& json);
  SymInt sym_int(const JsonCursor& json);
  SymBool sym_bool(const JsonCursor& json);
  SymFloat sym_float(const JsonCursor& json);
  Argument argument(const JsonCursor& json);
  Graph graph(const JsonCursor& json);

 private:
  std::shared_ptr<const Expr> expr(const JsonCursor& text);
  Node node(const JsonCursor& json);

  /// The expressions read so far: most symbolic sizes of a model are the same few.
  std::unordered_map<std::string_view, std::shared_ptr<const Expr>> exprs_;
};

TorchDType read_dtype(const JsonCursor& json);
Layout read_layout(const JsonCursor& json);
Device read_device(const JsonCursor& json);

}  // namespace layline::pt2
