#include "control/data/text_sources.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "control/data/byte_progress.h"
#include "control/data/read/document_chunks.h"
#include "control/data/sources/sources.h"
#include "recipe/schema/schema.h"
#include "text/bpe/bpe_tokenizer.h"
#include "text/char_tokenizer.h"
#include "text/example_template.h"
#include "text/pattern_pretokenizer.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

double usual_fraction(const std::string& type) {
  const Schema& keys = SchemaSet::embedded().find("dataset", type)->at("properties");
  return keys.at("validation_fraction").at("default").get<double>();
}

// Checks that at most one rule of validation is there, and makes the default give way, which a
// recipe may write as `exprun show` does, unless it is typed.
void choose_rule(const Section& dataset, bool fraction_typed, TextOptions& options) {
  std::string rule;
  const auto take = [&](const char* key, bool there) {
    if (!there) return;
    if (!rule.empty())
      throw dataset.error_between(
          {key, rule},
          std::string("'") + key + "' and '" + rule + "' both choose what is kept for validation",
          "keep one of them");
    rule = key;
  };
  take("validation", dataset.has("validation"));
  take("validation_tokens", options.validation_tokens > 0);
  take("validation_every", options.validation_every > 0);
  const double fraction = options.validation_fraction;
  take("validation_fraction",
       fraction > 0 && (fraction_typed || fraction != usual_fraction(dataset.type())));
  if (!rule.empty() && rule != "validation_fraction") options.validation_fraction = 0;
}

// Raise it when the same text would become other tokens.
constexpr const char* kMethod = "text 4";
// Raise it when the same record would become another text.
constexpr const char* kRecordMethod = " records 2";
// Raise it when the same example would become another text, or other segments.
constexpr const char* kExampleMethod = " examples 1";

constexpr int64_t kGpt2Tokens = 50257;

// Lines and bytes of a file that went by, for the place of a mistake.
struct Progress {
  int64_t bytes = 0, lines = 0;

  void pass(std::string_view text) {
    bytes += static_cast<int64_t>(text.size());
    lines += std::count(text.begin(), text.end(), '\n');
  }
};

// At the key `tokenizer`: bytes would do where characters cannot.
void check_utf8(const Section& dataset, const Chunk& chunk, const Progress& before) {
  const auto byte = first_invalid_byte(chunk.bytes);
  if (!byte) return;
  Progress until = before;
  until.pass(std::string_view(chunk.bytes).substr(0, *byte));
  throw dataset.error("tokenizer",
                      "'" + chunk.file + "' is not UTF-8: byte " + std::to_string(until.bytes) +
                          ", in line " + std::to_string(until.lines + 1),
                      "write tokenizer = \"byte\", or convert the file");
}

// All texts of a chunk of records, in order.
class TextVisitor {
 public:
  explicit TextVisitor(const TextOptions& options) {
    if (options.example_template.empty())
      text_.emplace(options.text_template, options.fallback_template);
    else
      example_.emplace(options.example_template);
  }

  void operator()(const Chunk& chunk, const std::function<void(std::string_view)>& visit) const {
    if (text_)
      return for_each_text(chunk, *text_,
                           [&](const Piece&, std::string_view text) { visit(text); });
    for_each_piece(chunk, [&](const Piece&, std::string_view record) {
      for (const ExamplePart& part : example_->fill(record)) visit(part.text);
    });
  }

 private:
  std::optional<RecordTemplate> text_;
  std::optional<ExampleTemplate> example_;
};

// Pieces end at the ends of characters, where there are no separators to lose.
std::unique_ptr<Tokenizer> char_tokenizer(const Section& dataset, const TextOptions& options,
                                          const std::vector<RawSource>& sources) {
  const TextVisitor visit_texts(options);
  const auto cutter = make_char_tokenizer(U"");
  ChunkOptions chunks;
  chunks.records = {options.format, options.separator, true,
                    [&](std::string_view bytes) { return cutter->safe_cut(bytes); }};
  CharacterSet characters;
  std::string file;
  Progress before;
  ByteProgress progress("reading characters", file_bytes(sources));
  const auto use = [&](const Chunk& chunk) {
    progress.show(chunk.bytes_read);
    if (chunk.json)
      return visit_texts(chunk, [&](std::string_view bytes) { characters.add(bytes); });
    if (chunk.file != file) before = {};
    file = chunk.file;
    check_utf8(dataset, chunk, before);
    characters.add(chunk.bytes);
    before.pass(chunk.bytes);
  };
  read_chunks(sources, chunks, use);
  try {
    return make_char_tokenizer(characters.sorted());
  } catch (const Error& error) {
    throw dataset.error("tokenizer", error.what());
  }
}

void require_records(const std::vector<RawSource>& sources, const std::string& format) {
  for (const RawSource& source : sources)
    if (format_of_file(source.source.file, format) == "text")
      throw RecipeError(source.source.where,
                        "'" + source.source.file.string() + "' does not look like JSON by its name",
                        "instruction data is JSON records: write format = \"json_lines\" or "
                        "\"json\" if the file contains them");
}

