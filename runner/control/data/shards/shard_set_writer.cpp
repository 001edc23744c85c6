#include "control/data/shards/shard_set_writer.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files/file.h"
#include "base/hash.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json to_json(const PackedTokens& tokens) {
  json ids = json::array();
  for (size_t i = 0; i < tokens.size(); ++i) ids.push_back(tokens[i]);
  return ids;
}

}  // namespace

SplitWriter::SplitWriter(fs::path folder, std::string name, const ShardSetOptions& options)
    : folder_(std::move(folder)), name_(std::move(name)), options_(options) {}

fs::path SplitWriter::file(size_t number) const {
  char digits[16];
  std::snprintf(digits, sizeof digits, "_%06zu", number);
  return folder_ / (name_ + digits + options_.extension);
}

void SplitWriter::append(TokenSpan tokens) {
  tokens_ += static_cast<int64_t>(tokens.size);
  while (tokens.size > 0 && !folder_.empty()) {
    if (!open_) open_.emplace(file(shards_.size()), options_.token_bytes);
    const int64_t room = options_.shard_tokens - open_->tokens();
    const auto count = std::min(tokens.size, static_cast<size_t>(room));
    open_->append(tokens.first(count));
    tokens = tokens.without_first(count);
    if (open_->tokens() < options_.shard_tokens) continue;
    end_shard();
  }
}

// It is made durable and hashed while the next one is written, and mostly before it leaves the
// system's cache.
void SplitWriter::end_shard() {
  wait_for_ended();
  shards_.push_back(open_->finish());
  const fs::path file = open_->file();
  open_.reset();
  ended_ = file.filename().string();
  synced_ = std::async(sync_file, file);
  hash_ = std::async(hash_file_hex, file);
}

void SplitWriter::wait_for_ended() {
  if (!hash_.valid()) return;
  synced_.get();
  hashes_[ended_] = hash_.get();
}

FileHashes SplitWriter::hashes() {
  wait_for_ended();
  return hashes_;
}

std::vector<TokenShard> SplitWriter::finish() {
  if (open_) end_shard();
  for (TokenShard& shard : shards_) shard.path = fs::path(shard.path).filename().string();
  return shards_;
}

json SplitWriter::save() {
  wait_for_ended();
  if (open_) open_->sync();
  return {{"shards", shards_.size()}, {"open", open_ ? open_->tokens() : 0}};
}

void SplitWriter::restore(const json& state) {
  const auto whole = state.at("shards").get<size_t>();
  for (size_t number = 0; number < whole; ++number)
    shards_.push_back(inspect_shard(file(number), ShardFormat::with_header));
  const auto tokens = state.at("open").get<int64_t>();
  if (tokens > 0) open_.emplace(file(whole), options_.token_bytes, tokens);
  tokens_ = token_count(shards_) + tokens;
}

ShardSetWriter::ShardSetWriter(const fs::path& folder, const ShardSetOptions& options)
    : options_(options),
      segment_options_{sizeof(uint32_t), options.shard_tokens, 0, 0, 0, ".segments"},
      train_(folder, "train", options_),
      validation_(folder, "validation", options_),
      train_segments_(folder, "train", segment_options_),
      validation_segments_(folder, "validation", segment_options_),
      begun_{PackedTokens(options.token_bytes), PackedTokens(options.token_bytes)} {}

void ShardSetWriter::append(Split split, TokenSpan tokens, bool ends_document) {
  if (options_.block_tokens > 0)
    append_blocks(split, tokens, ends_document);
  else
    write(split, tokens);
}

int64_t ShardSetWriter::tokens(Split split) const {
  return (split == Split::train ? train_ : validation_).tokens();
}

void ShardSetWriter::append_segments(Split split, std::span<const uint32_t> words) {
  SplitWriter& writer = split == Split::train ? train_segments_ : validation_segments_;
  writer.append(PackedTokens(sizeof(uint32_t), words).all());
}

// The first tokens of all are for validation, where the rule says so.
void ShardSetWriter::write(Split split, TokenSpan tokens) {
  const int64_t missing = options_.first_validation_tokens - validation_.tokens();
  if (split == Split::train && missing > 0) {
    const auto count = std::min(tokens.size, static_cast<size_t>(missing));
    validation_.append(tokens.first(count));
    tokens = tokens.without_first(count);
  }
  writer(split).append(tokens);
}

void ShardSetWriter::append_blocks(Split split, TokenSpan tokens, bool ends_document) {
  PackedTokens& begun = begun_[static_cast<int>(split)];
  begun.append(tokens);
  const auto block = static_cast<size_t>(options_.block_tokens);
  const size_t whole = begun.size() / block * block;
  write(split, begun.all().first(whole));
  begun.drop_first(whole);
  int64_t& documents = documents_[static_cast<int>(split)];
  if (!ends_document || ++documents != options_.block_documents) return;
  documents = 0;
  begun.drop_first(begun.size());
}

std::vector<TokenShard> ShardSetWriter::finish(Split split) {
  return writer(split).finish();
}

std::vector<TokenShard> ShardSetWriter::finish_segments(Split split) {
  return split == Split::train ? train_segments_.finish() : validation_segments_.finish();
}

FileHashes ShardSetWriter::hashes() {
  FileHashes all;
  for (SplitWriter* writer : {&train_, &validation_, &train_segments_, &validation_segments_})
    all.merge(writer->hashes());
  return all;
}

json ShardSetWriter::save() {
  return {{"train", train_.save()},
          {"validation", validation_.save()},
          {"train_segments", train_segments_.save()},
          {"validation_segments", validation_segments_.save()},
          {"begun", {to_json(begun_[0]), to_json(begun_[1])}},
          {"documents", {documents_[0], documents_[1]}}};
}

void ShardSetWriter::restore(const json& state) {
  train_.restore(state.at("train"));
  validation_.restore(state.at("validation"));
  train_segments_.restore(state.at("train_segments"));
  validation_segments_.restore(state.at("validation_segments"));
  for (size_t part : {0, 1}) {
    begun_[part].append(state.at("begun").at(part).get<std::vector<uint32_t>>());
    documents_[part] = state.at("documents").at(part).get<int64_t>();
  }
}

}  // namespace exprun
