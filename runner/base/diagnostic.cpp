#include "base/diagnostic.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "base/format_units.h"
#include "base/terminal/console.h"
#include "base/terminal/terminal.h"
#include "base/utf8.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

constexpr const char* kIndent = "    ";
constexpr uint32_t kWidestLine = 160;  // code points; a longer line is cut around the place
constexpr uint32_t kLeftOfPlace = 60;
constexpr const char* kCut = "...";

std::string_view line_of(const SourceFile& file, uint32_t line) {
  std::string_view rest = file.text;
  for (uint32_t i = 1; i < line; ++i) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

// One code point as a terminal may show it: control characters and broken bytes could do harm.
std::string printable(const CodePoint& c) {
  const bool harmless = c.value == '\t' || !is_control(c.value);
  return c.valid && harmless ? std::string(c.bytes) : "\xEF\xBF\xBD";
}

// Names in a message are what the user wrote. A message may list things, on lines of their own.
enum class Lines { one, several };
std::string printable(std::string_view text, Lines lines = Lines::one) {
  std::string shown;
  for (const CodePoint& c : code_points(text))
    shown += lines == Lines::several && c.value == '\n' ? "\n" : printable(c);
  return shown;
}

std::string blank(const CodePoint& c) {
  return c.value == '\t' ? "\t" : std::string(display_width(c.value), ' ');
}

struct Window {
  uint32_t first = 0, last = 0;  // code points [first, last) of the line
};

// Code points of a source line that are shown: beside them are the indent and two cuts.
uint32_t widest_line(size_t columns) {
  constexpr uint32_t kBeside = 10, kLeast = 20;
  const auto room = static_cast<uint32_t>(columns);
  return columns == 0 ? kWidestLine
                      : std::clamp(room - std::min(room, kBeside), kLeast, kWidestLine);
}

Window window_around(uint32_t column, uint32_t length, uint32_t widest) {
  if (length <= widest) return {0, length};
  const uint32_t left = std::min(kLeftOfPlace, widest * 3 / 4);
  const uint32_t first = column > left ? column - left : 0;
  return {first, std::min(length, first + widest)};
}

// A text that begins in this column.
std::string fitted(const std::string& text, size_t column, const Rendering& rendering) {
  return rendering.columns == 0
             ? text
             : wrapped_lines(text, std::string_view(kIndent).size(), column, rendering.columns);
}

// After the carets, or below them where it is too wide.
std::string help_behind(const std::string& help, size_t column, const Rendering& rendering) {
  if (help.empty()) return "";
  const bool fits = column + 1 + display_width(help) <= rendering.columns;
  if (rendering.columns == 0 || fits) return " " + help;
  return "\n" + std::string(kIndent) + fitted(help, std::string_view(kIndent).size(), rendering);
}

// The source line and, below it, the carets with the help after them.
std::string excerpt(const SourceSpan& where, const std::string& help, const Rendering& rendering) {
  const std::vector<CodePoint> line = code_points(line_of(*where.file, where.line));
  const auto length = static_cast<uint32_t>(line.size());
  if (length == 0) return "";  // nothing to point at
  const uint32_t column = std::clamp<uint32_t>(where.column, 1, length + 1);
  const Window window = window_around(column - 1, length, widest_line(rendering.columns));
  std::string shown = kIndent, below = kIndent, carets;
  if (window.first > 0) shown += kCut, below += "   ";
  for (uint32_t i = window.first; i < window.last; ++i) {
    shown += printable(line[i]);
    if (i + 1 < column)
      below += blank(line[i]);
    else if (i + 1 < column + where.length)
      carets += std::string(std::max(1, display_width(line[i].value)), '^');
  }
  if (window.last < length) shown += kCut;
  if (carets.empty()) carets = "^";
  const size_t end = display_width(below) + carets.size();
  return shown + "\n" + below + inked(carets, Ink::green, rendering.color) +
         help_behind(help, end, rendering) + "\n";
}

std::string place(const SourceSpan& where) {
  if (!where) return "";
  std::string text = printable(where.file->name);
  if (where.line > 0) text += ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
  return text;
}

// The recipe, its parents, then the overrides in their order, those that the user typed first.
auto order(const Diagnostic& d) {
  const std::string name = d.where ? d.where.file->name : "";
  const auto kind = d.where ? d.where.file->kind : SourceFile::Kind::file;
  const size_t digits = kind == SourceFile::Kind::file ? 0 : name.size();  // 2 is before 10
  return std::tuple(kind, d.also.size(), digits, name, d.where.line, d.where.column);
}

using Files = std::vector<std::shared_ptr<const SourceFile>>;

ordered_json place_json(const SourceSpan& where) {
  if (!where) return nullptr;
  return {{"file", where.file->name},
          {"line", where.line},
          {"column", where.column},
          {"length", where.length}};
}

SourceSpan place_from(const ordered_json& json, const Files& files) {
  if (json.is_null()) return {};
  const auto name = json.at("file").get<std::string>();
  SourceSpan where{nullptr, json.at("line").get<uint32_t>(), json.at("column").get<uint32_t>(),
                   json.at("length").get<uint32_t>()};
  for (const auto& file : files)
    if (file->name == name) where.file = file;
  if (!where.file) where.file = std::make_shared<SourceFile>(SourceFile{name, ""});
  return where;
}

}  // namespace

