#include "text/vocabulary_cache.h"

#include <bit>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/diagnostic.h"
#include "base/hash.h"
#include "base/program.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kHashSize = 32;

// An entry: the hash of all that follows, sizes, slots, ends of tokens, merged tokens, bytes of
// tokens, rules.
struct Sizes {
  uint64_t slots, merged, tokens, token_bytes, rules_bytes;
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// CBOR: the texts of tokens need not be UTF-8.
std::string packed(const BpeRules& rules) {
  json added = json::array();
  for (const AddedToken& token : rules.added)
    added.push_back({token.text, token.id, token.special, token.normalized});
  const json end_of_text = rules.end_of_text ? json(*rules.end_of_text) : json();
  std::string bytes;
  json::to_cbor({rules.byte_tokens, rules.special, added, rules.beside_model, end_of_text,
                 rules.patterns, rules.whole_words},
                bytes);
  return bytes;
}

BpeRules unpacked_rules(std::string_view bytes) {
  const json all = json::from_cbor(bytes);
  BpeRules rules;
  all.at(0).get_to(rules.byte_tokens);
  all.at(1).get_to(rules.special);
  for (const json& token : all.at(2))
    rules.added.push_back({token.at(0), token.at(1), token.at(2), token.at(3)});
  all.at(3).get_to(rules.beside_model);
  if (!all.at(4).is_null()) rules.end_of_text = all.at(4).get<uint32_t>();
  all.at(5).get_to(rules.patterns);
  all.at(6).get_to(rules.whole_words);
  return rules;
}

template <class Values>
void append(std::string& bytes, const Values& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

std::string packed(const BpeTables& tables) {
  const std::string rules = packed(static_cast<const BpeRules&>(tables));
  const std::string_view bytes = tables.tokens.bytes();
  const Sizes sizes{tables.merges.slots().size(), tables.merges.merged().size(),
                    tables.tokens.size(), bytes.size(), rules.size()};
  std::string all;
  append(all, std::span(&sizes, 1));
  append(all, tables.merges.slots());
  append(all, tables.tokens.ends());
  append(all, tables.merges.merged());
  return all.append(bytes).append(rules);
}

// Takes the first `count` values off; they lie where a multiple of 8 is, if tables of smaller
// values come behind those of larger ones.
template <class Value>
std::span<const Value> take(std::span<const std::byte>& bytes, uint64_t count) {
  if (count > bytes.size() / sizeof(Value)) throw Error("a table is larger than its file");
  const std::span values(reinterpret_cast<const Value*>(bytes.data()), count);
  bytes = bytes.subspan(values.size_bytes());
  return values;
}

BpeTables unpacked(std::span<const std::byte> bytes) {
  const std::string_view hash = text_of(take<std::byte>(bytes, kHashSize));
  if (hash != hash_hex(text_of(bytes))) throw Error("is damaged");
  const Sizes sizes = take<Sizes>(bytes, 1)[0];
  if (sizes.slots < 2 || !std::has_single_bit(sizes.slots)) throw Error("has no table of merges");
  const auto slots = take<MergeTable::Slot>(bytes, sizes.slots);
  const auto ends = take<uint64_t>(bytes, sizes.tokens);
  const auto merged = take<uint32_t>(bytes, sizes.merged);
  const auto tokens = text_of(take<std::byte>(bytes, sizes.token_bytes));
  if (bytes.size() != sizes.rules_bytes) throw Error("has another size than its tables");
  return {unpacked_rules(text_of(bytes)), TokenTable(ends, tokens), MergeTable(slots, merged), {}};
}

// What is in files, and how they are read.
std::string content_of(const std::vector<fs::path>& files) try {
  std::string content;
  for (const fs::path& file : files) content += hash_file_hex(file) + file.extension().string();
  return content;
} catch (const Error&) {  // told when it is read
  return "";
}

}  // namespace

VocabularyCache::VocabularyCache(std::vector<fs::path> files)
    : files_(std::move(files)), content_(content_of(files_)) {
  const auto folder = cache_folder();
  const std::string build = own_build();
  if (folder && !content_.empty() && !build.empty())
    file_ = *folder / "vocabularies" / hash_hex(build + content_);
}

std::optional<BpeTables> VocabularyCache::find() const try {
  MappedFile file(file_);
  BpeTables tables = unpacked(file.bytes());
  tables.file.emplace(std::move(file));
  mark_used(file_);
  return tables;
} catch (const std::exception&) {  // none, or damaged
  return std::nullopt;
}

void VocabularyCache::keep(const BpeTables& tables) const try {
  if (file_.empty() || content_of(files_) != content_) return;
  const std::string all = packed(tables);
  fs::create_directories(file_.parent_path());
  write_file_atomically(file_, hash_hex(all) + all);
  remove_unused(file_.parent_path());
} catch (const std::exception&) {
  // The next one reads them again.
}

}  // namespace exprun
