#include "control/data/tokenize_sources.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/process/ordered_workers.h"
#include "base/utf8.h"
#include "control/data/byte_progress.h"
#include "control/data/chunk_tokenizer.h"
#include "control/data/prepared_set.h"
#include "control/data/read/document_chunks.h"
#include "control/data/shards/shard_set_writer.h"
#include "control/data/text_sources.h"
#include "text/example_template.h"
#include "text/token_shard.h"
#include "text/tokenizer.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostListed = 100;

bool is_validation(const RawSource& one) {
  return one.split == Split::validation;
}

// The first of each split.
std::vector<size_t> listed(const std::vector<RawSource>& sources) {
  std::vector<size_t> indices;
  size_t of_split[2] = {};
  for (size_t i = 0; i < sources.size(); ++i)
    if (of_split[is_validation(sources[i])]++ < kMostListed) indices.push_back(i);
  return indices;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What went by so far; saved with the place to go on from.
struct Counts {
  int64_t chunks = 0, documents = 0, text_bytes = 0;
};

// auto: where documents are told apart, in each file for itself.
EndOfTextRule end_of_text_rule(const TokenizeJob& job) {
  const std::string& word = job.options.end_of_text;
  if (word != "auto" && word != "none" && !job.tokenizer.end_of_text())
    throw job.dataset.error_between({"end_of_text", "tokenizer"},
                                    "this tokenizer has no end-of-text token",
                                    "write end_of_text = \"none\"");
  if (word == "before") return {EndOfText::before, EndOfText::before};
  if (word == "after") return {EndOfText::after, EndOfText::after};
  if (word == "none" || !job.tokenizer.end_of_text()) return {};
  return {job.options.separator.empty() ? EndOfText::none : EndOfText::before, EndOfText::before};
}

RecordOptions record_options(const TextOptions& options, const Tokenizer& tokenizer) {
  return {options.format, options.separator, options.keep_separator,
          [&tokenizer](std::string_view text) { return tokenizer.safe_cut(text); }};
}

ChunkOptions chunk_options(const TokenizeJob& job) {
  const TextOptions& options = job.options;
  ChunkOptions chunks{record_options(options, job.tokenizer), {}};
  chunks.split.validation_every = options.validation_every;
  // Characters and records cannot be added up; bytes can.
  const bool mixed = are_mixed(job.inputs.sources(), options.format);
  chunks.split.units_are_characters = options.tokenizer != "byte" && !mixed;
  chunks.split.records_are_units = !mixed;
  if (options.validation_fraction > 0)
    find_split_point(job.inputs.sources(), options.validation_fraction, job.threads, chunks);
  return chunks;
}

ShardSetOptions shard_options(const TokenizeJob& job) {
  const TextOptions& options = job.options;
  return {token_bytes_for(job.tokenizer.vocab_size()), options.shard_tokens,
          options.validation_tokens, options.block_tokens, options.block_documents};
}

Stretches stretches_of(const TextOptions& options) {
  return options.block_tokens > 0 ? Stretches::of_documents : Stretches::of_splits;
}

void append_stretches(const TokenizedChunk& chunk, ShardSetWriter& writer) {
  TokenSpan rest = chunk.tokens.all();
  for (const TokenizedChunk::Stretch& stretch : chunk.stretches) {
    writer.append(stretch.split, rest.first(stretch.tokens), stretch.ends);
    rest = rest.without_first(stretch.tokens);
  }
}

class Tokenizing {
 public:
  explicit Tokenizing(const TokenizeJob& job)
      : job_(job), rule_(end_of_text_rule(job)), form_(job.options) {
    require_tokens_for_template(job.dataset, job.options, job.tokenizer);
  }

  TokenizedSources run() {
    const ChunkOptions options = chunk_options(job_);
    const int64_t done = restore();
    ByteProgress progress("preparing", job_.inputs.source_bytes());
    OrderedWorkers<Batch, Batch> workers(
        job_.threads,
        [this] {
          auto tokenizer = std::make_shared<ChunkTokenizer>(job_.tokenizer, form_, rule_,
                                                            stretches_of(job_.options));
          return [tokenizer](Batch batch) {
            tokenizer->tokenize(batch.text, batch.tokens);
            return batch;
          };
        },
        [this](Batch batch) {
          write(batch.tokens);
          put_aside(std::move(batch));
        });
    auto kept = kept_vocabulary();
    int64_t number = 0;
    const SourcesRead read = read_chunks(job_.inputs.sources(), options, [&](Chunk& chunk) {
      progress.show(chunk.bytes_read);
      if (number++ < done) return progress.begin_at(chunk.bytes_read);
      Batch batch = spare();
      std::swap(batch.text, chunk);
      workers.put(std::move(batch));
    });
    workers.finish();
    warn_of_separator(read);
    PreparedData data = finish(read);
    FileHashes hashes = writer_->hashes();
    hashes.merge(kept.get());
    return {std::move(data), std::move(hashes)};
  }

 private:
  // What goes round, from the thread that reads and writes to those that tokenize and back: memory
  // that is asked for anew takes the system a twentieth of the whole time.
  struct Batch {
    Chunk text;
    TokenizedChunk tokens;
  };

  Batch spare() {
    if (spare_.empty()) return {};
    Batch batch = std::move(spare_.back());
    spare_.pop_back();
    return batch;
  }

  // What is far beyond a chunk was an exception.
  void put_aside(Batch batch) {
    constexpr size_t kMost = 4 * kChunkBytes;  // bytes of text, and as many tokens
    if (batch.text.bytes.capacity() <= kMost && batch.tokens.tokens.capacity() <= kMost)
      spare_.push_back(std::move(batch));
  }

  // Beside the tokenizing, where a thread more can be had.
  std::future<FileHashes> kept_vocabulary() const {
    return std::async([this] {
      const auto& vocabulary = job_.inputs.vocabulary();
      return vocabulary.empty() ? FileHashes() : keep_vocabulary(vocabulary, job_.folder);
    });
  }

  fs::path progress_file() const { return job_.folder / kProgressFile; }

  // The number of chunks that an earlier process has written. What it left of other data,
  // or counted in other chunks, or what is damaged, goes.
  int64_t restore() {
    std::error_code ignored;
    if (fs::exists(progress_file(), ignored)) try {
        if (go_on(parse_json<json>(read_file(progress_file())))) return counts_.chunks;
      } catch (const std::runtime_error& damaged) {
        log_warning(
            std::string("data: the unfinished preparation cannot be continued; starting over: ") +
            damaged.what());
      } catch (const json::exception& damaged) {
        log_warning("data: the unfinished preparation cannot be continued; starting over: '" +
                    progress_file().string() + "' is damaged");
      }
    // By this file a kill on the way leaves a folder that is known as unfinished.
    for (const auto& entry : fs::directory_iterator(job_.folder))
      if (entry.path() != progress_file()) fs::remove_all(entry, ignored);
    writer_.emplace(job_.folder, shard_options(job_));
    counts_ = {};
    write_file(progress_file(), "{}\n");
    return 0;
  }

  bool go_on(const json& state) {
    if (state.value("key", "") != job_.inputs.key() ||
        state.value("cut_bytes", size_t{0}) != kChunkBytes ||
        state.value("cut_pieces", size_t{0}) != kChunkPieces)
      return false;
    writer_.emplace(job_.folder, shard_options(job_));
    writer_->restore(state.at("shards"));
    counts_ = {state.at("chunks"), state.at("documents"), state.at("text_bytes")};
    std::error_code ignored;
    fs::remove(job_.folder / kManifestName, ignored);  // of what is written on
    remove_unfinished_folders(job_.folder);            // and files that were being written
    log_info("continuing an unfinished preparation of this data");
    return true;
  }

  // Typed in a shell, "\n" is a backslash and an n.
  void warn_of_separator(const SourcesRead& read) const {
    if (read.texts == 0 || read.separators > 0 || job_.options.separator.empty()) return;
    log_warning("separator " + json_text(json(job_.options.separator), -1, NotUtf8::replaced) +
                " does not occur in the texts: each file is one document");
  }

  void write(const TokenizedChunk& chunk) {
    append_stretches(chunk, *writer_);
    for (const Split split : {Split::train, Split::validation})
      writer_->append_segments(split, chunk.segments[static_cast<int>(split)]);
    ++counts_.chunks;
    counts_.documents += chunk.documents;
    counts_.text_bytes += chunk.text_bytes;
    if (seconds_since(saved_) >= job_.save_seconds) save();
  }

  void save() {
    const json state = {{"key", job_.inputs.key()},        {"cut_bytes", kChunkBytes},
                        {"cut_pieces", kChunkPieces},      {"shards", writer_->save()},
                        {"chunks", counts_.chunks},        {"documents", counts_.documents},
                        {"text_bytes", counts_.text_bytes}};
    write_file_atomically(progress_file(), json_text(state) + "\n");
    saved_ = Clock::now();
  }

  // Where none was named for validation, documents of the same files may be.
  json files_of(const SourcesRead& read) const {
    const auto& sources = job_.inputs.sources();
    const bool are_told_apart = std::any_of(sources.begin(), sources.end(), is_validation);
    json files = json::array();
    for (const size_t i : listed(sources)) {
      files.push_back({{"bytes", read.files[i].bytes}, {"xxh3_128", read.files[i].hash}});
      if (are_told_apart)
        files.back()["split"] = is_validation(sources[i]) ? "validation" : "train";
    }
    return files;
  }

  PreparedData finish(const SourcesRead& read) {
    PreparedData data;
    data.fingerprint = job_.inputs.fingerprint(read.content);
    data.train = writer_->finish(Split::train);
    data.validation = writer_->finish(Split::validation);
    data.train_segments = writer_->finish_segments(Split::train);
    data.validation_segments = writer_->finish_segments(Split::validation);
    refuse_empty_split(job_.dataset, job_.options,
                       {token_count(data.train), token_count(data.validation), counts_.documents,
                        counts_.text_bytes});
    data.made_from = {{"files", files_of(read)},
                      {"number_of_files", job_.inputs.sources().size()},
                      {"source_bytes", job_.inputs.source_bytes()},
                      {"options", job_.options.to_json()},
                      {"documents", counts_.documents},
                      {"text_bytes", counts_.text_bytes}};
    name_sources(data, job_.inputs);
    return data;
  }

  const TokenizeJob& job_;
  EndOfTextRule rule_;
  TextForm form_;
  std::optional<ShardSetWriter> writer_;
  Counts counts_;
  std::vector<Batch> spare_;
  Clock::time_point saved_ = Clock::now();
};

}  // namespace

