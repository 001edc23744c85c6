#include "control/data/corpus.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/utf8.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

size_t line_of(std::string_view text, size_t byte) {
  return 1 + static_cast<size_t>(std::count(text.begin(), text.begin() + byte, '\n'));
}

// At the key `tokenizer`: bytes would do where characters cannot.
void check_utf8(const ResolvedRecipe& recipe, const fs::path& file, std::string_view text) {
  const auto byte = first_invalid_byte(text);
  if (!byte) return;
  throw recipe.section("dataset").error("tokenizer",
                                        "'" + file.string() + "' is not UTF-8: byte " +
                                            std::to_string(*byte) + ", in line " +
                                            std::to_string(line_of(text, *byte)),
                                        "write tokenizer = \"byte\", or convert the file");
}

}  // namespace

std::vector<Source> find_text(const ResolvedRecipe& recipe, const std::string& libtorch) {
  return find_sources(*recipe.find("dataset.path"), libtorch);
}

std::string read_text(const ResolvedRecipe& recipe, const std::vector<Source>& sources) {
  const bool characters = recipe.section("dataset").get<std::string>("tokenizer") == "char";
  std::string text;
  for (const Source& source : sources) try {
      const std::string content = read_file(source.file);
      if (characters) check_utf8(recipe, source.file, content);
      text += content;
    } catch (const Error& error) {
      throw RecipeError(source.where, error.what());
    }
  return text;
}

}  // namespace exprun