SourceSpan span_of(const std::shared_ptr<const SourceFile>& file, size_t begin, size_t size) {
  const std::string_view text = file->text;
  const std::string_view before = text.substr(0, begin);
  const auto line = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto column = static_cast<uint32_t>(code_points(before.substr(line_start)).size() + 1);
  const auto length = static_cast<uint32_t>(code_points(text.substr(begin, size)).size());
  return {file, line, column, std::max<uint32_t>(length, 1)};
}

Diagnostics sorted(Diagnostics diagnostics) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const auto& a, const auto& b) { return order(a) < order(b); });
  return diagnostics;
}

Diagnostics first_of(Diagnostics diagnostics) {
  Diagnostics all = sorted(std::move(diagnostics));
  if (all.size() <= kMostDiagnostics) return all;
  const Diagnostics rest(all.begin() + kMostDiagnostics, all.end());
  all.resize(kMostDiagnostics);
  all.push_back({all.back().where,
                 with_thousands(static_cast<int64_t>(rest.size())) + " more not shown", "",
                 all.back().also, has_errors(rest) ? Severity::error : Severity::warning});
  return all;
}

std::string render(const Diagnostic& diagnostic, const Rendering& rendering) {
  const bool is_error = diagnostic.severity == Severity::error;
  const std::string where = place(diagnostic.where).append(diagnostic.where ? ": " : "");
  const std::string kind = is_error ? "error:" : "warning:";
  std::string text = inked(where, Ink::bold, rendering.color) +
                     inked(kind, is_error ? Ink::red : Ink::yellow, rendering.color) + " ";
  const size_t column = display_width(where) + kind.size() + 1;
  text += fitted(printable(diagnostic.message, Lines::several), column, rendering) + "\n";
  const std::string help = printable(diagnostic.help);
  const std::string shown =
      diagnostic.where.line > 0 ? excerpt(diagnostic.where, help, rendering) : "";
  if (shown.empty() && !help.empty())
    text += kIndent + fitted(help, std::string_view(kIndent).size(), rendering) + "\n";
  text += shown;
  for (const SourceSpan& child : diagnostic.also)
    text += kIndent + ("extended by " + place(child)) + "\n";
  return text;
}

std::string render(const Diagnostic& diagnostic) {
  return render(diagnostic, {});
}

std::string render(const Diagnostics& diagnostics) {
  return render(diagnostics, {});
}

std::string render(const Diagnostics& diagnostics, const Rendering& rendering) {
  std::string text;
  for (const Diagnostic& diagnostic : sorted(diagnostics)) text += render(diagnostic, rendering);
  return text;
}

Diagnostic warning(SourceSpan where, std::string message, std::string help) {
  return {std::move(where), std::move(message), std::move(help), {}, Severity::warning};
}

Diagnostic lack(SourceSpan where, std::string message, std::string help) {
  return {std::move(where), std::move(message), std::move(help), {}, Severity::error, true};
}

RecipeError as_lack(const RecipeError& error) {
  Diagnostics lacking = error.diagnostics();
  for (Diagnostic& diagnostic : lacking) diagnostic.is_lack = true;
  return RecipeError(std::move(lacking));
}

bool has_errors(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::error; });
}

Diagnostics not_told(Diagnostics diagnostics, const Diagnostics& told) {
  const auto place = [](const SourceSpan& where) {
    return std::tuple(where ? where.file->name : "", where.line, where.column);
  };
  std::erase_if(diagnostics, [&](const Diagnostic& diagnostic) {
    return std::any_of(told.begin(), told.end(), [&](const Diagnostic& other) {
      return other.message == diagnostic.message && place(other.where) == place(diagnostic.where);
    });
  });
  return diagnostics;
}

RecipeError::RecipeError(Diagnostics diagnostics)
    : std::runtime_error(render(diagnostics)), diagnostics_(sorted(std::move(diagnostics))) {}

RecipeError::RecipeError(SourceSpan where, std::string message, std::string help)
    : RecipeError(Diagnostics{
          {std::move(where), std::move(message), std::move(help), {}, Severity::error}}) {}

ordered_json to_json(const Diagnostics& diagnostics) {
  ordered_json list = ordered_json::array();
  for (const Diagnostic& diagnostic : diagnostics) {
    ordered_json also = ordered_json::array();
    for (const SourceSpan& where : diagnostic.also) also.push_back(place_json(where));
    list.push_back({{"severity", diagnostic.severity == Severity::error ? "error" : "warning"},
                    {"message", diagnostic.message},
                    {"help", diagnostic.help},
                    {"where", place_json(diagnostic.where)},
                    {"also", std::move(also)}});
  }
  return list;
}

Diagnostics diagnostics_from_json(const ordered_json& json, const Files& files) {
  Diagnostics diagnostics;
  for (const ordered_json& item : json) {
    Diagnostic diagnostic{place_from(item.at("where"), files), item.at("message"), item.at("help")};
    for (const ordered_json& where : item.at("also"))
      diagnostic.also.push_back(place_from(where, files));
    if (item.at("severity") == "warning") diagnostic.severity = Severity::warning;
    diagnostics.push_back(std::move(diagnostic));
  }
  return diagnostics;
}

}  // namespace exprun
