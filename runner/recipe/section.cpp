#include "recipe/section.h"

#include <stdexcept>

#include "recipe/key_path.h"
#include "recipe/overrides.h"

namespace exprun {
namespace {

[[noreturn]] void wrong(const std::string& path, const char* wanted, const Value& value) {
  throw std::logic_error("section: " + path + " is read as " + wanted + " but is " +
                         type_name(value));
}

void convert(const std::string& path, const Value& value, bool& to) {
  if (value.as<bool>() == nullptr) wrong(path, "a boolean", value);
  to = *value.as<bool>();
}

void convert(const std::string& path, const Value& value, int64_t& to) {
  if (value.as<int64_t>() == nullptr) wrong(path, "an integer", value);
  to = *value.as<int64_t>();
}

void convert(const std::string& path, const Value& value, double& to) {
  if (const auto* integer = value.as<int64_t>())
    to = static_cast<double>(*integer);
  else if (const auto* real = value.as<double>())
    to = *real;
  else
    wrong(path, "a float", value);
}

void convert(const std::string& path, const Value& value, std::string& to) {
  if (value.as<std::string>() == nullptr) wrong(path, "a string", value);
  to = *value.as<std::string>();
}

void convert(const std::string& path, const Value& value, Period& to) {
  const auto* text = value.as<std::string>();
  const auto period = text == nullptr ? std::nullopt : parse_period(*text);
  if (!period) wrong(path, "a duration", value);
  to = *period;
}

// One string may stand for an array of it (paths).
template <class T>
void convert(const std::string& path, const Value& value, std::vector<T>& to) {
  if (const auto* array = value.as<Array>()) {
    for (const Value& element : *array) convert(path, element, to.emplace_back());
  } else if (value.as<std::string>() != nullptr && std::is_same_v<T, std::string>) {
    convert(path, value, to.emplace_back());
  } else {
    wrong(path, "an array", value);
  }
}

}  // namespace

Section::Section(const Table& table, std::string path, std::string schema_file)
    : table_(&table),
      path_(std::move(path)),
      schema_file_(std::move(schema_file)),
      read_(std::make_shared<std::set<std::string, std::less<>>>()) {}

const Value& Section::value(std::string_view key) const {
  const Value* value = table_->find(key);
  if (value == nullptr)
    throw std::logic_error("section: '" + std::string(key) + "' of [" + path_ +
                           "] is not declared in schemas/" + schema_file_);
  read_->insert(join_path(path_, key));
  return *value;
}

template <class T>
T Section::get(std::string_view key) const {
  T result{};
  convert(join_path(path_, key), value(key), result);
  return result;
}

template <class T>
std::optional<T> Section::find(std::string_view key) const {
  read_->insert(join_path(path_, key));
  const Value* found = table_->find(key);
  if (found == nullptr) return std::nullopt;
  if (!std::is_same_v<T, std::string> && is_auto(*found)) return std::nullopt;
  return get<T>(key);
}

template <class T>
bool Section::holds(std::string_view key) const {
  return value(key).as<T>() != nullptr;
}

template bool Section::holds<bool>(std::string_view) const;
template bool Section::holds<std::string>(std::string_view) const;

#define EXPRUN_SECTION_READS(T)                       \
  template T Section::get<T>(std::string_view) const; \
  template std::optional<T> Section::find<T>(std::string_view) const;
EXPRUN_SECTION_READS(bool)
EXPRUN_SECTION_READS(int64_t)
EXPRUN_SECTION_READS(double)
EXPRUN_SECTION_READS(std::string)
EXPRUN_SECTION_READS(Period)
EXPRUN_SECTION_READS(std::vector<double>)
EXPRUN_SECTION_READS(std::vector<int64_t>)
EXPRUN_SECTION_READS(std::vector<std::string>)
#undef EXPRUN_SECTION_READS

Section Section::table(std::string_view key) const {
  const Value& found = value(key);
  if (found.as<Table>() == nullptr) wrong(join_path(path_, key), "a table", found);
  Section section(*found.as<Table>(), join_path(path_, key), schema_file_);
  section.read_ = read_;
  return section;
}

std::vector<std::string> Section::keys() const {
  return table_->keys();
}

bool Section::has(std::string_view key) const {
  return table_->find(key) != nullptr;
}

RecipeError Section::error(std::string_view key, std::string message, std::string help) const {
  const Value* value = table_->find(key);
  SourceSpan where = value != nullptr && value->where ? value->where : table_->where;
  return RecipeError(std::move(where), std::move(message), std::move(help));
}

RecipeError Section::error_between(const std::vector<std::string>& keys, std::string message,
                                   std::string help) const {
  return error(newest_of(*table_, keys), std::move(message), std::move(help));
}

std::vector<std::string> Section::unread() const {
  std::vector<std::string> unread;
  for (const std::string& key : table_->keys()) {
    const bool was_read = read_->contains(join_path(path_, key));
    if (!was_read && key != "type") unread.push_back(key);
    if (!was_read || table_->find(key)->as<Table>() == nullptr) continue;
    for (const std::string& inner : table(key).unread()) unread.push_back(join_path(key, inner));
  }
  return unread;
}

}  // namespace exprun
