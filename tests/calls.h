// Calls of torch's ops, written as text, with the numbers that they give.
//
// tests/calls/FAMILY.calls holds cases, separated by empty lines. A line of a case is a node:
//
//   aten.add.Tensor self=x:f32[2]{1,2} other=3 -> y:f32[2]{4,5}
//   aten.relu.default self=%y -> refused: why
//
// An argument is a number, true, a "text", none, dtype:i8, a list [1,2], a list of tensors (a,b,_),
// a tensor, or %NAME for one that has been named before. A tensor is NAME:DTYPE[SIZES]{ELEMENTS}.
// The name is optional; without elements they are 0, 1, 2 and so on; {1..4} counts and {7*3}
// repeats. <STRIDES> after the sizes say how it lies in memory, with the elements in that order;
// without them it is row-major.
// const(...), param(...) and buffer(...) make it a tensor that the model stores.
//
// The result is the type that the model records, (a | b) a list of them. With elements it is an
// output of the model, which must have those elements. A line `=> x {1,2}` says what the model
// leaves behind in x, which it changes, and `without pad` that its graph has no such op.
//
// A size s0 is dynamic, from 2 to 8, and here 4; s1 is from 2 to 8, and here 3. Sizes, strides and
// arguments may be s0+1, s0-1, 2*s0 and s0//2; sym:3 and sym:[3] are numbers written as sizes. The
// model says what s0 was when it was exported, and does not say it of s1. A result _ is None. A
// result u0 is a number that the model reads from a tensor; it may be an argument then. A message
// that ends in $ is the end of what is said.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "zip_writer.h"

namespace layline::calls {

using Numbers = std::vector<double>;

/// A size, as model.json writes it and as it is in the test.
struct Size {
  std::string expression;  // empty for a number
  int64_t value = 0;

  std::string json() const {
    if (expression.empty()) return fmt::format(R"({{"as_int":{}}})", value);
    const bool hinted = expression.find("s1") == std::string::npos;
    return fmt::format(R"({{"as_expr":{{"expr_str":"{}","hint":{}}}}})", expression,
                       hinted ? fmt::format(R"({{"as_int":{}}})", value) : "null");
  }
};

inline Size operator*(const Size& a, const Size& b) {
  if (a.expression.empty() && b.expression.empty()) return {"", a.value * b.value};
  auto factor = [](const Size& size) {
    return size.expression.empty() ? fmt::format("Integer({})", size.value) : size.expression;
  };
  return {fmt::format("Mul({}, {})", factor(a), factor(b)), a.value * b.value};
}

struct TensorText {
  std::string name;
  std::string storage;  // const, param, buffer, or empty for an input
  DType dtype = DType::f32;
  std::vector<Size> sizes;
  std::optional<std::vector<Size>> strides;
  std::optional<Numbers> elements;

  Shape shape() const {
    Shape result;
    for (const Size& size : sizes) result.push_back(size.value);
    return result;
  }
};

/// One case: a model, what goes into it, and what is to come out.
struct Case {
  std::string where;  // FILE:LINE
  std::string op;     // of the last node
  std::string archive;
  std::map<std::string, TensorText> inputs;
  std::vector<Tensor> outputs;
  std::map<std::string, Numbers> writes;
  std::set<std::string> without;  // ops that the graph must not have
  std::optional<std::string> refused;
};

inline int schema_number(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return 1;
    case DType::i8:
      return 2;
    case DType::i16:
      return 3;
    case DType::i32:
      return 4;
    case DType::i64:
      return 5;
    case DType::f16:
      return 6;
    case DType::f32:
      return 7;
    case DType::f64:
      return 8;
    case DType::boolean:
      return 12;
    case DType::bf16:
      return 13;
    case DType::u16:
      return 28;
  }
  return 0;
}

