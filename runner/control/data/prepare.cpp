#include "control/data/prepare.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "control/data/evaluation_files.h"
#include "control/data/prepare_shards.h"
#include "control/data/prepare_text.h"
#include "control/data/read/records.h"
#include "control/data/sources/sources.h"
#include "recipe/quantities.h"
#include "recipe/toml/write.h"
#include "recipe/value.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

// Keys of [dataset] that are about sources of another kind than there are.

struct KeyOfSources {
  const char* name;
  const char* asks_for_nothing;  // a value
};

constexpr KeyOfSources kOfTexts{"separator", ""};
constexpr std::array kOfRecords = {KeyOfSources{"template", "{text}"},
                                   KeyOfSources{"fallback_template", ""}};

// Null for a key that is not written, or asks for nothing.
const Value* written(const Table& dataset, const KeyOfSources& key) {
  const Value* value = dataset.find(key.name);
  if (!value || value->origin == Origin::default_value) return nullptr;
  return *value->as<std::string>() == key.asks_for_nothing ? nullptr : value;
}

// Whether a key is written that a kind of source has no use for: else nothing need be looked for.
bool may_have_unused_keys(const Table& dataset) {
  return written(dataset, kOfTexts) ||
         std::any_of(kOfRecords.begin(), kOfRecords.end(),
                     [&](const KeyOfSources& key) { return written(dataset, key) != nullptr; });
}

// Warnings, of a `dataset` of raw sources. No source is opened.
Diagnostics unused_keys(const Table& dataset, const SplitSources& sources) {
  bool texts = false, records = false;
  const auto& format = *dataset.find("format")->as<std::string>();
  for (const auto* split : {&sources.train, &sources.validation})
    for (const Source& source : *split)
      (format_of_file(source.file, format) == "text" ? texts : records) = true;
  Diagnostics warnings;
  const auto warn = [&](const KeyOfSources& key, const std::string& kind, const std::string& help) {
    if (const Value* value = written(dataset, key))
      warnings.push_back(
          {value->where,
           "'" + std::string(key.name) + "' has no effect when every source is " + kind,
           help,
           {},
           Severity::warning});
  };
  if (!texts) warn(kOfTexts, "JSON", "a record is a document");
  for (const KeyOfSources& key : kOfRecords)
    if (!records)
      warn(key, "text", "write format = \"json_lines\" or \"json\" if the sources contain records");
  return warnings;
}

const Table& dataset_table(const ResolvedRecipe& recipe) {
  return *recipe.find("dataset")->as<Table>();
}

// Of sources that become token shards, not of token shards.
bool is_raw(const ResolvedRecipe& recipe) {
  return is_made_of_text(recipe.section("dataset").type());
}

// Throws RecipeError for sources that are missing.
Diagnostics doubts_of_sources(const ResolvedRecipe& recipe, const std::string& libtorch) {
  const bool text = is_raw(recipe);
  const bool may_repeat = text && recipe.find("dataset.path")->as<Array>() != nullptr;
  if (!recipe.find("dataset.validation") && !may_repeat &&
      !(text && may_have_unused_keys(dataset_table(recipe))))
    return {};
  const SplitSources sources = find_split_sources(dataset_table(recipe), libtorch);
  Diagnostics warnings = trained_validation(sources);
  if (!text) return warnings;
  for (Diagnostic& repeated : repeated_text(sources)) warnings.push_back(std::move(repeated));
  for (Diagnostic& unused : unused_keys(dataset_table(recipe), sources))
    warnings.push_back(std::move(unused));
  return warnings;
}

// "" where it is not.
std::string written_at(const ResolvedRecipe& recipe, std::string_view path) {
  const Value* value = recipe.find(path);
  return value ? toml_text(*value) : "";
}

}  // namespace

void warn_of_sources(const Diagnostics& doubts) {
  for (const Diagnostic& warning : doubts)
    log_warning("data: " + warning.message + ": " + warning.help);
}

void warn_of_sources(const ResolvedRecipe& recipe, const std::string& libtorch) {
  warn_of_sources(doubts_of_sources(recipe, libtorch));
}

PreparedData prepare_data(const ResolvedRecipe& recipe, const std::filesystem::path& data_folder,
                          const std::string& libtorch) {
  warn_of_sources(recipe, libtorch);
  const Section dataset = recipe.section("dataset");
  if (!is_raw(recipe)) return prepare_shards(recipe, libtorch);
  require_utf8_path(std::filesystem::absolute(data_folder).string());  // before the work
  PrepareOptions options;
  options.libtorch = libtorch;
  return prepare_text(dataset, dataset_table(recipe), data_folder, options);
}

