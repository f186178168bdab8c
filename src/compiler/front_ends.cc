#include "compiler/front_ends.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "frontend/moves.h"
#include "frontend/onnx/import.h"
#include "frontend/onnx/model.h"
#include "frontend/pt2/import.h"
#include "ir/text.h"
#include "pte/writer.h"

namespace layline {
namespace {

bool is_zip(std::string_view bytes) { return bytes.starts_with("PK"); }

constexpr std::string_view kBfloat16Note =
    "the model is in bfloat16 and computed in f32: its weights take twice the bytes in the "
    "program; inputs and outputs stay as they are";

/// Formats whose files leave nothing open take no such options.
void refuse_options(const MappedFile& file, const ImportOptions& options) {
  if (options.empty()) return;
  throw UserError("'{}': {} is for ONNX models; this file leaves nothing open", file.path(),
                  options.sizes.empty() ? "--fix" : "--dim");
}

LoadedModel import_pt2(std::shared_ptr<const MappedFile> file, const ImportOptions& options) {
  refuse_options(*file, options);
  LoadedModel model;
  bool has_bfloat16 = false;
  for (pt2::ImportedMethod& method : pt2::import_archive(std::move(file))) {
    model.methods.push_back(std::move(method.graph));
    model.permutes += method.permutes_in_model;
    has_bfloat16 = has_bfloat16 || method.has_bfloat16;
  }
  if (has_bfloat16) model.notes.emplace_back(kBfloat16Note);
  return model;
}

LoadedModel import_onnx(std::shared_ptr<const MappedFile> file, const ImportOptions& options) {
  LoadedModel model;
  onnx::Imported imported = onnx::import_model(std::move(file), options);
  model.methods.push_back(std::move(imported.graph));
  model.permutes = imported.permutes_in_model;
  if (imported.has_bfloat16) model.notes.emplace_back(kBfloat16Note);
  return model;
}

/// Whether `graph` is the first word after blanks and comments.
bool begins_with_graph(std::string_view bytes) {
  for (;;) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
    if (!bytes.starts_with("//")) return bytes.starts_with("graph");
    bytes.remove_prefix(std::min(bytes.find('\n'), bytes.size()));
  }
}

LoadedModel import_text(std::shared_ptr<const MappedFile> file, const ImportOptions& options) {
  refuse_options(*file, options);
  LoadedModel model;
  model.methods = parse_graphs(file->text(), file->path());
  for (const Graph& graph : model.methods) {
    if (!simdjson::validate_utf8(graph.name()))
      throw UserError("'{}': the name of a graph is not UTF-8, as a method's must be; rename it",
                      file->path());
    for (const Node* node : graph) model.permutes += moves_data(*node);
  }
  return model;
}

constexpr std::array<std::string_view, 1> kPt2Extensions = {".pt2"};
constexpr std::array<std::string_view, 1> kOnnxExtensions = {".onnx"};
constexpr std::array<std::string_view, 1> kTextExtensions = {".lay"};

constexpr FrontEnd kFrontEnds[] = {
    {"pt2", kPt2Extensions, is_zip, import_pt2},
    {"onnx", kOnnxExtensions, onnx::is_model, import_onnx},
    {"text", kTextExtensions, begins_with_graph, import_text},
};
constexpr const FrontEnd& kText = kFrontEnds[2];

void refuse_compiled(const MappedFile& file) {
  if (pte::is_program(file.path(), file.bytes()))
    throw UserError("'{}' is a compiled program already; 'layline run' runs it", file.path());
  const std::string_view bytes = file.text();
  if (bytes.size() > 8 && bytes.substr(4, 4) == "TOSA")
    throw UserError("'{}' is a compiled TOSA program, which Arm's tools read", file.path());
}

const FrontEnd& front_end_for(const MappedFile& file) {
  for (const FrontEnd& front_end : kFrontEnds)
    if (front_end.recognises(file.text())) return front_end;
  refuse_compiled(file);
  for (const FrontEnd& front_end : kFrontEnds)
    for (const std::string_view extension : front_end.extensions)
      if (file.path().ends_with(extension)) return front_end;
  return kText;
}

}  // namespace

std::span<const FrontEnd> front_ends() { return kFrontEnds; }

LoadedModel import_model(std::shared_ptr<const MappedFile> file, const ImportOptions& options) {
  return front_end_for(*file).import(std::move(file), options);
}

}  // namespace layline
