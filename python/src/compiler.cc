// layline._compiler: compile_model and its result. layline/_program.py is what users see.
#include <layline/layline.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace nb = nanobind;

namespace {

layline::CompiledModel compile(const std::string& path, const std::string& target,
                               const std::string& accelerator, const std::string& profile,
                               std::vector<std::string> disable,
                               std::map<std::string, std::string> input_order,
                               std::map<std::string, std::string> output_order, bool verify,
                               const std::string& name) {
  const nb::gil_scoped_release released;
  return layline::compile_model(
      path, {target, accelerator, profile, std::move(disable), std::move(input_order),
             std::move(output_order), verify, name});
}

}  // namespace

NB_MODULE(_compiler, module) {
  nb::exception<std::runtime_error>(module, "Error");

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
             nb::arg("output_order"), nb::arg("verify"), nb::arg("name"));
}
