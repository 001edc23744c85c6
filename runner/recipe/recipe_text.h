// What a run was asked to do, as text: the recipe, its parents and the overrides. It is stored with
// the run and handed to every rank, which resolves it again with the same code.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "recipe/value.h"

namespace exprun {

struct RecipeText {
  // The recipe first, then its parents by `extends`, nearest first. Names are as the user would
  // write them from the working directory.
  std::vector<std::shared_ptr<const SourceFile>> files;
  std::vector<std::string> overrides;  // "optimizer.lr=1e-3", in the order given

  // The first of the overrides were stored with a run, the next are what a command adds for its
  // options, and the last what it has found out, such as which checkpoint init_from means. The user
  // typed the rest, and counts only those.
  size_t stored = 0, implied = 0, found_out = 0;
  // So many of the rest stand on one command line, where a key is hardly meant to be given twice.
  size_t typed = 0;

  // These keep the numbers right. Of what was typed, implied or found out before, the new comes
  // last.
  void type(const std::vector<std::string>& words);
  void imply(const std::string& change);
  void find_out(const std::string& change);
  void erase_override(size_t index);
  // A run has been stored with all of them.
  void mark_as_stored();
  // The files alone, which a pipe gives only once.
  RecipeText without_overrides() const;

  bool is_typed(size_t index) const;  // on one command line with the others that are
  size_t first_found_out() const;     // the number of overrides where nothing was found out

  // An override as a text of its own: "<override 2>" is the second one that the user typed.
  std::shared_ptr<const SourceFile> override_source(size_t index) const;
  // All texts that a diagnostic may point into: the files, then the overrides.
  std::vector<std::shared_ptr<const SourceFile>> sources() const;

  std::string to_json() const;
  static RecipeText from_json(const std::string& json);  // throws Error
};

// "<override 2>": the typed override with this number, from 1, as a text of its own.
std::shared_ptr<const SourceFile> override_file(size_t number, const std::string& text);

// Its extension says that it is no recipe: "notes.txt", "mine.yaml".
bool is_named_as_another_kind(const std::filesystem::path& file);

// Reads the recipe and its parents. Throws RecipeError (a missing file, a folder, a cycle, too
// deep, a file that is not TOML, an `extends` that cannot be read: all with their place).
RecipeText read_recipe(const std::filesystem::path& file,
                       const std::vector<std::string>& overrides);

// The version of the language. Within a version no default changes and no key loses its meaning.
inline constexpr int64_t kRecipeVersion = 1;

// A file as a tree: parsed, `extends` and `version` taken out, not yet merged.
struct LoadedFile {
  Table root;                // without the keys `extends` and `version`
  SourceSpan extends_where;  // of its value; no place if the file has no parent
  std::string extends;       // as written; empty if the file has no parent
};

// Nothing, and the reason in `diagnostics`, if the file is no TOML or its `extends` no text. A
// version that is not ours is reported, and the rest read all the same.
std::optional<LoadedFile> load_file(const std::shared_ptr<const SourceFile>& file,
                                    Diagnostics& diagnostics);

}  // namespace exprun
