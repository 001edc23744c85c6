#include "recipe/sweep/points_file.h"

#include "base/files/file.h"
#include "base/strings.h"
#include "recipe/key_path.h"
#include "recipe/toml/parse.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

using File = std::shared_ptr<const SourceFile>;

constexpr const char* kCsvForm = "write a line of keys, then one per point";

struct Field {
  std::string text;
  SourceSpan where;
};

// The fields of the line that begins at `at`, which is left after it (RFC 4180).
std::vector<Field> read_line(const File& file, size_t& at) {
  const std::string& text = file->text;
  std::vector<Field> fields;
  for (bool more = true; more;) {
    const size_t begin = at;
    std::string field;
    bool quoted = false;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '"') {
        if (quoted && at + 1 < text.size() && text[at + 1] == '"') {
          field += c;
          ++at;
          continue;
        }
        quoted = !quoted;
      } else if (!quoted && (c == ',' || c == '\n')) {
        break;
      } else if (c != '\r') {
        field += c;
      }
    }
    if (quoted)
      throw RecipeError(span_of(file, begin, 1), "the closing '\"' of this field is missing");
    fields.push_back({std::string(trimmed(field)), span_of(file, begin, at - begin)});
    more = at < text.size() && text[at] == ',';
    ++at;
  }
  return fields;
}

// No key has one of these: spreadsheets write them in place of commas.
void refuse_other_separator(const File& file, const Field& first) {
  const size_t at = file->text.substr(0, file->text.find('\n')).find_first_of(";\t");
  if (at == std::string::npos || first.text.find_first_of(";\t") == std::string::npos) return;
  const std::string sign = file->text[at] == ';' ? "semicolons" : "tabs";
  throw RecipeError(span_of(file, at, 1), "the keys are separated by " + sign,
                    "separate them, and the values, by commas");
}

std::vector<SweepPoint> csv_points(const File& file) {
  size_t at = 0;
  const std::vector<Field> keys = read_line(file, at);
  for (const Field& key : keys)
    if (key.text.empty()) throw RecipeError(key.where, "a key is missing", kCsvForm);
  refuse_other_separator(file, keys.front());
  std::vector<SweepPoint> points;
  while (at < file->text.size()) {
    const std::vector<Field> fields = read_line(file, at);
    if (fields.size() == 1 && fields.front().text.empty()) continue;  // an empty line
    if (fields.size() != keys.size())
      throw RecipeError(fields.front().where,
                        "this line has " + std::to_string(fields.size()) +
                            (fields.size() == 1 ? " field" : " fields") +
                            ", but the first line has " + std::to_string(keys.size()),
                        fields.size() < keys.size()
                            ? "write all its commas: an empty field keeps the recipe's value"
                            : "put a value with a comma in double quotes");
    SweepPoint point;
    for (size_t i = 0; i < keys.size(); ++i)
      if (!fields[i].text.empty())
        point.push_back({keys[i].text + "=" + fields[i].text, keys[i].where, fields[i].where});
    points.push_back(std::move(point));
  }
  return points;
}

// Keys of tables below are dotted: [points.optimizer] lr is optimizer.lr.
void add_leaves(const Table& table, const std::string& path, SweepPoint& point) {
  for (const Entry& entry : table.entries()) {
    // A quoted key may be a path already.
    const std::string key = path.empty() ? entry.key : path + "." + entry.key;
    if (const Table* below = entry.value.as<Table>())
      add_leaves(*below, key, point);
    else
      point.push_back({key + "=" + toml_text(entry.value), entry.where, entry.value.where});
  }
}

std::vector<SweepPoint> toml_points(const File& file) {
  Diagnostics diagnostics;
  const auto root = parse_toml(file, Origin::file, diagnostics);
  if (!root) throw RecipeError(std::move(diagnostics));
  constexpr const char* kForm = "write [[points]] above the keys of each point";
  std::vector<SweepPoint> points;
  for (const Entry& entry : root->entries()) {
    const Array* tables = entry.value.as<Array>();
    if (entry.key != "points" || tables == nullptr)
      throw RecipeError(entry.where, "'" + entry.key + "' is not a list of points", kForm);
    for (const Value& value : *tables) {
      if (value.as<Table>() == nullptr)
        throw RecipeError(value.where, "a point must be a table", kForm);
      add_leaves(*value.as<Table>(), "", points.emplace_back());
    }
  }
  return points;
}

std::string read_text(const std::filesystem::path& file, const SourceSpan& where) try {
  if (!path_exists(file)) throw RecipeError(where, "no such file");
  return read_file(file);
} catch (const Error& error) {
  throw RecipeError(where, error.what());
}

}  // namespace

SweepAxis read_points(const std::filesystem::path& path, const SourceSpan& where) {
  const bool is_csv = path.extension() == ".csv";
  if (!is_csv && path.extension() != ".toml")
    throw RecipeError(where, "a points file must be .csv or .toml");
  const auto file = std::make_shared<SourceFile>(SourceFile{path.string(), read_text(path, where)});
  SweepAxis axis{path.string(), where, is_csv ? csv_points(file) : toml_points(file)};
  if (axis.values.empty()) throw RecipeError(where, "'" + path.string() + "' has no points");
  return axis;
}

}  // namespace exprun
