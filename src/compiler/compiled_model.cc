#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file_sink.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "compiler/compile.h"
#include "compiler/explain.h"
#include "compiler/import_options.h"
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

CompileOptions compile_options(const Options& options) {
  CompileOptions result;
  result.target = options.target;
  result.for_target.accelerator = options.accelerator;
  result.for_target.profile = options.profile;
  result.for_target.kernels = options.kernels;
  result.for_target.strip = options.strip;
  result.for_target.constant_methods = options.constant_methods;
  result.llm = options.llm;
  result.disabled_passes = options.disable;
  result.import_options = parse_import_options(options.dims, options.fix);
  result.input_orders = orders(options.input_order);
  result.output_orders = orders(options.output_order);
  if (!(options.prove >= 0))
    throw UserError("prove is a number of seconds, 0 or more, not {}", options.prove);
  result.prove_seconds = options.prove;
  result.verify = options.verify;
  result.explain = options.explain;
  result.draw = options.explain;
  result.cancelled = options.cancelled;
  return result;
}

std::shared_ptr<const MappedFile> open(const Model& model) {
  return model.bytes() ? MappedFile::of_memory(*model.bytes(), model.name())
                       : MappedFile::open_ahead(model.name());
}

/// The caller's sink, as writers see it.
class CallersSink : public ByteSink {
 public:
  explicit CallersSink(Sink& sink) : sink_(sink) {}
  void expect(uint64_t bytes) override { sink_.expect(bytes); }
  void write(std::span<const std::byte> bytes) override {
    if (!bytes.empty()) sink_.write(bytes);
  }

 private:
  Sink& sink_;
};

/// A sink that asks before each piece whether to go on.
class CancellableSink : public ByteSink {
 public:
  CancellableSink(ByteSink& sink, const std::function<bool()>& cancelled)
      : sink_(sink), cancelled_(cancelled) {}
  void expect(uint64_t bytes) override { sink_.expect(bytes); }
  void write(std::span<const std::byte> bytes) override {
    check();
    sink_.write(bytes);
  }
  void lend(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) override {
    check();
    sink_.lend(bytes, owner);
  }

 private:
  void check() const {
    if (cancelled_ && cancelled_()) throw Cancelled();
  }

  ByteSink& sink_;
  const std::function<bool()>& cancelled_;
};

}  // namespace

struct CompiledModel::Contents {
  /// Compiles the model into the sink. What is kept no longer refers to the model's bytes.
  Contents(const Model& model, ByteSink& sink, const Options& options) : name(model.name()) {
    Compiled compiled = compile(open(model), compile_options(options));
    if (!options.name.empty()) compiled.report.model = options.name;
    CancellableSink cancellable(sink, options.cancelled);
    compiled.program->write(cancellable);
    compiled.program.reset();
    if (options.explain) explained = std::move(compiled);
  }

  const Compiled& explanation() const {
    if (!explained)
      throw UserError("'{}': no explanations were kept; compile it with Options::explain", name);
    return *explained;
  }

  std::string name;                             // the model's
  std::optional<std::vector<std::byte>> bytes;  // unless they went elsewhere
  std::optional<Compiled> explained;
};

CompiledModel::CompiledModel(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
CompiledModel::CompiledModel(CompiledModel&&) noexcept = default;
CompiledModel& CompiledModel::operator=(CompiledModel&&) noexcept = default;
CompiledModel::~CompiledModel() = default;

std::span<const std::byte> CompiledModel::bytes() const {
  if (!contents_->bytes)
    throw UserError("'{}': the program was not kept, since it was written where the caller said",
                    contents_->name);
  return *contents_->bytes;
}

void CompiledModel::save(const std::string& path) const {
  const std::span<const std::byte> program = bytes();
  OutputFile file(path);
  file.write(program);
  file.commit();
}

std::string CompiledModel::report_json() const {
  const Compiled& compiled = contents_->explanation();
  return json_text(
      [&](JsonWriter& json) { write_report(json, compiled.report, compiled.pictures); });
}

std::string CompiledModel::report_html() const {
  const Compiled& compiled = contents_->explanation();
  std::string page;
  write_page([&](std::string_view text) { page += text; }, compiled.report, compiled.pictures);
  return page;
}

std::string CompiledModel::explain() const { return explain_all(contents_->explanation()); }

std::string CompiledModel::explain(const std::string& node) const {
  return explain_node(contents_->explanation(), node);
}

std::vector<TargetInfo> targets() {
  std::vector<TargetInfo> result;
  for (const Target* target : all_targets())
    result.push_back(
        {std::string(target->name), std::string(target->extension), std::string(target->programs)});
  return result;
}

CompiledModel compile_model(const Model& model, const Options& options) {
  MemorySink sink;
  auto contents = std::make_unique<CompiledModel::Contents>(model, sink, options);
  contents->bytes = sink.take();
  return CompiledModel(std::move(contents));
}

CompiledModel compile_model(const Model& model, Sink& sink, const Options& options) {
  CallersSink callers(sink);
  return CompiledModel(std::make_unique<CompiledModel::Contents>(model, callers, options));
}

CompiledModel compile_to_file(const Model& model, const std::string& program,
                              const Options& options) {
  std::error_code ignored;
  if (!model.bytes() && std::filesystem::equivalent(model.name(), program, ignored))
    throw UserError("'{}' would be written over the model", program);
  OutputFile file(program);
  FileSink sink(file);
  auto contents = std::make_unique<CompiledModel::Contents>(model, sink, options);
  file.commit();
  return CompiledModel(std::move(contents));
}

}  // namespace layline