// The key that says what is kept for validation, or none.
std::string rule_of(const Section& dataset, const TextOptions& options) {
  if (dataset.has("validation")) return "validation";
  if (options.validation_tokens > 0) return "validation_tokens";
  if (options.validation_every > 0) return "validation_every";
  return options.validation_fraction > 0 ? "validation_fraction" : "";
}

RecipeError no_full_block(const Section& dataset, const TextOptions& options, const char* split) {
  return dataset.error("block_tokens",
                       std::string("the ") + split + " data does not fill one block of " +
                           with_thousands(options.block_tokens) + " tokens",
                       "lower block_tokens, or set it to 0 to keep every token");
}

RecipeError no_text(const Section& dataset, const TextOptions& options, const SplitCounts& counts) {
  const std::string texts =
      counts.documents == 1 ? "the text of the only record"
                            : "the text of each of the " + pluralize(counts.documents, "record");
  if (counts.documents > 0 && counts.text_bytes == 0 && options.separator.empty())
    return dataset.error("template", texts + " is empty, so there are no tokens to train on",
                         "dataset.template names the fields that are read");
  return dataset.error("path", "the sources contain no text, so there are no tokens to train on");
}

}  // namespace

nlohmann::json TextOptions::to_json() const {
  if (!example_template.empty())
    return {{"format", format},
            {"template", example_template},
            {"tokenizer", tokenizer},
            {"validation_fraction", validation_fraction},
            {"validation_every", validation_every},
            {"shard_tokens", shard_tokens}};
  return {{"format", format},
          {"template", text_template},
          {"fallback_template", fallback_template},
          {"tokenizer", tokenizer},
          {"separator", separator},
          {"keep_separator", keep_separator},
          {"end_of_text", end_of_text},
          {"validation_fraction", validation_fraction},
          {"validation_tokens", validation_tokens},
          {"validation_every", validation_every},
          {"shard_tokens", shard_tokens},
          {"block_tokens", block_tokens},
          {"block_documents", block_documents}};
}

// The same bytes are other records as a.jsonl than as a.txt; a text's format is not said.
std::string TextOptions::identity(const std::vector<RawSource>& sources) const {
  std::string formats;
  for (const RawSource& source : sources)
    formats += " " + format_of_file(source.source.file, format);
  const bool all_are_texts = formats.find("json") == formats.npos;
  std::string identity = std::string(kMethod) + " " + json_text(to_json());
  // Its pattern is matched with PCRE2's idea of letters and numbers; GPT-2's with our own tables.
  if (tokenizer == "huggingface") identity += " Unicode " + unicode_version();
  if (all_are_texts) return identity;
  return identity + (format == "auto" ? formats : "") +
         (example_template.empty() ? kRecordMethod : kExampleMethod);
}

TextOptions text_options(const Section& dataset, bool fraction_typed) {
  TextOptions options;
  options.format = dataset.get<std::string>("format");
  options.tokenizer = dataset.get<std::string>("tokenizer");
  options.vocabulary = dataset.get<std::string>("vocabulary");
  options.validation_fraction = dataset.get<double>("validation_fraction");
  options.validation_every = dataset.get<int64_t>("validation_every");
  options.shard_tokens = dataset.get<int64_t>("shard_tokens");
  if (dataset.type() == "instruction") {
    options.example_template = dataset.get<std::string>("template");
    options.end_of_text = "auto";
    choose_rule(dataset, fraction_typed, options);
    return options;
  }
  options.text_template = dataset.get<std::string>("template");
  options.fallback_template = dataset.find<std::string>("fallback_template").value_or("");
  options.separator = dataset.get<std::string>("separator");
  options.keep_separator = dataset.get<bool>("keep_separator");
  options.end_of_text = dataset.get<std::string>("end_of_text");
  options.validation_tokens = dataset.get<int64_t>("validation_tokens");
  options.block_tokens = dataset.get<int64_t>("block_tokens");
  options.block_documents = dataset.get<int64_t>("block_documents");
  choose_rule(dataset, fraction_typed, options);
  return options;
}

std::vector<RawSource> raw_sources(const Table& dataset, const std::string& libtorch) {
  SplitSources found = find_split_sources(dataset, libtorch);
  std::vector<RawSource> sources;
  sources.reserve(found.train.size() + found.validation.size());
  for (Source& source : found.train) sources.push_back({std::move(source), Split::train});
  for (Source& source : found.validation) sources.push_back({std::move(source), Split::validation});
  if (*dataset.find("type")->as<std::string>() == "instruction")
    require_records(sources, *dataset.find("format")->as<std::string>());
  return sources;
}

namespace {

std::string vocabulary_remedy(const std::string& tokenizer) {
  return tokenizer == "gpt2" ? "get the vocabulary of GPT-2: exprun data fetch gpt2_tokenizer; or "
                               "set dataset.vocabulary to the folder that has vocab.bpe and "
                               "encoder.json"
                             : "give the tokenizer.json of a byte-level BPE, or its folder";
}

}  // namespace

