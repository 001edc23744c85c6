#include "control/data/prepare_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/machine/processor.h"
#include "base/strings.h"
#include "control/data/input_files.h"
#include "control/data/prepared_set.h"
#include "control/data/read/byte_stream.h"
#include "control/data/text_sources.h"
#include "control/data/tokenize_sources.h"
#include "recipe/paths.h"
#include "text/bpe/bpe_vocabulary.h"
#include "text/examples.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// So much of a text is read for a mere check: for its content's hash, for its characters.
constexpr int64_t kLookedThrough = int64_t{16} << 20;

// A packed file that is no larger is read for it, too: most unpack to less than ten times as much.
constexpr uintmax_t kUnpacked = uintmax_t{1} << 20;

// So much is tokenized for it, in some tenths of a second: to know how many tokens there are, and
// how long examples are.
constexpr int64_t kTokenized = int64_t{4} << 20;

// What a token of BPE has of a text, mostly. Characters beyond ASCII have more than one, too.
constexpr double kBytesOfBpeToken = 4;

// What the identity of texts has where each begins with a token. Raise it when the same text would
// become other tokens.
constexpr const char* kBeginMethod = " begin 1";

// The same of examples whose responses end with a NUL where there is no end-of-text token.
constexpr const char* kNulMethod = " nul 1";

bool is_bpe(const TextOptions& options) {
  return options.tokenizer != "byte" && options.tokenizer != "char";
}

// Absolute, links followed, without a slash at its end.
fs::path output_directory(const fs::path& written) try {
  fs::path path = fs::weakly_canonical(fs::absolute(written));
  if (!path.has_filename()) path = path.parent_path();
  if (path == fs::current_path())
    throw Error("data: '" + written.string() + "' is the working directory; give a folder in it");
  return path;
} catch (const fs::filesystem_error& error) {
  throw Error("data: cannot make '" + written.string() + "': " + error.code().message());
}

bool is_new_or_empty(const fs::path& path) try {
  const fs::file_status status = fs::symlink_status(path);
  return status.type() == fs::file_type::not_found ||
         (fs::is_directory(status) && fs::is_empty(path));
} catch (const fs::filesystem_error& error) {
  throw Error("data: cannot look into '" + path.string() + "': " + error.code().message());
}

// One call of prepare_text.
class Preparation {
 public:
  Preparation(const Section& dataset, const Table& table, const PrepareOptions& how)
      : dataset_(dataset),
        how_(how),
        options_(text_options(dataset, is_typed(table, "validation_fraction"))),
        inputs_(find_inputs(table)) {
    check_standard_input();
  }

  PreparedData run(const fs::path& data_folder) {
    return how_.folder.empty() ? in_store(data_folder)
                               : in_output_directory(output_directory(how_.folder));
  }

  std::optional<std::string> fingerprint(const fs::path& data_folder, Reading reading) {
    const KnownSources known(data_folder, inputs_);
    if (const auto before = known.fingerprint()) return before;
    if (inputs_.source_bytes() <= kLookedThrough) return fingerprint();
    if (reading == Reading::little) return std::nullopt;
    known.remember(fingerprint());
    return fingerprint();
  }

  TextGlance glance(const fs::path& data_folder) {
    refuse_empty_files();
    if (const auto data = known_data(data_folder))
      return {facts_of(*data), data, data->fingerprint};
    const bool large = inputs_.source_bytes() > kLookedThrough;
    if (const auto data = large ? std::nullopt : same_data(data_folder))
      return {facts_of(*data), std::nullopt, data->fingerprint};
    if (!inputs_.has_standard_input()) check_texts(options_, inputs_.sources());
    const std::vector<RawSource> unpacked = unpacked_sources();
    const bool all_are_unpacked = unpacked.size() == inputs_.sources().size();
    if (!large) check_records(options_, quickly_read_sources());
    TextGlance glance;
    if (options_.tokenizer != "char" || !large) {
      const auto tokenizer = this->tokenizer();
      glance.dataset_info = facts_of(*tokenizer);
      require_tokens_for_template(dataset_, options_, *tokenizer);
      if (all_are_unpacked && inputs_.source_bytes() <= kTokenized) {
        measure(*tokenizer, glance);
        return glance;
      }
      const bool made_of_others = glance.dataset_info.characters && options_.tokenizer != "char";
      if (made_of_others && !large) require_tokens_for_texts(options_, *tokenizer, unpacked);
      if (all_are_unpacked) limit_tokens(*tokenizer, glance.dataset_info);
    }
    if (all_are_unpacked) estimate_tokens(glance.dataset_info);
    return glance;
  }

