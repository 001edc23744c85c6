#include "control/data/prepare_text.h"

#include <future>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/file_error.h"
#include "base/file_lock.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/machine/cores.h"
#include "base/number.h"
#include "base/utf8.h"
#include "control/data/input_files.h"
#include "control/data/known_sources.h"
#include "control/data/named_tokenizer.h"
#include "control/data/own_folder.h"
#include "control/data/prepared_set.h"
#include "control/data/raw_sources.h"
#include "control/data/survey.h"
#include "control/data/tokenize_sources.h"
#include "control/data/unfinished_data.h"
#include "recipe/paths.h"
#include "text/bpe_vocabulary.h"
#include "text/data_facts.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// So much of a text is read for a mere check: for its content's hash, for its characters.
constexpr uint64_t kLookedThrough = uint64_t{16} << 20;

// Part of every fingerprint: raise it when the same text would become other tokens.
constexpr const char* kMethod = "text 4";

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
        inputs_(find_inputs(table)) {
    check_standard_input();
  }

  PreparedData run(const fs::path& data_folder) {
    if (!how_.folder.empty()) {
      begin_to_hash_and_load(how_.folder);
      return made(how_.folder);
    }
    const KnownSources known = known_sources(data_folder);
    if (auto data = known_data(known, data_folder)) return *data;
    begin_to_hash_and_load({});
    const std::string fingerprint = inputs_.fingerprint().get();
    const PreparedData data = made(data_folder / fingerprint);
    known.remember(fingerprint);
    return data;
  }

  Facts glance(const fs::path& data_folder) const {
    if (const auto data = known_data(known_sources(data_folder), data_folder))
      return facts_of(*data);
    const bool large = inputs_.source_bytes() > kLookedThrough;
    if (const auto data =
            large ? std::nullopt : data_there(data_folder, inputs_.fingerprint().get()))
      return facts_of(*data);
    if (options_.tokenizer == "char" && large) return {};
    return facts_of(*make_tokenizer(dataset_, options_, inputs_.sources()));
  }

 private:
  std::string all_options() const {
    return std::string(kMethod) + " " + json_text(options_.to_json());
  }

  KnownSources known_sources(const fs::path& data_folder) const {
    return {data_folder, inputs_.sources(), inputs_.vocabulary(), all_options()};
  }

  static std::optional<PreparedData> known_data(const KnownSources& known,
                                                const fs::path& data_folder) {
    const auto found = known.fingerprint();
    return found ? data_there(data_folder, *found) : std::nullopt;
  }

  static std::optional<PreparedData> data_there(const fs::path& data_folder,
                                                const std::string& fingerprint) {
    const fs::path folder = data_folder / fingerprint;
    if (fingerprint_of_set(folder) != fingerprint) return std::nullopt;
    return load_set(folder);
  }

  static bool is_written(const Table& table, std::string_view key) {
    const Value* value = table.find(key);
    return value && value->origin != Origin::default_value;
  }

  InputFiles find_inputs(const Table& table) {
    auto sources = raw_sources(table, how_.libtorch);
    options_.vocabulary = expand_path(options_.vocabulary, how_.libtorch);
    if (!is_bpe(options_)) return {std::move(sources), {}, all_options()};
    try {
      return {std::move(sources), vocabulary_files(options_.vocabulary), all_options()};
    } catch (const Error& error) {
      throw dataset_.error("vocabulary", error.what(), vocabulary_remedy(options_.tokenizer));
    }
  }

  void check_standard_input() const {
    if (!inputs_.has_standard_input()) return;
    const auto refuse = [&](const std::string& why, const std::string& help) {
      throw dataset_.error("path", "standard input cannot be prepared so: " + why, help);
    };
    if (how_.folder.empty())
      refuse("exprun data prepare --out FOLDER reads it", "save it in a file");
    if (inputs_.sources().size() > 1) refuse("it must be the only source", "save it in a file");
    if (options_.tokenizer == "char")
      refuse("characters are known at its end only", "save it in a file");
    if (options_.validation_fraction > 0)
      refuse("its length is known at its end only",
             "write validation_fraction=0 or validation_tokens=N, or save it in a file");
  }

  // Each in a thread of its own: sources are likely to be new where no set is.
  void begin_to_hash_and_load(const fs::path& set) {
    inputs_.begin_to_hash();
    if (is_bpe(options_) && (set.empty() || !fs::exists(set / kDataDescription)))
      loading_ = std::async([this] { return tokenizer(); });
  }

  std::unique_ptr<Tokenizer> tokenizer() const {
    return make_tokenizer(dataset_, options_, inputs_.sources());
  }

  // Waits for the hash of the sources only where there is something to compare it with.
  bool is_there(const fs::path& folder) const {
    const auto there = fingerprint_of_set(folder);
    return there && *there == inputs_.fingerprint().get();
  }

  // One lock for all data of a store, and one beside a folder of the user's own.
  fs::path lock_of(const fs::path& path) const {
    if (how_.folder.empty()) return preparing_lock(path.parent_path());
    return own_lock(path);
  }

  PreparedData made(const fs::path& given) {
    const fs::path path = fs::absolute(given);
    if (!is_there(path)) {
      make_folder(path.parent_path());
      const PassingLock lock = PassingLock::take(lock_of(path));
      if (!is_there(path)) make(path);  // else another process was first
    }
    return load_set(path);
  }

  static void make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw file_error("make folder", folder, error.value());
  }

  void make(const fs::path& path) {
    if (how_.folder.empty())
      remove_unfinished_folders(path.parent_path());
    else
      refuse_foreign(path);
    AtomicFolder target = AtomicFolder::resumable(path);
    if (!is_there(target.path())) try {  // else killed right before the commit
        fill(target.path());
      } catch (const RecipeError&) {  // what was begun of it would never be gone on with
        std::error_code ignored;
        if (is_begun(target.path()))
          remove_known_folder(target.path(), kProgressFile);
        else
          fs::remove(target.path(), ignored);  // if it was made just now, and is empty
        throw;
      }
    refuse_change(target.path());
    if (how_.folder.empty()) return target.commit(kProgressFile);
    target.commit(kProgressFile, [&] { refuse_put_there(path); });
    tell_what_was_kept(path);
  }

  // Of these data, not of others.
  bool is_begun(const fs::path& folder) const {
    const auto begun = fingerprint_of_begun(folder);
    return begun && (begun->empty() || *begun == inputs_.fingerprint().get());
  }

  void fill(const fs::path& folder) {
    const auto tokenizer = loading_.valid() ? loading_.get() : this->tokenizer();
    PreparedData data =
        tokenize_sources({dataset_, options_, inputs_.sources(), *tokenizer, inputs_.fingerprint(),
                          folder, threads(), how_.save_seconds});
    data.fingerprint = inputs_.fingerprint().get();
    data.tokenizer = tokenizer->to_json();
    data.vocab_size = tokenizer->vocab_size();
    if (is_bpe(options_)) keep_vocabulary(folder, data);
    write_file(folder / kDataDescription, data.to_json());
    log_info("prepared " + with_thousands(token_count(data.train) + token_count(data.validation)) +
             " tokens of " + options_.tokenizer + " text, vocabulary " +
             std::to_string(tokenizer->vocab_size()));
  }

  // The fingerprint is of what was there at the start.
  void refuse_change(const fs::path& unfinished) const {
    const auto changed = inputs_.changed_file();
    if (!changed) return;
    remove_known_folder(unfinished, kProgressFile);
    throw Error("data: '" + changed->string() +
                "' changed while it was prepared, so nothing is kept; prepare it again when nobody "
                "writes to it");
  }

  size_t threads() const {
    return how_.threads ? how_.threads : static_cast<size_t>(own_cores().count());
  }

  // The data bring their vocabulary along, under names that JSON can say.
  void keep_vocabulary(const fs::path& folder, PreparedData& data) const {
    const auto name = [](const fs::path& file) { return to_valid_utf8(file.filename().string()); };
    make_folder(folder / kVocabularyFolder);
    const auto& vocabulary = inputs_.vocabulary();
    for (const fs::path& file : vocabulary)
      write_file(folder / kVocabularyFolder / name(file), read_file(file));
    data.tokenizer["vocabulary"] =
        kVocabularyFolder + (vocabulary.size() == 1 ? "/" + name(vocabulary[0]) : std::string());
  }

  const Section& dataset_;
  const PrepareOptions& how_;
  TextOptions options_;
  InputFiles inputs_;
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
