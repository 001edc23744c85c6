#include "control/data/tokenize_sources.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/humane.h"
#include "base/json_text.h"
#include "base/log.h"
#include "control/data/byte_progress.h"
#include "control/data/ordered_workers.h"
#include "control/data/shard_set_writer.h"
#include "control/data/survey.h"
#include "control/data/tokenize_chunk.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kProgress = "progress.json";
constexpr size_t kMostListed = 100;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What went by so far; saved with the place to go on from.
struct Counts {
  int64_t chunks = 0, documents = 0, text_bytes = 0;
};

EndOfText policy_of(const TokenizeJob& job) {
  const std::string& word = job.options.end_of_text;
  if (word != "auto" && word != "none" && !job.tokenizer.end_of_text())
    throw job.dataset.error("end_of_text", "this tokenizer has no token for the end of a text",
                            "write end_of_text = \"none\"");
  if (word == "before") return EndOfText::before;
  if (word == "after") return EndOfText::after;
  if (word == "none" || !job.tokenizer.end_of_text()) return EndOfText::none;
  // auto: where documents are told apart
  const bool json = job.options.format == "json" || job.options.format == "json_lines" ||
                    (job.options.format == "auto" && !job.sources.empty() &&
                     format_of_file(job.sources[0].source.file) != "text");
  return json || !job.options.separator.empty() ? EndOfText::before : EndOfText::none;
}

ChunkOptions chunk_options(const TokenizeJob& job) {
  const TextOptions& options = job.options;
  ChunkOptions chunks;
  chunks.records = {options.format, options.separator, options.keep_separator,
                    [&job](std::string_view text) { return job.tokenizer.safe_cut(text); }};
  chunks.split.validation_every = options.validation_every;
  chunks.split.units_are_characters = options.tokenizer != "byte";
  if (options.validation_fraction > 0) {
    const auto units = static_cast<double>(count_units(job.sources, chunks));
    chunks.split.validation_from =
        static_cast<int64_t>(std::floor((1 - options.validation_fraction) * units));
  }
  return chunks;
}

RecordTemplate template_of(const TokenizeJob& job) try {
  return {job.options.text_template, job.options.fallback_template};
} catch (const Error& error) {
  throw job.dataset.error("template", error.what());
}

int64_t bytes_of(const std::vector<RawSource>& sources) {
  int64_t bytes = 0;
  for (const RawSource& source : sources) {
    std::error_code ignored;
    const auto size = fs::file_size(source.source.file, ignored);
    if (!ignored) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

class Tokenizing {
 public:
  explicit Tokenizing(const TokenizeJob& job)
      : job_(job),
        policy_(policy_of(job)),
        template_(template_of(job)),
        writer_(job.folder, {token_bytes_for(job.tokenizer.vocab_size()), job.options.shard_tokens,
                             job.options.validation_tokens, job.options.block_tokens,
                             job.options.block_documents}) {}

  PreparedData run() {
    const ChunkOptions options = chunk_options(job_);
    const int64_t done = restore();
    ByteProgress progress("preparing", bytes_of(job_.sources));
    OrderedWorkers<Chunk, TokenizedChunk> workers(
        job_.threads,
        [this] {
          auto work = std::make_shared<ChunkTokenizer>(job_.tokenizer, template_, policy_);
          return [work](const Chunk& chunk) { return (*work)(chunk); };
        },
        [this](const TokenizedChunk& chunk) { write(chunk); });
    int64_t number = 0;
    read_chunks(
        job_.sources, options,
        [&](Chunk chunk) {
          if (number++ >= done) workers.put(std::move(chunk));
        },
        [&](int64_t position) { progress.show(position); });
    workers.finish();
    return finish();
  }

 private:
  fs::path progress_file() const { return job_.folder / kProgress; }

  // The number of chunks that an earlier process has written. What it left of other data goes.
  int64_t restore() try {
    std::error_code ignored;
    const json state = fs::exists(progress_file(), ignored)
                           ? parse_json<json>(read_file(progress_file()))
                           : json{{"fingerprint", ""}};
    if (state.at("fingerprint") != job_.fingerprint) {
      for (const auto& entry : fs::directory_iterator(job_.folder)) fs::remove_all(entry, ignored);
      return 0;
    }
    writer_.restore(state.at("shards"));
    counts_ = {state.at("chunks"), state.at("documents"), state.at("text_bytes")};
    log_info("going on with data that was being prepared");
    return counts_.chunks;
  } catch (const json::exception&) {
    throw Error("data: '" + progress_file().string() + "' is damaged; remove '" +
                job_.folder.string() + "'");
  }

  void write(const TokenizedChunk& chunk) {
    std::span<const uint32_t> rest = chunk.tokens;
    for (const TokenizedChunk::Run& run : chunk.runs) {
      writer_.append(run.part, rest.first(run.tokens), run.ends);
      rest = rest.subspan(run.tokens);
    }
    ++counts_.chunks;
    counts_.documents += chunk.documents;
    counts_.text_bytes += chunk.text_bytes;
    if (seconds_since(saved_) >= job_.save_seconds) save();
  }

  void save() {
    const json state = {{"fingerprint", job_.fingerprint},
                        {"shards", writer_.save()},
                        {"chunks", counts_.chunks},
                        {"documents", counts_.documents},
                        {"text_bytes", counts_.text_bytes}};
    write_file_atomically(progress_file(), json_text(state) + "\n");
    saved_ = Clock::now();
  }

  PreparedData finish() {
    PreparedData data;
    data.train = writer_.finish(Part::train);
    data.validation = writer_.finish(Part::validation);
    std::error_code ignored;
    fs::remove(progress_file(), ignored);
    json files = json::array();
    for (const RawSource& source : job_.sources)
      if (files.size() < kMostListed) files.push_back(source.source.file.string());
    data.made_from = {{"files", files},
                      {"number_of_files", job_.sources.size()},
                      {"options", job_.options.to_json()},
                      {"documents", counts_.documents},
                      {"text_bytes", counts_.text_bytes}};
    return data;
  }

  const TokenizeJob& job_;
  EndOfText policy_;
  RecordTemplate template_;
  ShardSetWriter writer_;
  Counts counts_;
  Clock::time_point saved_ = Clock::now();
};

}  // namespace

PreparedData tokenize_sources(const TokenizeJob& job) {
  return Tokenizing(job).run();
}

}  // namespace exprun