 private:
  // Also in a way that is not read, which preparing it says.
  static bool is_packed(const fs::path& file) try {
    std::array<char, kPackingBytes> first{};
    std::ifstream stream(file, std::ios::binary);
    stream.read(first.data(), first.size());
    return checked_packing({first.data(), static_cast<size_t>(stream.gcount())}, file) !=
           Packing::none;
  } catch (const Error&) {
    return true;
  }

  // Those whose size says how long it takes to read them.
  std::vector<RawSource> unpacked_sources() const {
    std::vector<RawSource> unpacked;
    if (inputs_.has_standard_input()) return unpacked;
    for (const RawSource& raw : inputs_.sources())
      if (!is_packed(raw.source.file)) unpacked.push_back(raw);
    return unpacked;
  }

  // Those and small ones that are packed.
  std::vector<RawSource> quickly_read_sources() const {
    std::vector<RawSource> sources;
    if (inputs_.has_standard_input()) return sources;
    std::error_code unreadable;  // then it has more bytes than any file
    for (const RawSource& raw : inputs_.sources())
      if (!is_packed(raw.source.file) || fs::file_size(raw.source.file, unreadable) <= kUnpacked)
        sources.push_back(raw);
    return sources;
  }

  void measure(const Tokenizer& tokenizer, TextGlance& glance) const {
    MeasuredSources measured =
        measure_sources({dataset_, options_, inputs_, tokenizer, {}, threads()});
    if (options_.example_template.empty()) {
      glance.dataset_info.train_tokens = measured.train_tokens;
      glance.dataset_info.validation_tokens = measured.validation_tokens;
    }
    add_examples(glance.dataset_info, measured.train_segments, measured.validation_segments);
    glance.train_segments = std::move(measured.train_segments);
  }

  // Of unpacked text a token has one byte at least, and each file one for its end and, with some
  // tokenizers, one for its begin. A fraction is of characters, each of four bytes at most.
  void limit_tokens(const Tokenizer& tokenizer, DatasetInfo& dataset_info) const {
    const auto is_text = [&](const RawSource& raw) {
      return format_of_file(raw.source.file, options_.format) == "text";
    };
    const auto& sources = inputs_.sources();
    if (!options_.separator.empty() || !std::all_of(sources.begin(), sources.end(), is_text))
      return;
    const int64_t begin = tokenizer.begin_of_text() ? 1 : 0;
    const int64_t ends = static_cast<int64_t>(sources.size()) * (1 + begin);
    const int64_t bytes = inputs_.source_bytes(Split::train);
    dataset_info.most_train_tokens = bytes + ends;
    if (dataset_.has("validation"))
      dataset_info.most_validation_tokens = inputs_.source_bytes(Split::validation) + ends;
    else if (options_.validation_fraction > 0)
      dataset_info.most_validation_tokens =
          begin + static_cast<int64_t>(std::ceil(
                      std::min(1.0, options_.validation_fraction * (is_bpe(options_) ? 4 : 1)) *
                      static_cast<double>(bytes + ends)));
  }

  // As if the bytes of JSON were text.
  void estimate_tokens(DatasetInfo& dataset_info) const {
    if (!options_.example_template.empty()) return;
    const auto bytes = static_cast<double>(inputs_.source_bytes(Split::train));
    double of_validation = bytes * options_.validation_fraction;
    if (dataset_.has("validation"))
      of_validation = static_cast<double>(inputs_.source_bytes(Split::validation));
    else if (options_.validation_every > 0)
      of_validation = bytes / static_cast<double>(options_.validation_every);
    dataset_info.likely_validation_tokens =
        options_.validation_tokens > 0
            ? options_.validation_tokens
            : std::llround(of_validation / (is_bpe(options_) ? kBytesOfBpeToken : 1));
  }

  // What preparing them would say: no text comes of no bytes.
  void refuse_empty_files() const {
    const SplitCounts bytes{inputs_.source_bytes(Split::train),
                            inputs_.source_bytes(Split::validation)};
    const bool lacks_validation = dataset_.has("validation") && bytes.validation_tokens == 0;
    if (bytes.train_tokens == 0 || lacks_validation) refuse_empty_split(dataset_, options_, bytes);
  }

  static bool is_typed(const Table& table, std::string_view key) {
    const Value* const value = table.find(key);
    return value && value->origin == Origin::command_line;
  }

