// layline._compiler: compile_model and its result, and what debug handles mean. layline/_program.py
// and layline/_etrecord.py are what users see.
#include <layline/layline.h>
#include <layline/sources.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace nb = nanobind;

namespace {

layline::CompiledModel compile(const std::string& path, const std::string& target,
                               const std::string& accelerator, const std::string& profile,
                               std::vector<std::string> disable,
                               std::map<std::string, std::string> input_order,
                               std::map<std::string, std::string> output_order, bool verify,
                               bool strip, layline::ConstantMethods constant_methods, bool llm,
                               const std::string& kernels, std::map<std::string, std::string> dims,
                               std::map<std::string, std::string> fix, double prove,
                               const std::string& name) {
  const nb::gil_scoped_release released;
  return layline::compile_model(path, {.target = target,
                                       .accelerator = accelerator,
                                       .profile = profile,
                                       .disable = std::move(disable),
                                       .input_order = std::move(input_order),
                                       .output_order = std::move(output_order),
                                       .verify = verify,
                                       .strip = strip,
                                       .name = name,
                                       .explain = true,
                                       .constant_methods = std::move(constant_methods),
                                       .llm = llm,
                                       .kernels = kernels,
                                       .dims = std::move(dims),
                                       .fix = std::move(fix),
                                       .prove = prove});
}

}  // namespace

NB_MODULE(_compiler, module) {
  nb::exception<layline::Error>(module, "Error");

  nb::class_<layline::TargetInfo>(module, "TargetInfo")
      .def_ro("name", &layline::TargetInfo::name)
      .def_ro("extension", &layline::TargetInfo::extension)
      .def_ro("programs", &layline::TargetInfo::programs);
  module.def("targets", layline::targets);

  nb::class_<layline::CompiledModel>(module, "CompiledModel")
      .def("bytes",
           [](const layline::CompiledModel& model) {
             return nb::bytes(model.bytes().data(), model.bytes().size());
           })
      .def("save", &layline::CompiledModel::save)
      .def("report_json", &layline::CompiledModel::report_json)
      .def("report_html", &layline::CompiledModel::report_html)
      .def("explain", [](const layline::CompiledModel& model) { return model.explain(); })
      .def("explain", [](const layline::CompiledModel& model, const std::string& node) {
        return model.explain(node);
      });
  module.def("compile", compile, nb::arg("path"), nb::arg("target"), nb::arg("accelerator"),
             nb::arg("profile"), nb::arg("disable"), nb::arg("input_order"),
             nb::arg("output_order"), nb::arg("verify"), nb::arg("strip"),
             nb::arg("constant_methods"), nb::arg("llm"), nb::arg("kernels"), nb::arg("dims"), nb::arg("fix"),
             nb::arg("prove"), nb::arg("name"));

  nb::class_<layline::SourcePlace>(module, "SourcePlace")
      .def_ro("value", &layline::SourcePlace::value)
      .def_ro("node", &layline::SourcePlace::node)
      .def_ro("source", &layline::SourcePlace::source)
      .def_ro("module", &layline::SourcePlace::module);
  nb::class_<layline::ProgramSources>(module, "ProgramSources")
      .def_static("read",
                  [](const nb::bytes& program, const std::string& name, const std::string& method) {
                    return layline::ProgramSources::read(
                        {static_cast<const std::byte*>(program.data()), program.size()}, name,
                        method);
                  })
      .def_prop_ro("places", &layline::ProgramSources::places)
      .def("kernel", &layline::ProgramSources::kernel)
      .def("operators", &layline::ProgramSources::operators);
}
