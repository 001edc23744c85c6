#include "store/parameters.h"

#include <algorithm>

#include "base/number.h"
#include "store/query.h"

namespace exprun {
namespace {

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
  if (const auto integer = parse_number<int64_t>(toml)) {
    Query(connection, kInsert, run, path, toml, flag, *integer).run();
  } else if (const auto real = parse_number<double>(toml)) {
    Query(connection, kInsert, run, path, toml, flag, *real).run();
  } else {
    const std::string text = is_plain_string(toml) ? toml.substr(1, toml.size() - 2) : toml;
    Query(connection, kInsert, run, path, toml, flag, text).run();
  }
}

std::string json_array(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (const int64_t number : numbers)
    text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "]";
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

std::map<int64_t, std::vector<ParameterRow>> read_parameters(Connection& connection,
                                                             const std::vector<int64_t>& runs) {
  std::map<int64_t, std::vector<ParameterRow>> parameters;
  Query query(connection,
              "SELECT run, path, toml, changed FROM parameters "
              "WHERE run IN (SELECT value FROM json_each(?))",
              json_array(runs));
  while (query.step())
    parameters[query.integer(0)].push_back({query.text(1), query.text(2), query.integer(3) != 0});
  for (auto& [run, rows] : parameters)
    std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.path < b.path; });
  return parameters;
}

// Runs first, so that each is one look into the key of `parameter`.
std::map<int64_t, std::string> read_parameter(Connection& connection, const std::string& path) {
  std::map<int64_t, std::string> values;
  Query query(connection,
              "SELECT r.id, p.toml FROM run AS r CROSS JOIN parameter AS p ON p.run = r.id "
              "WHERE p.key = (SELECT id FROM parameter_key WHERE path = ?)",
              path);
  while (query.step()) values.emplace(query.integer(0), query.text(1));
  return values;
}

std::vector<std::string> read_parameter_paths(Connection& connection) {
  std::vector<std::string> paths;
  Query query(connection, "SELECT path FROM parameter_key ORDER BY path");
  while (query.step()) paths.push_back(query.text(0));
  return paths;
}

}  // namespace exprun
