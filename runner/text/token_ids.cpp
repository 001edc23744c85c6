#include "text/token_ids.h"

#include <utility>

#include "base/utf8.h"

namespace exprun {
namespace {

constexpr uint64_t kMostTokens = 1 << 24;
constexpr uint32_t kFree = UINT32_MAX;           // an id that none has
constexpr size_t kFirstSlots = size_t{1} << 17;  // GPT-2's tokens without growing

uint64_t hash_of(std::string_view bytes) {
  return std::hash<std::string_view>()(bytes);
}

uint32_t mark_of(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 32);
}

}  // namespace

TokenIds::TokenIds(BpeVocabulary& vocabulary, std::filesystem::path file)
    : vocabulary_(vocabulary), file_(std::move(file)), slots_(kFirstSlots, {0, kFree}) {}

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
  if (2 * ++used_ > slots_.size()) grow();
  const uint64_t hash = hash_of(bytes);
  Slot& slot = slots_[slot_of(bytes, hash)];
  if (slot.id != kFree) throw error("has the token '" + to_valid_utf8(bytes) + "' twice");
  slot = {mark_of(hash), static_cast<uint32_t>(id)};
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
  const uint32_t id = slots_[slot_of(bytes, hash_of(bytes))].id;
  return id == kFree ? std::nullopt : std::optional(id);
}

size_t TokenIds::slot_of(std::string_view bytes, uint64_t hash) const {
  for (size_t place = hash;; ++place) {
    const size_t at = place & (slots_.size() - 1);
    const Slot& slot = slots_[at];
    if (slot.id == kFree || (slot.mark == mark_of(hash) && vocabulary_.tokens[slot.id] == bytes))
      return at;
  }
}

void TokenIds::grow() {
  const auto old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size(), {0, kFree}));
  for (const Slot& slot : old)
    if (slot.id != kFree) {
      const std::string& bytes = vocabulary_.tokens[slot.id];
      slots_[slot_of(bytes, hash_of(bytes))] = slot;
    }
}

}  // namespace exprun