/// Reads one line from left to right.
class Scanner {
 public:
  Scanner(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(fmt::format("{}: {} at `{}`", where_, what, text_.substr(at_)));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool at_end() const { return at_ == text_.size(); }
  void skip_space() {
    while (peek() == ' ') ++at_;
  }
  bool accept(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void expect(std::string_view what) {
    if (!accept(what)) fail(fmt::format("expected `{}`", what));
  }
  /// Up to one of these characters, or the end.
  std::string until(std::string_view ends) {
    const size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    const size_t begin = std::exchange(at_, end);
    return std::string(text_.substr(begin, end - begin));
  }
  std::string rest() { return until(""); }
  /// Whether `what` comes before any of `ends`.
  bool has_before(char what, std::string_view ends) const {
    const size_t place = text_.find(what, at_);
    return place != std::string_view::npos && place < text_.find_first_of(ends, at_);
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  std::string where_;
};

inline double number_of(const std::string& text, const Scanner& scanner) {
  size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    scanner.fail("no number " + text);
  }
  if (used != text.size()) scanner.fail("no number " + text);
  return value;
}

inline bool is_integer_text(const std::string& text) {
  return text.find_first_not_of("-0123456789") == std::string::npos;
}

/// 7, s0, s0+1, s0-1, 2*s0 or s0//2.
inline Size size_of(const std::string& text, const Scanner& scanner) {
  if (is_integer_text(text)) return {"", std::stoll(text)};
  const auto symbol = [&](const std::string& name) -> Size {
    if (name != "s0" && name != "s1") scanner.fail("no size " + text);
    return {fmt::format("Symbol('{}', positive=True, integer=True)", name), name == "s0" ? 4 : 3};
  };
  if (const size_t at = text.find("//"); at != std::string::npos) {
    const Size size = symbol(text.substr(0, at));
    const int64_t by = std::stoll(text.substr(at + 2));
    return {fmt::format("FloorDiv({}, Integer({}))", size.expression, by), size.value / by};
  }
  if (const size_t at = text.find('*'); at != std::string::npos) {
    const Size size = symbol(text.substr(at + 1));
    const int64_t by = std::stoll(text.substr(0, at));
    return {fmt::format("Mul(Integer({}), {})", by, size.expression), size.value * by};
  }
  if (const size_t at = text.find_first_of("+-"); at != std::string::npos) {
    const Size size = symbol(text.substr(0, at));
    const int64_t by = std::stoll(text.substr(at));
    return {fmt::format("Add({}, Integer({}))", size.expression, by), size.value + by};
  }
  return symbol(text);
}

/// The inside of {...}, whose bracket has been read.
inline Numbers elements_of(Scanner& scanner) {
  Numbers numbers;
  while (!scanner.accept("}")) {
    const std::string item = scanner.until(",}");
    scanner.accept(",");
    if (const size_t dots = item.find(".."); dots != std::string::npos) {
      const double last = number_of(item.substr(dots + 2), scanner);
      for (double n = number_of(item.substr(0, dots), scanner); n <= last; ++n)
        numbers.push_back(n);
    } else if (const size_t star = item.find('*'); star != std::string::npos) {
      numbers.insert(numbers.end(), std::stoul(item.substr(star + 1)),
                     number_of(item.substr(0, star), scanner));
    } else {
      numbers.push_back(number_of(item, scanner));
    }
  }
  return numbers;
}

inline TensorText tensor_of(Scanner& scanner) {
  TensorText tensor;
  for (const char* storage : {"const", "param", "buffer"})
    if (scanner.accept(fmt::format("{}(", storage))) tensor.storage = storage;
  if (scanner.has_before(':', "[ ")) {
    tensor.name = scanner.until(":");
    scanner.expect(":");
  }
  const std::string dtype = scanner.until("[");
  const auto known = parse_dtype(dtype);
  if (!known) scanner.fail("no dtype " + dtype);
  tensor.dtype = *known;
  scanner.expect("[");
  while (!scanner.accept("]")) {
    tensor.sizes.push_back(size_of(scanner.until(",]"), scanner));
    scanner.accept(",");
  }
  if (scanner.accept("<")) {
    tensor.strides.emplace();
    while (!scanner.accept(">")) {
      tensor.strides->push_back(size_of(scanner.until(",>"), scanner));
      scanner.accept(",");
    }
  }
  if (scanner.accept("{")) tensor.elements = elements_of(scanner);
  if (!tensor.storage.empty()) scanner.expect(")");
  return tensor;
}

/// The elements in row-major order, from where the strides put them.
inline Tensor value_of(const TensorText& text, const std::string& where) {
  Tensor tensor({text.dtype, text.shape()});
  if (text.elements && !text.strides &&
      text.elements->size() != static_cast<size_t>(tensor.count()))
    throw std::runtime_error(fmt::format("{}: {} elements for {}", where, text.elements->size(),
                                         to_string(tensor.type())));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    int64_t place = i;
    if (text.strides) {
      place = 0;
      int64_t rest = i;
      for (size_t a = text.sizes.size(); a-- > 0;) {
        place += rest % text.sizes[a].value * (*text.strides)[a].value;
        rest /= text.sizes[a].value;
      }
    }
    tensor.set(i, text.elements ? text.elements->at(static_cast<size_t>(place))
                                : static_cast<double>(place));
  }
  return tensor;
}

/// What a .pt2 has of one case.
class ModelWriter {
 public:
  explicit ModelWriter(std::string where) : where_(std::move(where)) {}