DataGlance glance_at_data(const ResolvedRecipe& recipe, const std::filesystem::path& data_folder,
                          const std::string& libtorch) {
  DataGlance glance;
  const Value& data = *recipe.find(is_raw(recipe) ? "dataset.path" : "dataset.train");
  collect_problems(glance.problems, data, [&] {
    const Section dataset = recipe.section("dataset");
    if (is_raw(recipe)) {
      TextGlance text = glance_at_text(dataset, dataset_table(recipe), data_folder, libtorch);
      glance.dataset_info = std::move(text.dataset_info);
      glance.prepared = std::move(text.prepared);
      glance.prepared_fingerprint = std::move(text.prepared_fingerprint);
      glance.train_segments = std::move(text.train_segments);
    } else {
      const PreparedData shards = find_shards(recipe, libtorch);
      glance.dataset_info = facts_of(shards);
      add_vocabulary(recipe, shards, glance.dataset_info);
    }
    glance.problems = doubts_of_sources(recipe, libtorch);
  });
  return glance;
}

std::optional<std::string> data_fingerprint(const ResolvedRecipe& recipe,
                                            const std::filesystem::path& data_folder,
                                            Reading reading, const std::string& libtorch) try {
  if (!is_raw(recipe)) return prepare_shards(recipe, libtorch).fingerprint;
  return fingerprint_of_text(recipe.section("dataset"), dataset_table(recipe), data_folder, reading,
                             libtorch);
} catch (const std::runtime_error& error) {  // Error, RecipeError
  log(LogLevel::debug, error.what());
  return std::nullopt;
}

Diagnostics missing_sources(const ResolvedRecipe& recipe, const std::string& libtorch) {
  const auto is_path = [](const Value& value) {
    return !value.is_invalid && value.as<std::string>() != nullptr;
  };
  Diagnostics problems;
  const std::string type = text_at(recipe.root(), "dataset.type").value_or("text");
  for (const auto& [key, split] : {std::pair{"dataset.path", Split::train},
                                   {"dataset.train", Split::train},
                                   {"dataset.validation", Split::validation}}) {
    const Value* paths = valid_at(recipe.root(), key);
    const Array* several = paths ? paths->as<Array>() : nullptr;
    const bool readable = paths && (several ? std::all_of(several->begin(), several->end(), is_path)
                                            : is_path(*paths));
    const WantedFiles wanted{type, split};
    if (readable)
      collect_problems(problems, *paths, [&] { find_sources(*paths, libtorch, wanted); });
  }
  return problems;
}

std::vector<std::filesystem::path> source_files(const ResolvedRecipe& recipe,
                                                const std::string& libtorch) try {
  const SplitSources sources = find_split_sources(dataset_table(recipe), libtorch);
  std::vector<std::filesystem::path> files;
  for (const auto* split : {&sources.train, &sources.validation})
    for (const Source& source : *split) files.push_back(source.file);
  return files;
} catch (const RecipeError&) {
  return {};
}

namespace {

std::string dataset_of(const ResolvedRecipe& recipe) {
  return written_at(recipe, "dataset") + '\n' + written_at(recipe, "model.vocab_size");
}

}  // namespace

const DataGlance& DatasetGlances::of(const ResolvedRecipe& recipe) {
  const std::string dataset = dataset_of(recipe);
  const auto known = seen_.find(dataset);
  if (known != seen_.end()) return known->second;
  return seen_.emplace(dataset, glance_at_data(recipe, data_folder_)).first->second;
}

const Diagnostics& DatasetGlances::evaluation_problems_of(const ResolvedRecipe& recipe) {
  const std::string asked = dataset_of(recipe) + '\n' + written_at(recipe, "evaluation");
  const auto known = evaluations_.find(asked);
  if (known != evaluations_.end()) return known->second;
  return evaluations_.emplace(asked, evaluation_file_problems(recipe, of(recipe).dataset_info))
      .first->second;
}

const std::optional<std::string>& DatasetGlances::fingerprint_of(const ResolvedRecipe& recipe,
                                                                 Reading reading) {
  const std::pair asked(written_at(recipe, "dataset"), reading);
  const auto known = fingerprints_.find(asked);
  if (known != fingerprints_.end()) return known->second;
  return fingerprints_.emplace(asked, data_fingerprint(recipe, data_folder_, reading))
      .first->second;
}

}  // namespace exprun
