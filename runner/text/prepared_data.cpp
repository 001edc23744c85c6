#include "text/prepared_data.h"

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/utf8.h"

namespace exprun {
namespace {

using nlohmann::json;

json shards_to_json(const std::vector<TokenShard>& shards) {
  json list = json::array();
  for (const TokenShard& shard : shards)
    list.push_back({{"path", shard.path},
                    {"tokens", shard.tokens},
                    {"first_byte", shard.first_byte},
                    {"token_bytes", shard.token_bytes}});
  return list;
}

std::vector<TokenShard> shards_from_json(const json& list) {
  std::vector<TokenShard> shards;
  for (const json& shard : list)
    shards.push_back({shard.at("path").get<std::string>(), shard.at("tokens").get<int64_t>(),
                      shard.at("first_byte").get<int64_t>(),
                      shard.value("token_bytes", int64_t{2})});
  return shards;
}

void require_paths(const PreparedData& data) {
  for (const auto* split : {&data.train, &data.validation})
    for (const TokenShard& shard : *split) require_utf8_path(shard.path);
  if (data.tokenizer.contains("vocabulary"))
    require_utf8_path(data.tokenizer["vocabulary"].get<std::string>());
}

}  // namespace

void require_utf8_path(const std::string& path) {
  if (first_invalid_byte(path))
    throw Error(
        "data: the path '" + path +
        "' is not UTF-8, so that a run cannot write it down; rename it, or what it lies in");
}

std::string PreparedData::to_json(NotUtf8 bytes) const {
  if (bytes == NotUtf8::throws) require_paths(*this);
  json data = {{"fingerprint", fingerprint},
               {"tokenizer", tokenizer},
               {"train", shards_to_json(train)},
               {"validation", shards_to_json(validation)}};
  data["vocab_size"] = vocab_size ? json(*vocab_size) : json();
  if (!made_from.is_null()) data["made_from"] = made_from;
  return json_text(data, 2, bytes) + "\n";
}

PreparedData PreparedData::from_json(const std::string& text, const std::string& file,
                                     const std::string& remedy) try {
  const json data = parse_json<json>(text);
  PreparedData prepared;
  data.at("fingerprint").get_to(prepared.fingerprint);
  prepared.tokenizer = data.at("tokenizer");
  if (const json& of = prepared.tokenizer; of.contains("vocabulary"))
    of["vocabulary"].get_ref<const std::string&>();  // throws for anything else
  if (!data.at("vocab_size").is_null()) prepared.vocab_size = data["vocab_size"].get<int64_t>();
  prepared.train = shards_from_json(data.at("train"));
  prepared.validation = shards_from_json(data.at("validation"));
  prepared.made_from = data.value("made_from", json());
  return prepared;
} catch (const json::exception& error) {
  throw Error("prepared data: " + (file.empty() ? "its description" : "'" + file + "'") +
              " is damaged (" + json_problem(error) + "); " + remedy);
}

}  // namespace exprun
