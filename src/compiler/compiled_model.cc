#include <utility>

#include "base/output_file.h"
#include "compiler/compile.h"
#include "compiler/explain.h"
#include "layline/layline.h"
#include "report/html.h"
#include "report/model_explorer.h"

namespace layline {
namespace {

std::vector<BoundaryOrder> orders(const std::map<std::string, std::string>& by_name) {
  std::vector<BoundaryOrder> result;
  for (const auto& [name, order] : by_name) result.push_back({name, order});
  return result;
}

}  // namespace

struct CompiledModel::Contents {
  Compiled compiled;
  std::vector<std::byte> bytes;
};

CompiledModel::CompiledModel(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
CompiledModel::CompiledModel(CompiledModel&&) noexcept = default;
CompiledModel& CompiledModel::operator=(CompiledModel&&) noexcept = default;
CompiledModel::~CompiledModel() = default;

std::span<const std::byte> CompiledModel::bytes() const { return contents_->bytes; }

void CompiledModel::save(const std::string& path) const {
  OutputFile file(path);
  file.write(bytes());
  file.commit();
}

std::string CompiledModel::report_json() const {
  return json_text([this](JsonWriter& json) {
    write_report(json, contents_->compiled.report, contents_->compiled.pictures);
  });
}

std::string CompiledModel::report_html() const {
  std::string page;
  write_page([&](std::string_view text) { page += text; }, contents_->compiled.report,
             contents_->compiled.pictures);
  return page;
}

std::string CompiledModel::explain() const { return explain_all(contents_->compiled); }

std::string CompiledModel::explain(const std::string& node) const {
  return explain_node(contents_->compiled, node);
}

std::vector<TargetInfo> targets() {
  std::vector<TargetInfo> result;
  for (const Target* target : all_targets())
    result.push_back(
        {std::string(target->name), std::string(target->extension), std::string(target->programs)});
  return result;
}

CompiledModel compile_model(const std::string& path, const Options& options) {
  CompileOptions compile_options;
  compile_options.target = options.target;
  compile_options.for_target.accelerator = options.accelerator;
  compile_options.for_target.profile = options.profile;
  compile_options.for_target.strip = options.strip;
  compile_options.disabled_passes = options.disable;
  compile_options.input_orders = orders(options.input_order);
  compile_options.output_orders = orders(options.output_order);
  compile_options.verify = options.verify;
  compile_options.explain = true;
  compile_options.draw = true;
  auto contents = std::make_unique<CompiledModel::Contents>();
  contents->compiled = compile(path, compile_options);
  if (!options.name.empty()) contents->compiled.report.model = options.name;
  MemorySink sink;
  contents->compiled.program->write(sink);
  contents->bytes = sink.take();
  // What is written needs the mapped model no longer.
  contents->compiled.program.reset();
  return CompiledModel(std::move(contents));
}

}  // namespace layline
