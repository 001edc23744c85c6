#include "control/data/prepare_text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/cores.h"
#include "base/diagnostic.h"
#include "base/file_error.h"
#include "base/file_lock.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/manifest.h"
#include "base/number.h"
#include "control/data/byte_stream.h"
#include "control/data/known_sources.h"
#include "control/data/raw_sources.h"
#include "control/data/survey.h"
#include "control/data/tokenize_sources.h"
#include "recipe/paths.h"
#include "text/bpe_vocabulary.h"
#include "text/data_facts.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kDescription = "data.json";
constexpr const char* kVocabulary = "vocabulary";

// So much of a text is read for a mere check: for its content's hash, for its characters.
constexpr uint64_t kLookedThrough = uint64_t{16} << 20;

// Part of every fingerprint: raise it when the same text would become other tokens.
constexpr const char* kMethod = "text 2";

bool is_bpe(const TextOptions& options) {
  return options.tokenizer != "byte" && options.tokenizer != "char";
}

// One call of prepare_text.
class Preparation {
 public:
  Preparation(const Section& dataset, const Table& table, const PrepareOptions& how)
      : dataset_(dataset),
        how_(how),
        options_(text_options(dataset, is_written(table, "validation_fraction"))),
        sources_(raw_sources(table, how.libtorch)) {
    options_.vocabulary = expand_path(options_.vocabulary, how.libtorch);
    if (is_bpe(options_)) find_vocabulary();
    check_standard_input();
  }

  PreparedData run(const fs::path& data_folder) {
    if (!how_.folder.empty()) {
      if (!fs::exists(how_.folder / kDescription)) begin_to_load();
      return made(how_.folder, fingerprint());
    }
    const KnownSources known = known_sources(data_folder);
    if (auto data = known_data(known, data_folder)) return *data;
    begin_to_load();
    const std::string fingerprint = this->fingerprint();
    const PreparedData data = made(data_folder / fingerprint, fingerprint);
    known.remember(fingerprint);
    return data;
  }

  Facts glance(const fs::path& data_folder) const {
    if (const auto data = known_data(known_sources(data_folder), data_folder))
      return facts_of(*data);
    const bool large = source_bytes() > kLookedThrough;
    if (const auto data = large ? std::nullopt : data_there(data_folder, fingerprint()))
      return facts_of(*data);
    if (options_.tokenizer == "char" && large) return {};
    return facts_of(*make_tokenizer(dataset_, options_, sources_));
  }

 private:
  std::string all_options() const {
    return std::string(kMethod) + " " + json_text(options_.to_json());
  }

  KnownSources known_sources(const fs::path& data_folder) const {
    return {data_folder, sources_, vocabulary_, all_options()};
  }

  static std::optional<PreparedData> known_data(const KnownSources& known,
                                                const fs::path& data_folder) {
    const auto found = known.fingerprint();
    return found ? data_there(data_folder, *found) : std::nullopt;
  }

  static std::optional<PreparedData> data_there(const fs::path& data_folder,
                                                const std::string& fingerprint) {
    const fs::path folder = data_folder / fingerprint;
    if (!is_there(folder, fingerprint)) return std::nullopt;
    return load(folder, fingerprint);
  }

  uint64_t source_bytes() const {
    uint64_t bytes = 0;
    std::error_code ignored;
    for (const RawSource& source : sources_) bytes += fs::file_size(source.source.file, ignored);
    return bytes;
  }

  static bool is_written(const Table& table, std::string_view key) {
    const Value* value = table.find(key);
    return value && value->origin != Origin::default_value;
  }

  void find_vocabulary() try {
    vocabulary_ = vocabulary_files(options_.vocabulary);
    for (const fs::path& file : vocabulary_) vocabulary_hash_ += hash_file_hex(file);
  } catch (const Error& error) {
    throw dataset_.error("vocabulary", error.what(), "GPT-2's: exprun data fetch gpt2_tokenizer");
  }

  void check_standard_input() const {
    if (!reads_standard_input()) return;
    const char* why = how_.folder.empty()            ? "exprun data prepare --out FOLDER reads it"
                      : sources_.size() > 1          ? "it must be the only source"
                      : options_.tokenizer == "char" ? "characters are known at its end only"
                      : options_.validation_fraction > 0 ? "its length is known at its end only"
                                                         : nullptr;
    if (why)
      throw dataset_.error("path", std::string("standard input cannot be prepared so: ") + why,
                           "save it in a file");
  }

  // The vocabulary, beside the hashing of sources that are likely to be new.
  void begin_to_load() {
    if (is_bpe(options_))
      loading_ = std::async(std::launch::async,
                            [this] { return make_tokenizer(dataset_, options_, sources_); });
  }

  bool reads_standard_input() const {
    return std::any_of(sources_.begin(), sources_.end(), [](const RawSource& source) {
      return source.source.file == kStandardInput;
    });
  }