  InputFiles find_inputs(const Table& table) {
    auto sources = raw_sources(table, how_.libtorch);
    options_.vocabulary = expand_path(options_.vocabulary, how_.libtorch);
    std::string identity = options_.identity(sources);
    const std::string& form = options_.example_template;
    if (options_.tokenizer != "gpt2" && (form == "plain" || form == "alpaca"))
      identity += kNulMethod;
    if (!is_bpe(options_)) return {std::move(sources), {}, std::move(identity)};
    try {
      auto files = vocabulary_files(options_.vocabulary);
      if (options_.example_template.empty() && begin_texts(files)) identity += kBeginMethod;
      return {std::move(sources), std::move(files), std::move(identity)};
    } catch (const RecipeError&) {
      throw;
    } catch (const Error& error) {
      throw vocabulary_error(dataset_, error, options_.tokenizer, options_.vocabulary);
    }
  }

  void check_standard_input() const {
    if (!inputs_.has_standard_input()) return;
    const auto refuse = [&](const std::string& why, const std::string& help) {
      throw dataset_.error("path", "standard input cannot be used here: " + why, help);
    };
    if (how_.folder.empty())
      refuse("only exprun data prepare --out DIR reads it", "save it to a file");
    if (inputs_.sources().size() > 1) refuse("it must be the only source", "save it to a file");
    if (options_.tokenizer == "char")
      refuse("its characters are known only at its end", "save it to a file");
    if (options_.validation_fraction > 0)
      refuse("its length is known only at its end",
             "write validation_fraction=0 or validation_tokens=N, or save it to a file");
  }

  std::unique_ptr<Tokenizer> tokenizer() const {
    return make_tokenizer(dataset_, options_, inputs_.sources());
  }

  // Reads all sources, once.
  const std::string& fingerprint() {
    if (!fingerprint_) fingerprint_ = inputs_.fingerprint();
    return *fingerprint_;
  }

  // Reads the set only where it could be of these sources, and then these.
  bool is_there(const fs::path& folder) {
    const auto set = unverified_set(folder);
    return set && is_alike(*set) && !manifest_problem(folder, Verify::changed) &&
           set->fingerprint == fingerprint();
  }

  bool is_alike(const PreparedData& set) const {
    const json& from = set.made_from;
    return !inputs_.has_standard_input() && from.is_object() &&
           from.value("source_bytes", json()) == json(inputs_.source_bytes()) &&
           from.value("options", json()) == options_.to_json();
  }

  // The set of a store that was made of these files as they are.
  std::optional<PreparedData> known_data(const fs::path& data_folder) const {
    const auto known = KnownSources(data_folder, inputs_).fingerprint();
    return known ? data_named(data_folder, *known) : std::nullopt;
  }

