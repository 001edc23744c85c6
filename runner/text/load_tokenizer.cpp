#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/utf8.h"
#include "text/bpe_tokenizer.h"
#include "text/char_tokenizer.h"
#include "text/tokenizer.h"

namespace exprun {
namespace {

using nlohmann::json;

char32_t only_character(const std::string& text) {
  const std::vector<CodePoint> points = code_points(text);
  if (points.size() == 1 && points[0].valid) return points[0].value;
  throw Error("tokenizer: '" + to_valid_utf8(text) +
              "' in its table is not one character; prepare the data again");
}

std::u32string read_table(const json& table) {
  std::u32string characters;
  for (const json& entry : table) characters += only_character(entry.get<std::string>());
  return characters;
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const json& description) try {
  const auto type = description.at("type").get<std::string>();
  if (type == "byte") return make_byte_tokenizer();
  if (type == "char") return make_char_tokenizer(read_table(description.at("table")));
  if (type == "bpe") return load_bpe_tokenizer(description.at("vocabulary").get<std::string>());
  throw Error("tokenizer: type '" + type + "' is unknown; there are byte, char and bpe");
} catch (const json::exception&) {
  throw Error("tokenizer: its description is damaged; prepare the data again");
}

}  // namespace exprun