  // Of standard input nothing is known before it is read: it is never the same.
  std::string fingerprint() const {
    const std::string content =
        reads_standard_input()
            ? std::to_string(std::chrono::system_clock::now().time_since_epoch().count())
            : hash_of_sources(sources_);
    return hash_hex(all_options() + " " + vocabulary_hash_ + " " + content);
  }

  // Of a folder of the user's own, it is there if it holds the same.
  static bool is_there(const fs::path& path, const std::string& fingerprint) {
    if (manifest_problem(path, Verify::sizes)) return false;
    return PreparedData::from_json(read_file(path / kDescription)).fingerprint == fingerprint;
  }

  // One lock for all data of a store, and one beside a folder of the user's own.
  fs::path lock_of(const fs::path& path) const {
    const fs::path name = path.filename();
    return path.parent_path() /
           (how_.folder.empty() ? "prepare.lock" : "." + name.string() + ".lock");
  }

  PreparedData made(const fs::path& given, const std::string& fingerprint) {
    const fs::path path = fs::absolute(given);
    if (!is_there(path, fingerprint)) {
      make_folder(path.parent_path());
      const FileLock lock = FileLock::take(lock_of(path));
      if (!is_there(path, fingerprint)) make(path, fingerprint);  // else another process was first
    }
    return load(path, fingerprint);
  }

  static void make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw file_error("make folder", folder, error.value());
  }

  void make(const fs::path& path, const std::string& fingerprint) {
    refuse_foreign(path);
    if (how_.folder.empty()) remove_unfinished_folders(path.parent_path());
    const auto tokenizer =
        loading_.valid() ? loading_.get() : make_tokenizer(dataset_, options_, sources_);
    AtomicFolder target = AtomicFolder::resumable(path);
    PreparedData data = tokenize_sources({dataset_, options_, sources_, *tokenizer, fingerprint,
                                          target.path(), threads(), how_.save_seconds});
    data.fingerprint = fingerprint;
    data.tokenizer = tokenizer->to_json();
    data.vocab_size = tokenizer->vocab_size();
    if (is_bpe(options_)) keep_vocabulary(target.path(), data);
    write_file_atomically(target.path() / kDescription, data.to_json());
    target.commit();
    log_info("prepared " + with_thousands(token_count(data.train) + token_count(data.validation)) +
             " tokens of " + options_.tokenizer + " text, vocabulary " +
             std::to_string(tokenizer->vocab_size()));
  }

  // What stands in a folder of the user's own is replaced only if we made it.
  static void refuse_foreign(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored) || fs::is_empty(path, ignored)) return;
    if (fs::exists(path / kDescription, ignored) && fs::exists(path / kManifestName, ignored))
      return log_info("'" + path.string() + "' holds other data, which is replaced");
    if (fs::exists(path / "train_000000.bin", ignored) ||
        !fs::exists(path / kManifestName, ignored))
      throw Error(
          "data: '" + path.string() +
          "' is there already and was not made by exprun data prepare; give another folder");
  }

  size_t threads() const {
    return how_.threads ? how_.threads : static_cast<size_t>(own_cores().count());
  }

  // The data bring their vocabulary along.
  void keep_vocabulary(const fs::path& folder, PreparedData& data) const {
    make_folder(folder / kVocabulary);
    for (const fs::path& file : vocabulary_)
      write_file_atomically(folder / kVocabulary / file.filename(), read_file(file));
    const bool single = vocabulary_.size() == 1;
    data.tokenizer["vocabulary"] =
        (single ? fs::path(kVocabulary) / vocabulary_[0].filename() : fs::path(kVocabulary))
            .string();
  }

  // Names within the folder become paths.
  static PreparedData load(const fs::path& folder, const std::string& fingerprint) {
    PreparedData data = PreparedData::from_json(read_file(folder / kDescription));
    data.fingerprint = fingerprint;
    for (auto* split : {&data.train, &data.validation})
      for (TokenShard& shard : *split) shard.path = fs::absolute(folder / shard.path).string();
    if (data.tokenizer.contains("vocabulary"))
      data.tokenizer["vocabulary"] =
          fs::absolute(folder / data.tokenizer["vocabulary"].get<std::string>()).string();
    return data;
  }

  const Section& dataset_;
  const PrepareOptions& how_;
  TextOptions options_;
  std::vector<RawSource> sources_;
  std::vector<fs::path> vocabulary_;
  std::string vocabulary_hash_;
  std::future<std::unique_ptr<Tokenizer>> loading_;
};

}  // namespace

PreparedData prepare_text(const Section& dataset, const Table& table, const fs::path& data_folder,
                          const PrepareOptions& options) {
  return Preparation(dataset, table, options).run(data_folder);
}

Facts glance_at_text(const Section& dataset, const Table& table, const fs::path& data_folder,
                     const std::string& libtorch) {
  PrepareOptions options;
  options.libtorch = libtorch;
  return Preparation(dataset, table, options).glance(data_folder);
}

}  // namespace exprun