  void add_line(const std::string& line, Case& result) {
    Scanner scanner(line, where_);
    if (scanner.accept("=> ")) {
      const std::string name = scanner.until(" ");
      scanner.expect(" {");
      result.writes[name] = elements_of(scanner);
      return;
    }
    if (scanner.accept("without ")) {
      result.without.insert(scanner.rest());
      return;
    }
    result.op = scanner.until(" ");
    scanner.skip_space();
    std::vector<std::string> arguments, outputs;
    while (!scanner.accept("-> ")) {
      const std::string name = scanner.until("= ");
      scanner.expect("=");
      arguments.push_back(
          fmt::format(R"({{"name":"{}","arg":{},"kind":1}})", name, argument(scanner, result)));
      scanner.skip_space();
    }
    std::vector<std::optional<TensorText>> results;
    const bool is_list = scanner.accept("(");
    while (!scanner.at_end()) {
      if (scanner.accept("refused: ")) {
        result.refused = scanner.rest();
        break;
      }
      if (scanner.accept("u0")) {
        outputs.push_back(number_read());
        break;
      }
      results.emplace_back();
      if (!scanner.accept("_")) results.back() = tensor_of(scanner);
      if (is_list) scanner.accept(")");
      scanner.skip_space();
      scanner.accept("| ");
    }
    if (results.empty() && outputs.empty())
      results.push_back(TensorText{"", "", DType::f32, {{"", 1}}, {}, {}});
    for (const auto& tensor : results)
      outputs.push_back(tensor ? define_result(*tensor, result) : R"({"as_none":true})");
    if (is_list) outputs = {list_of(outputs)};
    nodes_.push_back(fmt::format(
        R"({{"target":"torch.ops.{}","inputs":[{}],"outputs":[{}],"metadata":{{}},"name":"n{}"}})",
        result.op, fmt::join(arguments, ","), fmt::join(outputs, ","), nodes_.size()));
  }

  std::string archive() const {
    const std::string model = fmt::format(
        R"({{"graph_module":{{"graph":{{"inputs":[{0}],"outputs":[{1}],"nodes":[{2}],)"
        R"("tensor_values":{{{3}}},"sym_int_values":{{{4}}},"sym_bool_values":{{}}}},)"
        R"("signature":{{"input_specs":[{5}],"output_specs":[{6}]}}}},"opset_version":{{"aten":10}},)"
        R"("range_constraints":{{"s0":{{"min_val":2,"max_val":8}},"s1":{{"min_val":2,"max_val":8}}}},)"
        R"("schema_version":{{"major":8,"minor":20}},"torch_version":"2.13.0"}})",
        fmt::join(inputs_, ","), fmt::join(outputs_, ","), fmt::join(nodes_, ","),
        fmt::join(metas_, ","), fmt::join(symbols_, ","), fmt::join(input_specs_, ","),
        fmt::join(output_specs_, ","));
    ZipWriter zip;
    zip.add("m/archive_format", "pt2").add("m/byteorder", "little");
    zip.add("m/models/model.json", model);
    for (const auto& [path, bytes] : storages_) zip.add("m/data/" + path, bytes);
    zip.add("m/data/weights/model_weights_config.json",
            fmt::format(R"({{"config":{{{}}}}})", fmt::join(weights_, ",")));
    zip.add("m/data/constants/model_constants_config.json",
            fmt::format(R"({{"config":{{{}}}}})", fmt::join(constants_, ",")));
    return zip.finish();
  }

 private:
  static std::string reference(const std::string& name) {
    return fmt::format(R"({{"as_tensor":{{"name":"{}"}}}})", name);
  }

