#include "control/command/line/recipe_words.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/period.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "base/terminal/console.h"
#include "control/launch/ranks/distributed_command.h"
#include "control/launch/ranks/ranks.h"
#include "recipe/schema/key_lookup.h"

namespace exprun {

bool names_recipe(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".toml") || std::filesystem::exists(word, ignored);
}

bool names_recipe_file(const std::string& word) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status there = fs::status(word, ignored);
  return word.ends_with(".toml") || (fs::exists(there) && !fs::is_directory(there));
}

std::string sign_of(const std::string& change) {
  return change.starts_with('~') || change.starts_with('+') ? change.substr(0, 1) : "";
}

std::string change_in(const std::string& table, const std::string& change) {
  const std::string sign = sign_of(change);
  return sign + table + '.' + change.substr(sign.size());
}

ResolvedRecipe resolved_aloud(const RecipeText& text, const Diagnostics& told) {
  ResolvedRecipe resolved = resolve(text);
  show_diagnostics(not_told(resolved.warnings(), told));
  return resolved;
}

void refuse_detached_machines(const std::optional<LocalRanks>& ranks) {
  if (ranks)
    throw Error(
        "command line: --detach starts all ranks of one machine; leave it out where "
        "several machines or an external launcher start them",
        ExitCode::bad_recipe);
}

LaunchRequest request_for(RecipeText text, const Globals& globals, const Diagnostics& told) {
  ResolvedRecipe resolved = resolved_aloud(text, told);
  return {std::move(text), std::move(resolved), globals.command_line, globals.level, {}, {}};
}

namespace {

// "lr", "optimizer.lr": a key that a recipe, or a table of it, can have.
bool is_key(const std::string& word, const std::string& table) {
  const std::string path = table.empty() ? word : table + '.' + word;
  return !matching_paths(SchemaSet::embedded(), {}, path).empty();
}

bool is_duration(const std::string& key) {
  const SchemaSet& schemas = SchemaSet::embedded();
  const auto paths = matching_paths(schemas, {}, key);
  return std::ranges::any_of(paths, [&](const std::string& path) {
    const Schema* const schema = schema_at(schemas, {}, path);
    return schema != nullptr && schema->contains("x-period");
  });
}

// The "steps" of a "warmup=20" before it.
bool is_unit_of_before(const Words& words, size_t i) {
  if (i == 0) return false;
  const size_t sign = words[i - 1].find('=');
  return sign != std::string::npos &&
         parse_period(words[i - 1].substr(sign + 1) + ' ' + words[i]) &&
         is_duration(words[i - 1].substr(0, sign));
}

}  // namespace

std::string without_blanks(const Words& words, size_t i, const std::string& table) {
  if (words[i].find('=') != std::string::npos) return "";
  const bool is_last = i + 1 == words.size();
  if (i > 0 && words[i - 1].ends_with('=')) return words[i - 1] + words[i];
  if (is_last) return "";
  if (words[i + 1].find('=') == std::string::npos && is_key(words[i], table))
    return words[i] + '=' + words[i + 1];
  if (!words[i + 1].starts_with('=')) return "";
  const bool alone = words[i + 1] == "=" && i + 2 < words.size();
  return words[i] + words[i + 1] + (alone ? words[i + 2] : "");
}

void require_overrides(const Words& words, const std::string& command, const std::string& table) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].find('=') != std::string::npos || words[i].starts_with('~')) continue;
    const std::string joined = without_blanks(words, i, table);
    throw Error(command + ": '" + words[i] + "' is not key=value" +
                    (!joined.empty() ? "; write " + joined + ", without spaces"
                     : is_unit_of_before(words, i)
                         ? "; write " + shell_quoted(words[i - 1] + ' ' + words[i]) + ", in quotes"
                         : ""),
                ExitCode::bad_recipe);
  }
}

std::string meant_recipe(const std::string& word) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code ignored;
  const fs::path folder = fs::path(word).parent_path();
  const fs::path below = fs::path("recipes") / (word + ".toml");
  if (file_exists(below)) return "; did you mean '" + below.string() + "'?";
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored))
    if (entry.path().extension() == ".toml")
      files.push_back((folder / entry.path().filename()).string());
  std::sort(files.begin(), files.end());
  const auto whole = std::find(files.begin(), files.end(), word + ".toml");
  const auto near = whole != files.end() ? std::optional(*whole) : nearest(word, files);
  return near ? "; did you mean '" + *near + "'?" : "";
}

std::string meant_command_or_recipe(std::span<const Command> commands, const std::string& word,
                                    const std::string& help) {
  const std::string recipe = meant_recipe(word);
  return recipe.empty() ? meant_command(commands, word, help) : recipe;
}

void MachineOptions::add_to(Arguments& arguments) {
  arguments
      .number(
          "--nnodes", nnodes_,
          "machines that train together; run the same command on each, with its own --node-rank", 1)
      .number("--nproc-per-node", nproc_per_node_,
              "ranks on each machine (default: 1); overrides parallelism.world_size", 1)
      .number("--node-rank", node_rank_,
              "the number of this machine, counted from 0; the run and its store are on machine 0")
      .option("--rdzv-endpoint", "HOST:PORT", rdzv_endpoint_,
              "the address of machine 0 and a free port there")
      .note(
          "Machines may start minutes apart. The others wait for machine 0 as long as its command "
          "runs, even for hours of data preparation, but only ten minutes if nothing is listening "
          "at HOST:PORT. Machine 0 waits ten minutes for each of them, then ends with exit code "
          "75: run the same commands again.");
}

std::optional<LocalRanks> MachineOptions::local_ranks(Words& overrides) const {
  const auto other = external_rank();
  const bool names_a_machine = node_rank_ || !rdzv_endpoint_.empty();
  if (!nnodes_ && !nproc_per_node_ && !names_a_machine) return other;
  if (other)
    throw Error(
        "command line: an external launcher has started the ranks; leave out --nnodes, "
        "--nproc-per-node, --node-rank and --rdzv-endpoint",
        ExitCode::bad_recipe);
  if (!nnodes_ && names_a_machine)
    throw Error(
        "command line: --node-rank and --rdzv-endpoint need --nnodes, the number of machines",
        ExitCode::bad_recipe);
  Machines machines{nnodes_.value_or(1), nproc_per_node_.value_or(1), node_rank_.value_or(0),
                    rdzv_endpoint_};
  // One of one needs no endpoint.
  if (machines.nnodes == 1 && machines.rdzv_endpoint.empty())
    machines.rdzv_endpoint = "localhost:1";
  const LocalRanks ranks = ranks_of_machine(machines);
  if (machines.nnodes > 1) return ranks;
  if (nproc_per_node_) {
    std::erase_if(overrides, [](const std::string& word) {
      return word.starts_with("world_size=") || word.starts_with("parallelism.world_size=");
    });
    overrides.push_back("parallelism.world_size=" + std::to_string(*nproc_per_node_));
  }
  return std::nullopt;
}

}  // namespace exprun
