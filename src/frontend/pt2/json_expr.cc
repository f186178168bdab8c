#include "frontend/pt2/json_expr.h"

#include <cctype>
#include <charconv>

#include "base/error.h"

namespace layline::pt2 {
namespace {

constexpr int kMaxDepth = 100;

class ExprParser {
 public:
  explicit ExprParser(std::string_view text) : text_(text) {}

  Expr parse() {
    Expr expr = expression(0);
    skip_space();
    if (at_ != text_.size()) fail("unexpected text");
    return expr;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    constexpr size_t kShown = 200;
    throw UserError("symbolic expression '{}{}': {} at column {}", text_.substr(0, kShown),
                    text_.size() > kShown ? "..." : "", what, at_ + 1);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (peek() == ' ') ++at_;
  }

  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  std::string_view word() {
    const size_t begin = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_' || peek() == '.')
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view quoted() {
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("unterminated string");
    const std::string_view result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }

  Expr integer() {
    Expr expr{.head = "Integer", .args = {}, .value = 0, .name = {}};
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), expr.value);
    if (error == std::errc::result_out_of_range) fail("number beyond 64 bits");
    if (error != std::errc()) fail("expected a number");
    at_ += static_cast<size_t>(end - begin);
    return expr;
  }

  Expr expression(int depth) {
    if (depth > kMaxDepth) fail("too deeply nested");
    skip_space();
    if (std::isdigit(static_cast<unsigned char>(peek())) || peek() == '-') return integer();
    const std::string_view head = word();
    if (head.empty()) fail("expected an expression");
    Expr expr{.head = std::string(head), .args = {}, .value = 0, .name = {}};
    if (!accept('(')) return expr;
    while (!accept(')')) {
      argument(expr, depth);
      if (!accept(',')) {
        if (!accept(')')) fail("expected ',' or ')'");
        break;
      }
    }
    return finish(std::move(expr));
  }

  /// An expression, a quoted name, or a keyword such as `integer=True`, which is dropped.
  void argument(Expr& call, int depth) {
    skip_space();
    if (peek() == '\'' || peek() == '"') {
      if (!call.name.empty()) fail("second name in one call");
      call.name = quoted();
      return;
    }
    const size_t begin = at_;
    if (!word().empty() && accept('=')) {
      skip_space();
      if (word().empty()) fail("expected a keyword's value");
      return;
    }
    at_ = begin;
    call.args.push_back(expression(depth + 1));
  }

  Expr finish(Expr call) const {
    if (call.head == "Integer") {
      if (call.args.size() != 1 || !call.args[0].is_integer()) fail("Integer takes one number");
      const int64_t value = call.args[0].value;
      call.args.clear();
      call.value = value;
    }
    if (call.head == "Symbol" && call.name.empty()) fail("Symbol without a name");
    return call;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Expr parse_expr(std::string_view text) { return ExprParser(text).parse(); }

std::string to_string(const Expr& expr) {
  if (expr.is_integer()) return std::to_string(expr.value);
  if (expr.is_symbol()) return expr.name;
  std::string result = expr.head;
  if (expr.args.empty() && expr.name.empty()) return result;
  result += '(';
  result += expr.name;
  for (const Expr& arg : expr.args) {
    if (result.back() != '(') result += ", ";
    result += to_string(arg);
  }
  return result + ')';
}

}  // namespace layline::pt2
