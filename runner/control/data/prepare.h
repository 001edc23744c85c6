// A recipe's data, made ready before any rank starts: sources found, checked and, where they are
// raw, turned into token shards below runs/data/, once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/dataset_info.h"
#include "base/diagnostic.h"
#include "control/data/prepare_text.h"
#include "recipe/paths.h"
#include "recipe/resolved.h"
#include "text/prepared_data.h"

namespace exprun {

// Relative paths are read from the working directory. A second call with the same sources finds
// what the first one made; calls of several processes at once make it once. Throws RecipeError,
// at the key of [dataset], for a source that is missing or not what the recipe says, Error when
// `data_folder` cannot be written.
PreparedData prepare_data(const ResolvedRecipe& recipe, const std::filesystem::path& data_folder,
                          const std::string& libtorch = libtorch_folder());

// What is known of the data at first sight: of prepared data, of shards and of small sources all,
// of others the tokenizer, unless it takes the characters of a large text.
struct DataGlance {
  Diagnostics problems;  // what prepare_data would say: missing files, damaged headers; warnings
  DatasetInfo dataset_info;
  // What prepare_data would give, where these files, unchanged since, are prepared already.
  std::optional<PreparedData> prepared = {};
  // Of a text: the fingerprint of the data that these files make, where they are prepared, as far
  // as is known without reading large files.
  std::string prepared_fingerprint = {};
  // Of few examples that are not prepared yet: the words of their segments (text/examples.h).
  std::vector<uint32_t> train_segments = {};
};

// Nothing is written. For recipes whose [dataset] is sound.
DataGlance glance_at_data(const ResolvedRecipe& recipe, const std::filesystem::path& data_folder,
                          const std::string& libtorch = libtorch_folder());

// The fingerprint of what prepare_data would give. Nothing where sources are missing or cannot be
// read; with Reading::little, where large texts would have to be read for it, which may take
// minutes, once: they are known until they change.
std::optional<std::string> data_fingerprint(const ResolvedRecipe& recipe,
                                            const std::filesystem::path& data_folder,
                                            Reading reading,
                                            const std::string& libtorch = libtorch_folder());

// Says the warnings of a glance, as prepare_data does at its start.
void warn_of_sources(const Diagnostics& doubts);

// The same without a glance: where a file is read into both splits, and which keys are about no
// source. Throws RecipeError.
void warn_of_sources(const ResolvedRecipe& recipe, const std::string& libtorch = libtorch_folder());

// Of a recipe whose [dataset] has other mistakes: the sources that its keys name and that are
// missing, at their places.
Diagnostics missing_sources(const ResolvedRecipe& recipe,
                            const std::string& libtorch = libtorch_folder());

// The files of data that a recipe names, of both splits; none where one is missing.
std::vector<std::filesystem::path> source_files(const ResolvedRecipe& recipe,
                                                const std::string& libtorch = libtorch_folder());

// What is known of the data of many recipes: each dataset is looked at once, and the files of the
// same evaluations with it.
class DatasetGlances {
 public:
  explicit DatasetGlances(std::filesystem::path data_folder)
      : data_folder_(std::move(data_folder)) {}

  const DataGlance& of(const ResolvedRecipe& recipe);

  // evaluation_file_problems() beside the data that of() knows.
  const Diagnostics& evaluation_problems_of(const ResolvedRecipe& recipe);

  // data_fingerprint().
  const std::optional<std::string>& fingerprint_of(const ResolvedRecipe& recipe, Reading reading);

 private:
  std::filesystem::path data_folder_;
  std::map<std::string, DataGlance> seen_;          // by [dataset] and the vocabulary of the model
  std::map<std::string, Diagnostics> evaluations_;  // by that and [evaluation]
  std::map<std::pair<std::string, Reading>, std::optional<std::string>>
      fingerprints_;  // by [dataset]
};

}  // namespace exprun
