#include "store/parameters.h"

#include <charconv>
#include <optional>

#include "store/query.h"

namespace exprun {
namespace {

template <typename Number>
std::optional<Number> whole_number(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool is_plain_string(const std::string& toml) {
  return toml.size() >= 2 && toml.front() == '"' && toml.find('"', 1) == toml.size() - 1 &&
         toml.find('\\') == std::string::npos;
}

// Numbers become numbers, so that SQL can compare them; strings lose their quotes.
void insert(Connection& connection, int64_t run, const ParameterRow& parameter) {
  const auto& [path, toml, changed] = parameter;
  constexpr const char* kInsert =
      "INSERT INTO parameter (run, key, toml, changed, value) "
      "VALUES (?, (SELECT id FROM parameter_key WHERE path = ?), ?, ?, ?)";
  const int64_t flag = changed;
  if (const auto integer = whole_number<int64_t>(toml)) {
    Query(connection, kInsert, run, path, toml, flag, *integer).run();
  } else if (const auto real = whole_number<double>(toml)) {
    Query(connection, kInsert, run, path, toml, flag, *real).run();
  } else {
    const std::string text = is_plain_string(toml) ? toml.substr(1, toml.size() - 2) : toml;
    Query(connection, kInsert, run, path, toml, flag, text).run();
  }
}

}  // namespace

void insert_parameters(Connection& connection, int64_t run,
                       const std::vector<ParameterRow>& parameters) {
  for (const ParameterRow& parameter : parameters) {
    Query(connection, "INSERT INTO parameter_key (path) VALUES (?) ON CONFLICT DO NOTHING",
          parameter.path)
        .run();
    insert(connection, run, parameter);
  }
}

std::vector<ParameterRow> read_parameters(Connection& connection, int64_t run) {
  std::vector<ParameterRow> parameters;
  Query query(connection, "SELECT path, toml, changed FROM parameters WHERE run = ? ORDER BY path",
              run);
  while (query.step()) parameters.push_back({query.text(0), query.text(1), query.integer(2) != 0});
  return parameters;
}

}  // namespace exprun