RecipeError vocabulary_error(const Section& dataset, const Error& error,
                             const std::string& tokenizer,
                             const std::filesystem::path& vocabulary) {
  std::error_code ignored;
  const bool is_kept_from_us = is_lack(error) && fs::exists(vocabulary, ignored);
  const RecipeError said =
      dataset.error_between({"vocabulary", "tokenizer"}, error.what(),
                            is_kept_from_us ? "" : vocabulary_remedy(tokenizer));
  return is_lack(error) ? as_lack(said) : said;
}

std::unique_ptr<Tokenizer> load_named_tokenizer(const Section& dataset,
                                                const std::string& tokenizer,
                                                const std::filesystem::path& vocabulary) {
  std::unique_ptr<Tokenizer> loaded;
  try {
    loaded = load_vocabulary(vocabulary);
  } catch (const Error& error) {
    throw vocabulary_error(dataset, error, tokenizer, vocabulary);
  }
  if (tokenizer == "gpt2" && loaded->vocab_size() != kGpt2Tokens)
    throw dataset.error_between({"vocabulary", "tokenizer"},
                                "'" + vocabulary.string() + "' has " +
                                    with_thousands(loaded->vocab_size()) +
                                    " tokens, but GPT-2 has " + with_thousands(kGpt2Tokens),
                                "write tokenizer = \"huggingface\", or get GPT-2's: exprun data "
                                "fetch gpt2_tokenizer");
  return loaded;
}

std::unique_ptr<Tokenizer> make_tokenizer(const Section& dataset, const TextOptions& options,
                                          const std::vector<RawSource>& sources) {
  if (options.tokenizer == "byte") return make_byte_tokenizer();
  if (options.tokenizer == "char") return char_tokenizer(dataset, options, sources);
  return load_named_tokenizer(dataset, options.tokenizer, options.vocabulary);
}

namespace {

// Whether a text begins like something else, which opening it says. Throws RecipeError.
void check_begin(const Source& source, const RecordOptions& options) try {
  open_records(source.file, options);
} catch (const Error& error) {
  throw RecipeError(Diagnostics{problem_at(source.where, error)});
}

}  // namespace

void check_texts(const TextOptions& options, const std::vector<RawSource>& sources) {
  constexpr size_t kOpened = 16;  // of many, evenly
  std::vector<const Source*> texts;
  for (const RawSource& source : sources)
    if (format_of_file(source.source.file, options.format) == "text")
      texts.push_back(&source.source);
  const size_t stride = std::max<size_t>(1, texts.size() / kOpened);
  for (size_t i = 0; i < texts.size(); i += stride)
    check_begin(*texts[i], {options.format, options.separator, true, {}});
}

void check_records(const TextOptions& options, const std::vector<RawSource>& sources) {
  std::vector<RawSource> records;
  for (const RawSource& source : sources)
    if (format_of_file(source.source.file, options.format) != "text") records.push_back(source);
  const TextVisitor visit_texts(options);
  ChunkOptions chunks;
  chunks.records = {options.format, options.separator, true, {}};
  read_chunks(records, chunks,
              [&](const Chunk& chunk) { visit_texts(chunk, [](std::string_view) {}); });
}

bool are_mixed(const std::vector<RawSource>& sources, const std::string& format) {
  const auto is_text = [&](const RawSource& source) {
    return format_of_file(source.source.file, format) == "text";
  };
  const auto texts = std::count_if(sources.begin(), sources.end(), is_text);
  return texts > 0 && texts < static_cast<ptrdiff_t>(sources.size());
}

void refuse_empty_split(const Section& dataset, const TextOptions& options,
                        const SplitCounts& counts) {
  const std::string rule = rule_of(dataset, options);
  const bool blocks = options.block_tokens > 0 && counts.text_bytes > 0;
  if (counts.train_tokens == 0 && blocks) throw no_full_block(dataset, options, "training");
  if (counts.train_tokens == 0 && counts.validation_tokens > 0 && rule != "validation")
    throw dataset.error(
        rule,
        "'" + rule + "' keeps " +
            (counts.validation_tokens == 1
                 ? "the one token"
                 : "all " + pluralize(counts.validation_tokens, "token")) +
            " for validation, which leaves none for training",
        counts.documents == 1 && rule == "validation_fraction"
            ? "write validation_fraction = 0 for no validation, or name its files in 'validation'"
            : "keep fewer");
  if (counts.train_tokens == 0) throw no_text(dataset, options, counts);
  if (rule.empty() || counts.validation_tokens > 0) return;
  if (blocks) throw no_full_block(dataset, options, "validation");
  if (rule == "validation")
    throw dataset.error(rule, "the files contain no text, so there are no tokens to validate on");
  const std::string documents =
      counts.documents > 1 ? " (" + with_thousands(counts.documents) + " documents)" : "";
  throw dataset.error(rule,
                      "'" + rule + "' keeps none of " + pluralize(counts.train_tokens, "token") +
                          documents + " for validation",
                      rule == "validation_fraction"
                          ? "keep more, or write 0"
                          : "keep more, or write validation_fraction = 0 instead");
}

}  // namespace exprun
