#include "text/token_ids.h"

#include <utility>

#include "base/utf8.h"

namespace exprun {
namespace {

constexpr uint64_t kMostTokens = 1 << 24;

}  // namespace

TokenIds::TokenIds(BpeVocabulary& vocabulary, std::filesystem::path file)
    : vocabulary_(vocabulary), file_(std::move(file)) {}

Error TokenIds::error(const std::string& problem) const {
  return Error("tokenizer: '" + file_.string() + "' " + problem +
               "; fetch it again, or give another vocabulary");
}

void TokenIds::add(std::string bytes, uint64_t id) {
  if (id >= kMostTokens) throw error("has the id " + std::to_string(id) + ", at most 2^24 fit");
  if (bytes.empty()) throw error("has a token of no bytes, id " + std::to_string(id));
  auto& tokens = vocabulary_.tokens;
  if (id >= tokens.size()) tokens.resize(id + 1);
  if (!tokens[id].empty()) throw error("has the id " + std::to_string(id) + " twice");
  if (!ids_.emplace(bytes, static_cast<uint32_t>(id)).second)
    throw error("has the token '" + to_valid_utf8(bytes) + "' twice");
  tokens[id] = std::move(bytes);
}

void TokenIds::add_merge(const std::string& left, const std::string& right) {
  const uint32_t* a = find(left);
  const uint32_t* b = find(right);
  const uint32_t* both = find(left + right);
  const auto rank = static_cast<uint32_t>(vocabulary_.merges.size());
  if (!a || !b || !both)
    throw error("merges '" + to_valid_utf8(left) + "' with '" + to_valid_utf8(right) +
                "', but not all three have an id");
  vocabulary_.merges.push_back({*a, *b, *both, rank});
}

const uint32_t* TokenIds::find(const std::string& bytes) const {
  const auto found = ids_.find(bytes);
  return found == ids_.end() ? nullptr : &found->second;
}

}  // namespace exprun
