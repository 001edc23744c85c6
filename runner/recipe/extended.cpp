#include "recipe/extended.h"

#include "recipe/load.h"
#include "recipe/merge.h"
#include "recipe/renamed.h"

namespace exprun {

Extended extend_files(const RecipeText& text, const SchemaSet& schemas) {
  Extended extended;
  std::vector<LoadedFile> files;
  for (const auto& file : text.files) {
    auto loaded = load_file(file, extended.diagnostics);
    if (!loaded) throw RecipeError(extended.diagnostics);
    if (text.begun_with) take_new_names(schemas, loaded->root);
    files.push_back(std::move(*loaded));
  }
  extended.extended_from.push_back({});
  for (const LoadedFile& file : files) extended.extended_from.push_back(file.extends_where);
  for (auto file = files.rbegin(); file != files.rend(); ++file)
    merge(schemas, extended.root, std::move(file->root), extended.diagnostics);
  if (!extended.root.where) extended.root.where.file = text.files.front();
  return extended;
}

void add_chains(const RecipeText& text, const Extended& extended, Diagnostics& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics)
    for (size_t i = 1; i < text.files.size(); ++i)
      if (diagnostic.where.file == text.files[i] && diagnostic.also.empty())
        for (size_t child = i; child >= 1; --child)
          diagnostic.also.push_back(extended.extended_from[child]);
}

}  // namespace exprun
