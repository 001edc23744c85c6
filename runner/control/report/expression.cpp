#include "control/report/expression.h"

#include <cmath>

#include "base/format_units.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "base/utf8.h"

namespace exprun {
namespace {

constexpr int kDeepest = 100;  // brackets and nots in each other

struct Token {
  // open: "name(", a word with the bracket of its arguments
  enum class Kind { word, quoted, sign, function, end };
  Kind kind = Kind::end;
  std::string text;
  Extent where;

  bool is_sign(std::string_view sign) const { return kind == Kind::sign && text == sign; }
};

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool letter_or_digit =
      (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || byte >= 0x80;
  return letter_or_digit || std::string_view("_-./:+%@*?^#$").find(c) != std::string_view::npos;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_keyword(const Token& token, std::string_view word) {
  return token.kind == Token::Kind::word && lower_case(token.text) == word;
}

bool is_any_keyword(const Token& token) {
  for (const char* word : {"and", "or", "not", "in"})
    if (is_keyword(token, word)) return true;
  return false;
}

bool is_comparison(const Token& token) {
  if (token.kind != Token::Kind::sign) return false;
  for (const char* sign : {"=", "!=", "<", "<=", ">", ">="})
    if (token.text == sign) return true;
  return false;
}

// "10M" is ten million, as in "10M tokens".
void read_number(Literal& literal) {
  std::string_view text = literal.text;
  if (text.starts_with('+')) text.remove_prefix(1);
  double factor = 1;
  if (text.size() > 1 && text[text.size() - 2] >= '0' && text[text.size() - 2] <= '9') {
    const size_t magnitude = std::string_view("kMBT").find(text.back());
    if (magnitude != std::string_view::npos) {
      factor = std::pow(1000.0, static_cast<double>(magnitude + 1));
      text.remove_suffix(1);
    }
  }
  if (factor == 1) literal.integer = parse_number<int64_t>(text);
  literal.number = parse_number<double>(text);
  if (!literal.number) return;
  literal.number = *literal.number * factor;
  constexpr double kWhole = 9007199254740992;  // 2^53
  if (factor > 1 && std::abs(*literal.number) <= kWhole &&
      std::trunc(*literal.number) == *literal.number)
    literal.integer = static_cast<int64_t>(*literal.number);
}

class Parser {
 public:
  Parser(std::shared_ptr<const SourceFile> source, Extent part)
      : source_(std::move(source)), at_(part.begin), end_(part.begin + part.size) {
    advance();
  }

  Expression whole_expression() {
    Expression expression = any_of();
    if (token_.kind != Token::Kind::end) refuse_what_follows();
    return expression;
  }

  ValueName whole_value() {
    ValueName name = value();
    if (token_.kind != Token::Kind::end)
      refuse(token_.where, "unexpected '" + token_.text + "'",
             "a name stands alone, as in val/loss or min(val/loss)");
    return name;
  }

  Literal whole_array() {
    if (!token_.is_sign("[")) refuse(token_.where, "no array", "");
    Literal array = literal();
    if (token_.kind != Token::Kind::end) refuse(token_.where, "no array", "");
    return array;
  }

 private:
  [[noreturn]] void refuse(Extent where, const std::string& message,
                           const std::string& help) const {
    throw RecipeError(span_of(source_, where.begin, where.size), message, help);
  }

  // --- tokens --------------------------------------------------------------------------------

  char byte(size_t at) const { return at < end_ ? source_->text[at] : '\0'; }

  void advance() {
    last_end_ = token_.where.begin + token_.where.size;
    while (at_ < end_ && is_blank(source_->text[at_])) ++at_;
    const size_t begin = at_;
    token_ = {Token::Kind::end, "", {begin, 0}};
    if (begin == end_) return;
    if (byte(begin) == '"' || byte(begin) == '\'') return take_quoted();
    if (!is_word_byte(byte(begin))) return take_sign();
    while (at_ < end_ && is_word_byte(source_->text[at_])) ++at_;
    token_ = {Token::Kind::word, source_->text.substr(begin, at_ - begin), {begin, at_ - begin}};
    if (byte(at_) == '(' && !is_any_keyword(token_)) token_.kind = Token::Kind::function;
  }

  void take_quoted() {
    const size_t begin = at_;
    const char quote = byte(at_++);
    std::string text;
    while (at_ < end_ && byte(at_) != quote) {
      const bool escaped = byte(at_) == '\\' && (byte(at_ + 1) == quote || byte(at_ + 1) == '\\');
      if (escaped) ++at_;
      text += source_->text[at_++];
    }
    if (at_ >= end_)
      refuse({begin, end_ - begin}, "this text has no closing quote",
             std::string("end it with ") + quote);
    ++at_;
    token_ = {Token::Kind::quoted, std::move(text), {begin, at_ - begin}};
  }

  void take_sign() {
    const size_t begin = at_;
    while (at_ < end_ && std::string_view("=!<>&|~").find(byte(at_)) != std::string_view::npos)
      ++at_;
    if (at_ == begin) ++at_;
    std::string text = source_->text.substr(begin, at_ - begin);
    const Extent where{begin, at_ - begin};
    if (text == "==") text = "=";
    for (const auto& [foreign, ours] : {std::pair{"&&", "and"},
                                        {"&", "and"},
                                        {"||", "or"},
                                        {"|", "or"},
                                        {"!", "not"},
                                        {"=>", ">="},
                                        {"=<", "<="},
                                        {"<>", "!="},
                                        {"===", "=="},
                                        {"=~", "~"}})
      if (text == foreign)
        refuse(where, "there is no '" + text + "'", std::string("write ") + ours);
    token_ = {Token::Kind::sign, std::move(text), where};
    const bool known = is_comparison(token_) || token_.text == "~" ||
                       std::string_view("()[],").find(token_.text) != std::string_view::npos;
    if (known) return;
    const CodePoint point = first_code_point(std::string_view(source_->text).substr(begin));
    refuse(where,
           "unexpected '" + std::string(point.bytes.size() > 1 ? point.bytes : token_.text) + "'",
           "put a text that has such characters in quotes");
  }

  Extent since(size_t begin) const { return {begin, last_end_ - begin}; }

  void take(std::string_view sign, const std::string& help) {
    if (!token_.is_sign(sign)) refuse_token("'" + std::string(sign) + "'", help);
    advance();
  }

  [[noreturn]] void refuse_token(const std::string& expected, const std::string& help) const {
    const std::string found =
        token_.kind == Token::Kind::end ? "the condition ends here" : "found '" + token_.text + "'";
    refuse(token_.where, "expected " + expected + ", but " + found, help);
  }

  [[noreturn]] void refuse_what_follows() const {
    if (token_.is_sign(")")) refuse(token_.where, "this ')' closes nothing", "leave it out");
    if (is_comparison(token_) || token_.is_sign("~"))
      refuse(token_.where, "unexpected '" + token_.text + "' after a whole condition",
             "write 'and' or 'or' between two conditions");
    refuse(token_.where, "unexpected '" + token_.text + "'", "write 'and' or 'or' before it");
  }

  // --- expressions ---------------------------------------------------------------------------

  struct Depth {
    Depth(Parser& parser) : parser(parser) {
      if (++parser.depth_ > kDeepest)
        parser.refuse(parser.token_.where, "brackets are nested more than 100 levels deep", "");
    }
    ~Depth() { --parser.depth_; }
    Parser& parser;
  };

  template <typename Part>
  Expression joined(const char* keyword, Expression::Kind kind, Part&& part) {
    const size_t begin = token_.where.begin;
    Expression first = part();
    if (!is_keyword(token_, keyword)) return first;
    Expression whole;
    whole.kind = kind;
    whole.parts.push_back(std::move(first));
    while (is_keyword(token_, keyword)) {
      advance();
      whole.parts.push_back(part());
    }
    whole.where = since(begin);
    return whole;
  }

  Expression any_of() {
    return joined("or", Expression::Kind::any_of, [&] {
      return joined("and", Expression::Kind::all_of, [&] { return negation(); });
    });
  }

  Expression negation() {
    const Depth depth(*this);
    const size_t begin = token_.where.begin;
    Expression expression;
    if (is_keyword(token_, "not")) {
      advance();
      expression.kind = Expression::Kind::negation;
      expression.parts.push_back(negation());
      expression.where = since(begin);
      return expression;
    }
    if (!token_.is_sign("(")) return condition();
    advance();
    expression = any_of();
    take(")", "close the bracket");
    return expression;
  }

  Expression condition() {
    const size_t begin = token_.where.begin;
    Expression expression;
    const bool asks = token_.kind == Token::Kind::function;
    if (asks && (token_.text == "tag" || token_.text == "has")) {
      const bool tag = token_.text == "tag";
      open_arguments();
      if (tag) {
        expression.kind = Expression::Kind::has_tag;
        expression.literals.push_back(literal());
      } else {
        expression.kind = Expression::Kind::has_value;
        expression.value = name_of_value("a name, as in has(val/loss)");
      }
      take(")", "close the bracket");
    } else {
      expression.value = value();
      read_right_side(expression);
    }
    expression.where = since(begin);
    return expression;
  }

  void read_right_side(Expression& expression) {
    const Token sign = token_;
    const bool negated = is_keyword(sign, "not");
    if (is_comparison(sign) || sign.is_sign("~")) {
      expression.sign = sign.text;
      advance();
      if (sign.text == "~") expression.kind = Expression::Kind::matches;
      if (sign.text != "~" && token_.kind == Token::Kind::function)
        expression.right_name = value();
      else
        expression.literals.push_back(literal());
    } else if (negated || is_keyword(sign, "in")) {
      if (negated) advance();
      if (!is_keyword(token_, "in")) refuse_token("'in'", "as in lr not in [1e-3, 3e-3]");
      advance();
      if (!token_.is_sign("[")) refuse_token("'['", "as in lr in [1e-3, 3e-3]");
      expression.kind = Expression::Kind::is_in;
      expression.literals = literal().items;
      if (negated) negate(expression);
    } else {
      refuse_without_comparison(expression.value);
    }
  }

  static void negate(Expression& expression) {
    Expression inner = std::move(expression);
    expression = {};
    expression.kind = Expression::Kind::negation;
    expression.parts.push_back(std::move(inner));
  }

  [[noreturn]] void refuse_without_comparison(const ValueName& name) const {
    if (token_.kind == Token::Kind::end || token_.kind == Token::Kind::word)
      refuse(name.where, "this is not a condition",
             "compare it with = != < <= > >= ~ or in, as in lr>1e-4");
    refuse(token_.where, "expected a comparison, but found '" + token_.text + "'",
           "one of = != < <= > >= ~ in");
  }

  // --- values --------------------------------------------------------------------------------

  // Bare words with blanks between them, as written, or a text in quotes.
  std::string words(const std::string& expected, const std::string& help) {
    if (token_.kind == Token::Kind::quoted) {
      std::string text = token_.text;
      advance();
      return text;
    }
    if (token_.kind != Token::Kind::word || is_any_keyword(token_)) refuse_token(expected, help);
    const size_t begin = token_.where.begin;
    while (token_.kind == Token::Kind::word && !is_any_keyword(token_)) advance();
    const Extent all = since(begin);
    return source_->text.substr(all.begin, all.size);
  }

  void open_arguments() {
    advance();
    advance();
  }

  ValueName name_of_value(const std::string& expected) {
    const size_t begin = token_.where.begin;
    ValueName name;
    name.name = words(expected, "");
    name.where = since(begin);
    return name;
  }

  ValueName value() {
    if (token_.kind == Token::Kind::function) return function();
    const bool bare = token_.kind == Token::Kind::word;
    ValueName name = name_of_value("a name, as in lr or val/loss");
    if (bare) read_suffix(name);
    return name;
  }

  // "val/loss:min"
  static void read_suffix(ValueName& name) {
    using Which = ValueName::Which;
    for (const auto& [suffix, which] :
         {std::pair{":last", Which::last}, {":min", Which::min}, {":max", Which::max}}) {
      if (!name.name.ends_with(suffix) || name.name == suffix) continue;
      name.name.resize(name.name.size() - std::string_view(suffix).size());
      name.which = which;
      return;
    }
  }

  ValueName function() {
    using Which = ValueName::Which;
    const Token called = token_;
    ValueName name;
    if (called.text.ends_with(":at") && called.text != ":at") {  // "val/loss:at(100)"
      open_arguments();
      name.name = called.text.substr(0, called.text.size() - 3);
    } else {
      name.which = which_of(called);
      open_arguments();
      name.name = words("the name of a series", "as in " + called.text + "(val/loss)");
    }
    const bool suffix = name.which == Which::plain;
    if (suffix || name.which == Which::at) {
      name.which = Which::at;
      if (!suffix) take(",", "at takes a series and a step, as in at(val/loss, 100)");
      name.step = step();
    }
    take(")", "close the bracket");
    name.where = since(called.where.begin);
    return name;
  }

  ValueName::Which which_of(const Token& called) const {
    using Which = ValueName::Which;
    if (called.text == "last") return Which::last;
    if (called.text == "min") return Which::min;
    if (called.text == "max") return Which::max;
    if (called.text == "at") return Which::at;
    const std::vector<std::string> all = {"last", "min", "max", "at", "tag", "has"};
    const auto near = nearest(called.text, all);
    if (called.text == "tag" || called.text == "has")
      refuse(called.where, "'" + called.text + "' has no value here",
             "it is a condition of its own, as in tag(\"ablation\")");
    refuse(called.where, "there is no function '" + called.text + "'",
           near ? "did you mean '" + *near + "'?" : "there are " + listed(all));
  }

  int64_t step() {
    const Extent where = token_.where;
    const Literal step = literal();
    if (!step.integer || *step.integer < 0)
      refuse(where, "a step is a whole number", "as in at(val/loss, 100)");
    return *step.integer;
  }

  Literal literal() {
    const size_t begin = token_.where.begin;
    Literal literal;
    if (token_.is_sign("[")) {
      read_array(literal);
    } else {
      const bool quoted = token_.kind == Token::Kind::quoted;
      literal.text = words("a value", "an empty text is written \"\"");
      if (!quoted) read_number(literal);
    }
    literal.where = since(begin);
    if (literal.is_array)
      literal.text = source_->text.substr(literal.where.begin, literal.where.size);
    return literal;
  }

  void read_array(Literal& array) {
    const Depth depth(*this);
    array.is_array = true;
    advance();
    while (!token_.is_sign("]")) {
      array.items.push_back(literal());
      if (token_.is_sign("]")) break;
      take(",", "items stand between commas, as in [1e-3, 3e-3]");
    }
    advance();
  }

  std::shared_ptr<const SourceFile> source_;
  size_t at_, end_;      // what is not a token yet
  size_t last_end_ = 0;  // of the token before
  Token token_;
  int depth_ = 0;
};

}  // namespace

Expression parse_expression(const std::shared_ptr<const SourceFile>& source) {
  return Parser(source, {0, source->text.size()}).whole_expression();
}

ValueName parse_value_name(const std::shared_ptr<const SourceFile>& source, Extent part) {
  return Parser(source, part).whole_value();
}

std::optional<Literal> parse_array(std::string_view text) try {
  if (!text.starts_with('[')) return std::nullopt;
  const auto source = std::make_shared<SourceFile>(SourceFile{"", std::string(text)});
  return Parser(source, {0, text.size()}).whole_array();
} catch (const RecipeError&) {
  return std::nullopt;
}

std::string to_string(const ValueName& value) {
  using Which = ValueName::Which;
  switch (value.which) {
    case Which::plain:
      return value.name;
    case Which::last:
      return "last(" + value.name + ")";
    case Which::min:
      return "min(" + value.name + ")";
    case Which::max:
      return "max(" + value.name + ")";
    case Which::at:
      return "at(" + value.name + ", " + std::to_string(value.step) + ")";
  }
  return "";
}

}  // namespace exprun