void name_sources(PreparedData& data, const InputFiles& inputs) {
  const auto& sources = inputs.sources();
  const std::vector<size_t> indices = listed(sources);
  const auto files = data.made_from.find("files");
  if (files == data.made_from.end() || files->size() != indices.size()) return;
  for (size_t i = 0; i < indices.size(); ++i)
    (*files)[i]["path"] = to_valid_utf8(sources[indices[i]].source.file.string());
  std::error_code ignored;
  data.made_from["working_directory"] = to_valid_utf8(fs::current_path(ignored).string());
}

std::optional<std::string> key_of_begun(const fs::path& folder) {
  const fs::path file = folder / kProgressFile;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  try {
    return parse_json<json>(read_file(file)).value("key", "");
  } catch (const std::exception&) {
    return "";
  }
}

TokenizedSources tokenize_sources(const TokenizeJob& job) {
  return Tokenizing(job).run();
}

void require_tokens_for_template(const Section& dataset, const TextOptions& options,
                                 const Tokenizer& tokenizer) {
  if (options.example_template.empty()) return;
  for (const ExamplePart& part : ExampleTemplate(options.example_template).empty_exchange()) try {
      tokenizer.encode(part.text);
    } catch (const Error& error) {
      throw dataset.error_between(
          {"template", "tokenizer"},
          "the tokenizer lacks a character that template \"" + options.example_template +
              "\" writes: " + error.what(),
          "examples need a model whose tokenizer has every character, such as "
          "\"byte\" or \"gpt2\"");
    }
}

