// What a run was asked to do, as text: the recipe, its parents and the overrides. It is stored with
// the run and handed to every rank, which resolves it again with the same code.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/source_file.h"

namespace exprun {

struct RecipeText {
  // The recipe first, then its parents by `extends`, nearest first. Names are as the user would
  // write them from the working directory.
  std::vector<std::shared_ptr<const SourceFile>> files;
  std::vector<std::string> overrides;  // "optimizer.lr=1e-3", in the order given
  // The overrides that an earlier run was begun with, whose stored recipe this is with changes or
  // none; nothing for a new recipe. Keys may have the names of its time, and values be refused
  // since.
  std::optional<std::vector<std::string>> begun_with = std::nullopt;

  // Whether an override is one that an earlier run was begun with.
  bool is_old(const std::string& override_) const;

  // All texts that a diagnostic may point into: the files, and each override as one of its own.
  std::vector<std::shared_ptr<const SourceFile>> sources() const;

  std::string to_json() const;
  static RecipeText from_json(const std::string& json);  // throws Error
};

// "<override 2>": the override with this number, from 1, as a text of its own.
std::shared_ptr<const SourceFile> override_file(size_t number, const std::string& text);

// Reads the recipe and its parents. Throws RecipeError (a missing file, a folder, a cycle, too
// deep, a file that is not TOML, an `extends` that cannot be read: all with their place).
RecipeText read_recipe(const std::filesystem::path& file, std::vector<std::string> overrides);

}  // namespace exprun
