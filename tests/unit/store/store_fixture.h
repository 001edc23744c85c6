// A folder for one test, and runs to put into its store.
#pragma once

#include <filesystem>
#include <string>

#include "store/store.h"
#include "tests/support/temporary_folder.h"

namespace exprun {

class DatabaseFolder : public TemporaryFolder {
 public:
  std::filesystem::path database() const { return path() / "exprun.db"; }
};

inline NewRun new_run(const std::string& uid_digits, const std::string& name = "quickstart") {
  NewRun run;
  run.uid = uid_digits + std::string(32 - uid_digits.size(), '0');
  run.name = name;
  run.recipe_hash = "hash-of-" + name;
  run.recipe_json = R"({"files": ["recipe of )" + name + R"("]})";
  run.resolved_toml = "[run]\nname = \"" + name + "\"\n";
  run.folder = name + "-" + run.uid.substr(0, 8);
  run.working_directory = "/home/user/project";
  run.command_line = "exprun recipes/" + name + ".toml";
  run.data_fingerprint = "fingerprint";
  run.seed = 1337;
  run.steps = 300;
  run.parameters = {{"optimizer.lr", "0.001"}, {"model.type", "\"gpt\""}, {"run.steps", "300"}};
  return run;
}

// For Store::merge: the other store's runs have all ended.
inline constexpr auto kNobodyRuns = [](const RunRow&) { return false; };

// The one value of a query with one row and one column.
inline std::string value_of(const Store& store, const std::string& sql) {
  return store.query(sql).rows.at(0).at(0).value_or("NULL");
}

}  // namespace exprun