  // The set of a store that was made of the same content.
  std::optional<PreparedData> same_data(const fs::path& data_folder) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(data_folder, ignored))
      if (const auto set = unverified_set(entry.path()); set && is_alike(*set))
        return data_named(data_folder, fingerprint());
    return std::nullopt;
  }

  // It may have been made of other files with this content.
  std::optional<PreparedData> data_named(const fs::path& data_folder,
                                         const std::string& fingerprint) const {
    const auto set = described_set(data_folder / fingerprint);
    if (!set || set->fingerprint != fingerprint) return std::nullopt;
    PreparedData data = load_set(data_folder / fingerprint);
    name_sources(data, inputs_);
    return data;
  }

  PreparedData in_store(const fs::path& data_folder) {
    if (const auto data = known_data(data_folder)) return *data;
    const auto same = same_data(data_folder);
    const PreparedData data = same ? *same : made_in_store(fs::absolute(data_folder));
    KnownSources(data_folder, inputs_).remember(data.fingerprint);
    return data;
  }

  // One lock for all data of a store. The content, which names the set, is known at its end.
  PreparedData made_in_store(const fs::path& data_folder) {
    make_folder(data_folder);
    const TransientLock lock = taken(preparing_lock(data_folder));
    if (const auto data = same_data(data_folder)) return *data;  // another process was first
    remove_unfinished_folders(data_folder);
    AtomicFolder target = AtomicFolder::resumable(data_folder / inputs_.key());
    const fs::path path = data_folder / made(target);
    warn_of_damage(path);
    target.rename_target(path);
    target.commit(kProgressFile);
    return told(load_set(path));
  }

  // Of a set that is replaced.
  static void warn_of_damage(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return;
    if (const auto problem = manifest_problem(path, Verify::changed))
      log_warning("data: the prepared data in '" + path.string() + "' was damaged (" + *problem +
                  ") and has been prepared again");
  }

  // One lock beside the folder, which must be new or empty, or hold this set.
  PreparedData in_output_directory(const fs::path& path) {
    if (is_there(path)) return load_set(path);
    make_folder(path.parent_path());
    const TransientLock lock = taken(own_lock(path));
    if (is_there(path)) return load_set(path);  // another process was first
    refuse_other_content(path);
    AtomicFolder target = AtomicFolder::resumable(path);
    made(target);
    target.commit(kProgressFile, Existing::refused);
    return told(load_set(path));
  }

  void refuse_other_content(const fs::path& path) {
    const fs::path partial = partial_folder(path);
    if (!is_new_or_empty(path)) {
      const auto set = unverified_set(path);
      const auto damage =
          set && is_alike(*set) ? manifest_problem(path, Verify::changed) : std::nullopt;
      throw Error("data: " +
                  (damage
                       ? "the prepared data in '" + path.string() + "' is damaged (" + *damage + ")"
                       : "'" + path.string() + "' exists and does not hold this data") +
                  "; move it away, or give a new or empty folder");
    }
    if (!is_new_or_empty(partial) && !key_of_begun(partial) && !is_there(partial))
      throw Error("data: '" + partial.string() +
                  "', where the data would be prepared, exists and is not an unfinished "
                  "preparation; move it away, or give another folder");
  }

  static TransientLock taken(const fs::path& lock) {
    if (auto free = TransientLock::try_take(lock)) return std::move(*free);
    log_info("another process prepares data below '" + lock.parent_path().string() +
             "': waiting for it");
    return TransientLock::take(lock);
  }

  // The fingerprint of the whole set that an unfinished folder then holds.
  std::string made(AtomicFolder& target) {
    const fs::path folder = target.path();
    if (!is_there(folder)) try {  // else killed right before the commit
        fingerprint_ = fill(target);
      } catch (const RecipeError&) {  // what was begun of it would never be gone on with
        std::error_code ignored;
        if (is_begun(folder))
          remove_known_folder(folder, kProgressFile);
        else
          fs::remove(folder, ignored);  // if it was made just now, and is empty
        throw;
      }
    refuse_change(folder);
    return fingerprint();
  }

  // Of these data, not of others.
  bool is_begun(const fs::path& folder) const {
    const auto begun = key_of_begun(folder);
    return begun && (begun->empty() || *begun == inputs_.key());
  }

  std::string fill(AtomicFolder& target) const {
    const fs::path folder = target.path();
    const auto tokenizer = this->tokenizer();
    auto [data, hashes] = tokenize_sources(
        {dataset_, options_, inputs_, *tokenizer, folder, threads(), how_.save_seconds});
    target.know(std::move(hashes));
    data.tokenizer = tokenizer->to_json();
    data.vocab_size = tokenizer->vocab_size();
    if (is_bpe(options_)) data.tokenizer["vocabulary"] = name_of_kept(inputs_.vocabulary());
    write_file(folder / kDataDescription, data.to_json());
    return data.fingerprint;
  }

  PreparedData told(PreparedData data) const {
    log_info("prepared " +
             pluralize(token_count(data.train) + token_count(data.validation), "token") + " (" +
             options_.tokenizer + " tokenizer, vocabulary of " + with_thousands(*data.vocab_size) +
             ")");
    return data;
  }

  // The fingerprint is of what was there at the start.
  void refuse_change(const fs::path& unfinished) {
    const auto changed = inputs_.changed_file(fingerprint());
    if (!changed) return;
    remove_known_folder(unfinished, kProgressFile);
    throw Error("data: '" + changed->string() +
                "' changed while it was prepared, so nothing is kept; prepare it again when nobody "
                "writes to it");
  }

  size_t threads() const {
    return how_.threads ? how_.threads : static_cast<size_t>(own_cores().count());
  }

  const Section& dataset_;
  const PrepareOptions& how_;
  TextOptions options_;
  InputFiles inputs_;
  std::optional<std::string> fingerprint_;
};

}  // namespace

PreparedData prepare_text(const Section& dataset, const Table& table, const fs::path& data_folder,
                          const PrepareOptions& options) {
  return Preparation(dataset, table, options).run(data_folder);
}

TextGlance glance_at_text(const Section& dataset, const Table& table, const fs::path& data_folder,
                          const std::string& libtorch) {
  PrepareOptions options;
  options.libtorch = libtorch;
  return Preparation(dataset, table, options).glance(data_folder);
}

std::optional<std::string> fingerprint_of_text(const Section& dataset, const Table& table,
                                               const fs::path& data_folder, Reading reading,
                                               const std::string& libtorch) {
  PrepareOptions options;
  options.libtorch = libtorch;
  return Preparation(dataset, table, options).fingerprint(data_folder, reading);
}

}  // namespace exprun
