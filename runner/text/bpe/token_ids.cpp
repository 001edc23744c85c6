#include "text/bpe/token_ids.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"

namespace exprun {
namespace {

constexpr uint32_t kFree = UINT32_MAX;  // an id that none has
constexpr size_t kBlock = 32;           // look-ups that memory answers at once

constexpr size_t kShort = 7;                      // bytes of a key that is the token
constexpr uint64_t kLong = uint64_t{0xff} << 56;  // marks a key that is a hash

template <class Part>
uint64_t part_of(std::string_view bytes, size_t at) {
  Part part;
  std::memcpy(&part, bytes.data() + at, sizeof part);
  return uint64_t{part} << (8 * at);
}

// Short bytes in parts that overlap: to copy a number of bytes that only run time knows is slow.
uint64_t key_of(std::string_view bytes) {
  const size_t size = bytes.size();
  if (size > kShort) return std::hash<std::string_view>()(bytes) | kLong;
  const uint64_t tag = uint64_t{size} << 56;
  if (size >= 4) return tag | part_of<uint32_t>(bytes, 0) | part_of<uint32_t>(bytes, size - 4);
  if (size == 0) return tag;
  return tag | part_of<uint8_t>(bytes, 0) | part_of<uint8_t>(bytes, size / 2) |
         part_of<uint8_t>(bytes, size - 1);
}

constexpr const char* kRemedy = "; fetch the file again, or use another vocabulary";

Error error_of(const std::filesystem::path& file, const std::string& problem) {
  return Error("tokenizer: '" + file.string() + "' " + problem + kRemedy);
}

}  // namespace

TokenIds::TokenIds(BpeVocabulary& vocabulary, std::filesystem::path file)
    : vocabulary_(vocabulary), file_(std::move(file)), slots_(2, {0, kFree}) {}

Error TokenIds::error(const std::string& problem) const {
  return error_of(file_, problem);
}

Error TokenIds::error_in_line(size_t number) const {
  return Error("tokenizer: line " + std::to_string(number) + " of '" + file_.string() +
               "' is invalid" + kRemedy);
}

void TokenIds::add(std::string_view bytes, uint64_t id) {
  if (id >= kMostTokens)
    throw error("has the id " + std::to_string(id) + ", but ids must be below 2^21");
  if (bytes.empty()) throw error("has an empty token, id " + std::to_string(id));
  auto& tokens = vocabulary_.tokens;
  ++added_;
  if (id == tokens.size()) {
    tokens.emplace_back(bytes);
    return;
  }
  if (id > tokens.size()) tokens.resize(id + 1);
  if (!tokens[id].empty()) throw error("has the id " + std::to_string(id) + " twice");
  tokens[id] = bytes;
}

void TokenIds::index() {
  const auto& tokens = vocabulary_.tokens;
  slots_.assign(std::bit_ceil(2 * std::max<size_t>(added_, 1)), {0, kFree});
  std::array<uint64_t, kBlock> keys;
  for (size_t begin = 0; begin < tokens.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, tokens.size() - begin);
    for (size_t i = 0; i < count; ++i) prefetch(keys[i] = key_of(tokens[begin + i]));
    for (size_t i = 0; i < count; ++i) index(static_cast<uint32_t>(begin + i), keys[i]);
  }
}

// An id without use has no bytes.
void TokenIds::index(uint32_t id, uint64_t key) {
  const std::string& bytes = vocabulary_.tokens[id];
  if (bytes.empty()) return;
  Slot& slot = slots_[slot_of(bytes, key)];
  if (slot.id != kFree) throw error("has the token '" + to_valid_utf8(bytes) + "' twice");
  slot = {key, id};
}

void TokenIds::add_merges(const MergeSides& merges, const std::filesystem::path& file) {
  if (merges.sizes.size() > kMostMerges)
    throw error_of(file, "has " + pluralize(static_cast<int64_t>(merges.sizes.size()), "merge") +
                             ", but fewer than 2^22 fit");
  vocabulary_.merges.reserve(merges.sizes.size());
  std::array<Merge, kBlock> block;
  const char* at = merges.bytes.data();
  for (size_t begin = 0; begin < merges.sizes.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, merges.sizes.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      const auto [left, right] = merges.sizes[begin + i];
      Merge& merge = block[i] = {{at, left}, {at + left, right}, {at, left + right}, 0, 0};
      prefetch(merge.left_key = key_of(merge.left));
      prefetch(merge.right_key = key_of(merge.right));
      at += merge.both.size();
    }
    for (size_t i = 0; i < count; ++i)
      if (!add_merge(block[i]))
        throw error_of(file, "merges '" + to_valid_utf8(block[i].left) + "' with '" +
                                 to_valid_utf8(block[i].right) + "', but not all three have an id");
  }
}

bool TokenIds::add_merge(const Merge& merge) {
  const auto left = find(merge.left, merge.left_key), right = find(merge.right, merge.right_key);
  const auto both = find_merged(merge.both);
  if (!left || !right || !both) return false;
  const auto rank = static_cast<uint32_t>(vocabulary_.merges.size());
  vocabulary_.merges.push_back({*left, *right, *both, rank});
  return true;
}

// Vocabularies number their tokens as the merges make them, nearly all.
std::optional<uint32_t> TokenIds::find_merged(std::string_view bytes) const {
  const auto& merges = vocabulary_.merges;
  const size_t next = merges.empty() ? 0 : size_t{merges.back().merged} + 1;
  if (next < vocabulary_.tokens.size() && vocabulary_.tokens[next] == bytes)
    return static_cast<uint32_t>(next);
  return find(bytes);
}

std::optional<uint32_t> TokenIds::find(std::string_view bytes) const {
  return find(bytes, key_of(bytes));
}

std::optional<uint32_t> TokenIds::find(std::string_view bytes, uint64_t key) const {
  const uint32_t id = slots_[slot_of(bytes, key)].id;
  return id == kFree ? std::nullopt : std::optional(id);
}

size_t TokenIds::home_of(uint64_t key) const {
  return (key * 0x9e3779b97f4a7c15) >> (64 - std::countr_zero(slots_.size()));
}

size_t TokenIds::slot_of(std::string_view bytes, uint64_t key) const {
  for (size_t place = home_of(key);; ++place) {
    const size_t at = place & (slots_.size() - 1);
    const Slot& slot = slots_[at];
    if (slot.id == kFree) return at;
    if (slot.key == key && (key < kLong || vocabulary_.tokens[slot.id] == bytes)) return at;
  }
}

}  // namespace exprun