  /// References to tensors as one list of them.
  static std::string list_of(const std::vector<std::string>& references) {
    const std::string_view prefix = R"({"as_tensor":)";
    std::vector<std::string> names;
    for (const std::string& item : references)
      names.push_back(item.substr(prefix.size(), item.size() - prefix.size() - 1));
    return fmt::format(R"({{"as_tensors":[{}]}})", fmt::join(names, ","));
  }

  std::string define_meta(TensorText& tensor) {
    if (tensor.name.empty()) tensor.name = fmt::format("t{}", metas_.size());
    std::vector<std::string> sizes, strides;
    Size stride{"", 1};
    for (size_t a = tensor.sizes.size(); a-- > 0;) {
      sizes.insert(sizes.begin(), tensor.sizes[a].json());
      strides.insert(strides.begin(), (tensor.strides ? tensor.strides->at(a) : stride).json());
      stride = stride * tensor.sizes[a];
    }
    const std::string meta = fmt::format(
        R"({{"dtype":{},"sizes":[{}],"requires_grad":false,"device":{{"type":"cpu","index":null}},)"
        R"("strides":[{}],"storage_offset":{{"as_int":0}},"layout":7}})",
        schema_number(tensor.dtype), fmt::join(sizes, ","), fmt::join(strides, ","));
    metas_.push_back(fmt::format(R"("{}":{})", tensor.name, meta));
    return meta;
  }

  std::string define_result(TensorText tensor, Case& result) {
    define_meta(tensor);
    if (tensor.elements || result.refused) {
      const std::string output = reference(tensor.name);
      outputs_.push_back(output);
      output_specs_.push_back(fmt::format(R"({{"user_output":{{"arg":{}}}}})", output));
      if (tensor.elements) result.outputs.push_back(value_of(tensor, where_));
    }
    return reference(tensor.name);
  }

  /// A tensor that is an input of the model, or stored in it. The name of it.
  std::string define_input(TensorText tensor, Case& result) {
    const std::string meta = define_meta(tensor);
    const std::string& name = tensor.name;
    inputs_.push_back(reference(name));
    if (tensor.storage.empty()) {
      result.inputs.emplace(name, tensor);
      input_specs_.push_back(fmt::format(R"({{"user_input":{{"arg":{}}}}})", reference(name)));
      return name;
    }
    const bool in_weights = tensor.storage != "const";
    const std::string folder = in_weights ? "weights/" : "constants/";
    const std::string kind = tensor.storage == "const"   ? "tensor_constant"
                             : tensor.storage == "param" ? "parameter"
                                                         : "buffer";
    input_specs_.push_back(fmt::format(
        R"({{"{0}":{{"arg":{{"name":"{1}"}},"{0}_name":"{1}","persistent":true}}}})", kind, name));
    const Numbers elements = tensor.elements.value_or(Numbers());
    const Tensor stored = tensor.elements && tensor.strides
                              ? value_of({"",
                                          "",
                                          tensor.dtype,
                                          {{"", static_cast<int64_t>(elements.size())}},
                                          {},
                                          elements},
                                         where_)
                              : value_of(tensor, where_);
    const auto bytes = stored.bytes();
    storages_[folder + name] = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    (in_weights ? weights_ : constants_)
        .push_back(fmt::format(
            R"("{0}":{{"path_name":"{0}","is_param":{1},"use_pickle":false,"tensor_meta":{2}}})",
            name, tensor.storage == "param", meta));
    return name;
  }

  std::string tensor_name(Scanner& scanner, Case& result) {
    return scanner.accept("%") ? scanner.until(" ,)") : define_input(tensor_of(scanner), result);
  }

  std::string symbol(const Size& size) {
    const std::string name = fmt::format("sym{}", symbols_.size());
    symbols_.push_back(fmt::format(R"("{}":{})", name, size.json()));
    return fmt::format(R"({{"as_name":"{}"}})", name);
  }

  std::string number_read() {
    const Size number{"Symbol('u0', integer=True)", 0};
    symbols_.push_back(fmt::format(R"("u0":{})", number.json()));
    return R"({"as_sym_int":{"as_name":"u0"}})";
  }

