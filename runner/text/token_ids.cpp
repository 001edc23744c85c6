#include "text/token_ids.h"

#include <utility>

#include "base/utf8.h"

namespace exprun {
namespace {

constexpr uint64_t kMostTokens = 1 << 24;
constexpr uint32_t kFree = UINT32_MAX;
constexpr size_t kFirstSlots = size_t{1} << 17;  // GPT-2's tokens without growing

}  // namespace

TokenIds::TokenIds(BpeVocabulary& vocabulary, std::filesystem::path file)
    : vocabulary_(vocabulary), file_(std::move(file)), slots_(kFirstSlots, kFree) {}

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
  if (find(bytes)) throw error("has the token '" + to_valid_utf8(bytes) + "' twice");
  if (2 * ++used_ > slots_.size()) grow();
  slots_[slot_of(bytes)] = static_cast<uint32_t>(id);
  tokens[id] = std::move(bytes);
}

void TokenIds::add_merge(std::string_view left, std::string_view right) {
  const auto a = find(left), b = find(right), both = find(std::string(left).append(right));
  const auto rank = static_cast<uint32_t>(vocabulary_.merges.size());
  if (!a || !b || !both)
    throw error("merges '" + to_valid_utf8(left) + "' with '" + to_valid_utf8(right) +
                "', but not all three have an id");
  vocabulary_.merges.push_back({*a, *b, *both, rank});
}

std::optional<uint32_t> TokenIds::find(std::string_view bytes) const {
  const uint32_t id = slots_[slot_of(bytes)];
  return id == kFree ? std::nullopt : std::optional(id);
}

size_t TokenIds::slot_of(std::string_view bytes) const {
  size_t slot = std::hash<std::string_view>()(bytes) & (slots_.size() - 1);
  while (slots_[slot] != kFree && vocabulary_.tokens[slots_[slot]] != bytes)
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void TokenIds::grow() {
  const auto old = std::exchange(slots_, std::vector<uint32_t>(2 * slots_.size(), kFree));
  for (const uint32_t id : old)
    if (id != kFree) slots_[slot_of(vocabulary_.tokens[id])] = id;
}

}  // namespace exprun
