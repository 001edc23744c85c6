// Raw sources (text, JSON Lines, JSON, packed or not): tokenized and split once into token shards.
// Killed at any moment it leaves no data folder, and goes on where it was when called again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/dataset_info.h"
#include "recipe/section.h"
#include "recipe/value.h"
#include "text/prepared_data.h"

namespace exprun {

struct PrepareOptions {
  std::string libtorch;          // for ${libtorch} in paths
  size_t threads = 0;            // 0: as many as there are cores
  double save_seconds = 10;      // how often the place to go on from is made durable
  std::filesystem::path folder;  // the data's own; empty: data_folder / its fingerprint
};

// `dataset` is the table of a resolved recipe, and `table` the same with places. Throws
// RecipeError, Error.
PreparedData prepare_text(const Section& dataset, const Table& table,
                          const std::filesystem::path& data_folder, const PrepareOptions& options);

// What is known before: of data that are there and of small sources all, else the tokenizer's,
// unless it takes the characters of a large text.
struct TextGlance {
  DatasetInfo dataset_info = {};
  std::optional<PreparedData> prepared = {};  // from these files, which have not changed since
  std::string prepared_fingerprint = {};      // as that of DataGlance
  std::vector<uint32_t> train_segments = {};  // as that of DataGlance
};

// Throws RecipeError for what shows at first sight: options, missing files, the vocabulary.
TextGlance glance_at_text(const Section& dataset, const Table& table,
                          const std::filesystem::path& data_folder, const std::string& libtorch);

// How much is read to know what data are.
enum class Reading { little, all };

// Of what prepare_text would give; nothing where large texts that are not known yet would have to
// be read for it. Having read them, it leaves word in `data_folder`. Throws RecipeError, Error.
std::optional<std::string> fingerprint_of_text(const Section& dataset, const Table& table,
                                               const std::filesystem::path& data_folder,
                                               Reading reading, const std::string& libtorch);

}  // namespace exprun
