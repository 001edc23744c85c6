#include "text/token_ids.h"

#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "base/utf8.h"

namespace exprun {
namespace {

constexpr uint32_t kFree = UINT32_MAX;           // an id that none has
constexpr size_t kFirstSlots = size_t{1} << 17;  // GPT-2's tokens without growing

constexpr size_t kShort = 7;                      // bytes of a key that is the token
constexpr uint64_t kLong = uint64_t{0xff} << 56;  // marks a key that is a hash

uint64_t key_of(std::string_view bytes) {
  if (bytes.size() > kShort) return std::hash<std::string_view>()(bytes) | kLong;
  uint64_t key = 0;
  std::memcpy(&key, bytes.data(), bytes.size());
  return key | uint64_t{bytes.size()} << 56;
}

}  // namespace

TokenIds::TokenIds(BpeVocabulary& vocabulary, std::filesystem::path file)
    : vocabulary_(vocabulary), file_(std::move(file)), slots_(kFirstSlots, {0, kFree}) {}

Error TokenIds::error(const std::string& problem) const {
  return Error("tokenizer: '" + file_.string() + "' " + problem +
               "; fetch it again, or give another vocabulary");
}

std::string& TokenIds::bytes_of(uint64_t id, const std::string& bytes) {
  if (id >= kMostTokens) throw error("has the id " + std::to_string(id) + ", ids below 2^24 fit");
  if (bytes.empty()) throw error("has a token of no bytes, id " + std::to_string(id));
  auto& tokens = vocabulary_.tokens;
  if (id >= tokens.size()) tokens.resize(id + 1);
  if (!tokens[id].empty()) throw error("has the id " + std::to_string(id) + " twice");
  return tokens[id];
}

void TokenIds::add_apart(std::string bytes, uint64_t id) {
  bytes_of(id, bytes) = std::move(bytes);
}

void TokenIds::add(std::string bytes, uint64_t id) {
  std::string& place = bytes_of(id, bytes);
  if (2 * ++used_ > slots_.size()) grow();
  const uint64_t key = key_of(bytes);
  Slot& slot = slots_[slot_of(bytes, key)];
  if (slot.id != kFree) throw error("has the token '" + to_valid_utf8(bytes) + "' twice");
  slot = {key, static_cast<uint32_t>(id)};
  place = std::move(bytes);
}

void TokenIds::add_merge(std::string_view left, std::string_view right) {
  const auto a = find(left), b = find(right), both = find_merged(left, right);
  const auto rank = static_cast<uint32_t>(vocabulary_.merges.size());
  if (!a || !b || !both)
    throw error("merges '" + to_valid_utf8(left) + "' with '" + to_valid_utf8(right) +
                "', but not all three have an id");
  vocabulary_.merges.push_back({*a, *b, *both, rank});
}

// Vocabularies number their tokens as the merges make them, nearly all.
std::optional<uint32_t> TokenIds::find_merged(std::string_view left, std::string_view right) const {
  const auto& merges = vocabulary_.merges;
  const size_t next = merges.empty() ? 0 : size_t{merges.back().merged} + 1;
  if (next < vocabulary_.tokens.size()) {
    const std::string_view token = vocabulary_.tokens[next];
    if (token.size() == left.size() + right.size() && token.starts_with(left) &&
        token.ends_with(right))
      return static_cast<uint32_t>(next);
  }
  return find(std::string(left).append(right));
}

std::optional<uint32_t> TokenIds::find(std::string_view bytes) const {
  const uint32_t id = slots_[slot_of(bytes, key_of(bytes))].id;
  return id == kFree ? std::nullopt : std::optional(id);
}

size_t TokenIds::slot_of(std::string_view bytes, uint64_t key) const {
  const int shift = 64 - std::countr_zero(slots_.size());
  for (size_t place = (key * 0x9e3779b97f4a7c15) >> shift;; ++place) {
    const size_t at = place & (slots_.size() - 1);
    const Slot& slot = slots_[at];
    if (slot.id == kFree) return at;
    if (slot.key == key && (key < kLong || vocabulary_.tokens[slot.id] == bytes)) return at;
  }
}

void TokenIds::grow() {
  const auto old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size(), {0, kFree}));
  for (const Slot& slot : old)
    if (slot.id != kFree) slots_[slot_of(vocabulary_.tokens[slot.id], slot.key)] = slot;
}

}  // namespace exprun
