#include "text/prepared_data.h"

#include <algorithm>
#include <span>
#include <type_traits>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/utf8.h"
#include "text/examples.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json shards_to_json(const std::vector<TokenShard>& shards) {
  json list = json::array();
  for (const TokenShard& shard : shards) {
    list.push_back({{"path", shard.path},
                    {"tokens", shard.tokens},
                    {"first_byte", shard.first_byte},
                    {"token_bytes", shard.token_bytes}});
    if (!shard.content.empty()) list.back()["content"] = shard.content;
  }
  return list;
}

std::vector<TokenShard> shards_from_json(const json& list) {
  std::vector<TokenShard> shards;
  for (const json& shard : list)
    shards.push_back({shard.at("path").get<std::string>(), shard.at("tokens").get<int64_t>(),
                      shard.at("first_byte").get<int64_t>(), shard.value("token_bytes", int64_t{2}),
                      shard.value("content", "")});
  return shards;
}

template <class Data>
void for_each_path(Data& data, const auto& visit) {
  for (auto* split :
       {&data.train, &data.validation, &data.train_segments, &data.validation_segments})
    for (auto& shard : *split) visit(shard.path);
  using Text = std::conditional_t<std::is_const_v<Data>, const std::string, std::string>;
  if (data.tokenizer.contains("vocabulary"))
    visit(data.tokenizer["vocabulary"].template get_ref<Text&>());
}

// Of what lay below `then`.
fs::path path_now(const fs::path& path, const fs::path& then, const fs::path& now) {
  std::error_code error;
  const fs::path below = path.lexically_relative(then);
  const bool lay_there = !then.empty() && !below.empty() && *below.begin() != "..";
  return lay_there && !fs::exists(path, error) ? now / below : path;
}

}  // namespace

void require_utf8_path(const std::string& path) {
  if (first_invalid_byte(path))
    throw Error("data: the path '" + path +
                "' is not UTF-8, so a run cannot record it; rename the file or its folder");
}

std::string PreparedData::to_json(NotUtf8 bytes) const {
  if (bytes == NotUtf8::throws) for_each_path(*this, require_utf8_path);
  json data = {{"fingerprint", fingerprint},
               {"tokenizer", tokenizer},
               {"train", shards_to_json(train)},
               {"validation", shards_to_json(validation)}};
  if (!train_segments.empty()) {
    data["train_segments"] = shards_to_json(train_segments);
    data["validation_segments"] = shards_to_json(validation_segments);
  }
  data["vocab_size"] = vocab_size ? json(*vocab_size) : json();
  if (described_vocab_size) data["described_vocab_size"] = *described_vocab_size;
  if (!store.empty()) data["store"] = store;
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
  if (data.contains("described_vocab_size"))
    prepared.described_vocab_size = data["described_vocab_size"].get<int64_t>();
  prepared.train = shards_from_json(data.at("train"));
  prepared.validation = shards_from_json(data.at("validation"));
  if (data.contains("train_segments")) {
    prepared.train_segments = shards_from_json(data["train_segments"]);
    prepared.validation_segments = shards_from_json(data.at("validation_segments"));
  }
  prepared.store = data.value("store", "");
  prepared.made_from = data.value("made_from", json());
  return prepared;
} catch (const json::exception& error) {
  throw Error("prepared data: " + (file.empty() ? "its description" : "'" + file + "'") +
              " is damaged (" + json_problem(error) + "); " + remedy);
}

PreparedData PreparedData::load(const fs::path& file, const std::string& remedy) {
  PreparedData data = from_json(read_file(file), file.string(), remedy);
  const fs::path folder = fs::absolute(file).parent_path();
  for_each_path(data, [&](std::string& path) {
    path = path_now(folder / path, data.store, folder.parent_path()).string();
  });
  return data;
}

namespace {

// Of a character tokenizer, whose table they are.
std::optional<std::u32string> characters_of(const nlohmann::json& tokenizer) {
  if (!tokenizer.is_object() || tokenizer.value("type", "") != "char") return std::nullopt;
  std::u32string characters;
  for (const nlohmann::json& character : tokenizer.at("table"))
    characters += first_code_point(character.get_ref<const std::string&>()).value;
  return characters;
}

}  // namespace

namespace {

// Nothing where the files are gone.
std::vector<uint32_t> segment_words(const std::vector<TokenShard>& segments) try {
  return read_segment_words(segments);
} catch (const Error& error) {
  log(LogLevel::debug, error.what());
  return {};
}

}  // namespace

// How many tokens of examples are trained on depends on the length of sequences.
DatasetInfo facts_of(const PreparedData& data) {
  DatasetInfo facts{data.vocab_size, token_count(data.train), token_count(data.validation),
                    characters_of(data.tokenizer)};
  if (data.train_segments.empty()) return facts;
  facts.train_tokens.reset();
  if (facts.validation_tokens > 0) facts.validation_tokens.reset();
  add_examples(facts, segment_words(data.train_segments), segment_words(data.validation_segments));
  return facts;
}

DatasetInfo facts_of(const Tokenizer& tokenizer) {
  return {tokenizer.vocab_size(), {}, {}, characters_of(tokenizer.to_json())};
}

namespace {

constexpr size_t kSamples = 64;
constexpr size_t kSampleBytes = 4096;

}  // namespace

std::string sampled_hash(const TokenShard& shard) {
  const MappedFile file(shard.path);
  const std::span<const std::byte> bytes = file.bytes();
  Hasher hasher;
  hasher.update(std::to_string(bytes.size()));
  if (bytes.size() <= kSamples * kSampleBytes) {
    hasher.update(bytes.data(), bytes.size());
    return hasher.hex();
  }
  const size_t last = bytes.size() - kSampleBytes;
  for (size_t i = 0; i < kSamples; ++i) {
    const size_t begin = last / (kSamples - 1) * i;
    hasher.update(bytes.data() + (i + 1 == kSamples ? last : begin), kSampleBytes);
  }
  return hasher.hex();
}

}  // namespace exprun