  std::string list(Scanner& scanner, bool symbolic) {
    std::vector<std::string> items, sizes;
    bool integers = true;
    while (!scanner.accept("]")) {
      const std::string item = scanner.until(",]");
      scanner.accept(",");
      items.push_back(item);
      symbolic = symbolic || item.find('s') != std::string::npos;
      integers = integers && is_integer_text(item);
    }
    if (symbolic) {
      for (const std::string& item : items) {
        const Size size = size_of(item, scanner);
        sizes.push_back(size.expression.empty() ? size.json() : symbol(size));
      }
      return fmt::format(R"({{"as_sym_ints":[{}]}})", fmt::join(sizes, ","));
    }
    return fmt::format(R"({{"{}":[{}]}})", integers ? "as_ints" : "as_floats",
                       fmt::join(items, ","));
  }

  std::string argument(Scanner& scanner, Case& result) {
    if (scanner.accept("\"")) {
      const std::string text = scanner.until("\"");
      scanner.expect("\"");
      return fmt::format(R"({{"as_string":"{}"}})", text);
    }
    const bool symbolic = scanner.accept("sym:");
    if (scanner.accept("[")) return list(scanner, symbolic);
    if (symbolic)
      return fmt::format(R"({{"as_sym_int":{}}})", size_of(scanner.until(" "), scanner).json());
    if (scanner.accept("(")) {
      std::vector<std::string> items;
      bool optional = false;
      while (!scanner.accept(")")) {
        if (scanner.accept("_")) {
          items.push_back("");
          optional = true;
        } else {
          items.push_back(tensor_name(scanner, result));
        }
        scanner.accept(",");
      }
      for (std::string& item : items) {
        if (!optional)
          item = fmt::format(R"({{"name":"{}"}})", item);
        else
          item = item.empty() ? R"({"as_none":true})" : reference(item);
      }
      return fmt::format(R"({{"{}":[{}]}})", optional ? "as_optional_tensors" : "as_tensors",
                         fmt::join(items, ","));
    }
    if (scanner.accept("dtype:")) {
      const std::string name = scanner.until(" ");
      const auto dtype = parse_dtype(name);
      if (!dtype) scanner.fail("no dtype " + name);
      return fmt::format(R"({{"as_scalar_type":{}}})", schema_number(*dtype));
    }
    if (scanner.peek() == '%' || scanner.has_before('[', " ") || scanner.has_before('(', " "))
      return reference(tensor_name(scanner, result));
    const std::string word = scanner.until(" ");
    if (word == "u0") return R"({"as_sym_int":{"as_name":"u0"}})";
    if (word == "none") return R"({"as_none":true})";
    if (word == "true" || word == "false") return fmt::format(R"({{"as_bool":{}}})", word);
    if (word == "inf") return R"({"as_float":"Infinity"})";
    if (word == "-inf") return R"({"as_float":"-Infinity"})";
    if (word == "nan") return R"({"as_float":"NaN"})";
    if (word.starts_with("s0") || word.starts_with("s1") || word.find('*') != std::string::npos)
      return fmt::format(R"({{"as_sym_int":{}}})", symbol(size_of(word, scanner)));
    if (is_integer_text(word)) return fmt::format(R"({{"as_int":{}}})", word);
    return fmt::format(R"({{"as_float":{}}})", number_of(word, scanner));
  }

  std::string where_;
  std::vector<std::string> nodes_, inputs_, outputs_, input_specs_, output_specs_;
  std::vector<std::string> metas_, symbols_, weights_, constants_;
  std::map<std::string, std::string> storages_;
};

/// The cases of a text, which is called `name` in messages.
inline std::vector<Case> read(std::istream& file, const std::string& name) {
  std::vector<Case> cases;
  std::optional<ModelWriter> writer;
  std::string line;
  const auto finish = [&] {
    if (writer) cases.back().archive = writer->archive();
    writer.reset();
  };
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.starts_with("//")) continue;
    if (line.empty()) {
      finish();
      continue;
    }
    if (!writer) {
      const std::string where = fmt::format("{}:{}", name, number);
      writer.emplace(where);
      cases.push_back({where, "", "", {}, {}, {}, {}, {}});
    }
    writer->add_line(line, cases.back());
  }
  finish();
  return cases;
}

inline std::vector<Case> read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return read(file, path.filename().string());
}

/// The names of all files, without ".calls".
inline std::vector<std::string> files(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".calls") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace layline::calls