void require_tokens_for_texts(const TextOptions& options, const Tokenizer& tokenizer,
                              const std::vector<RawSource>& sources) {
  const TextForm form(options);
  ChunkTokenizer tokenize(tokenizer, form, {}, Stretches::of_splits);
  TokenizedChunk tokens;
  read_chunks(sources, {record_options(options, tokenizer), {}},
              [&](const Chunk& chunk) { tokenize.tokenize(chunk, tokens); });
}

MeasuredSources measure_sources(const TokenizeJob& job) {
  const TextForm form(job.options);
  ChunkTokenizer tokenize(job.tokenizer, form, end_of_text_rule(job), stretches_of(job.options));
  ShardSetWriter counter({}, shard_options(job));
  TokenizedChunk tokens;
  MeasuredSources measured;
  SplitCounts counts;
  read_chunks(job.inputs.sources(), chunk_options(job), [&](const Chunk& chunk) {
    tokenize.tokenize(chunk, tokens);
    counts.documents += tokens.documents;
    counts.text_bytes += tokens.text_bytes;
    append_stretches(tokens, counter);
    for (const Split split : {Split::train, Split::validation}) {
      const auto& more = tokens.segments[static_cast<int>(split)];
      auto& all = split == Split::train ? measured.train_segments : measured.validation_segments;
      all.insert(all.end(), more.begin(), more.end());
    }
  });
  measured.train_tokens = counts.train_tokens = counter.tokens(Split::train);
  measured.validation_tokens = counts.validation_tokens = counter.tokens(Split::validation);
  refuse_empty_split(job.dataset, job.options, counts);
  return measured;
}

}  // namespace exprun
