#include "control/report/export/huggingface_folder.h"

#include <algorithm>
#include <map>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/process/program.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "control/report/editable_toml.h"
#include "control/report/export/generation_config.h"
#include "huggingface/tokenizer_settings.h"
#include "recipe/quantities.h"
#include "recipe/toml/write.h"
#include "text/bpe/bpe_vocabulary.h"
#include "text/example_template.h"
#include "text/tokenizer.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

void write_json(const fs::path& file, const ordered_json& value) {
  write_file(file, json_text(value, 2) + "\n");
}

ordered_json tokenizer_json(const ordered_json& model, const ordered_json& pre_tokenizer,
                            const ordered_json& decoder) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", pre_tokenizer},
          {"post_processor", nullptr},
          {"decoder", decoder},
          {"model", model}};
}

// A token for each byte: byte-level BPE without a merge.
ordered_json byte_tokenizer() {
  constexpr char32_t kBehindAlphabet = 256 + 68;
  ordered_json vocabulary = ordered_json::object();
  for (char32_t character = 0; character < kBehindAlphabet; ++character) {
    std::string text;
    append_code_point(text, character);
    if (const auto byte = bytes_of_alphabet(text))
      vocabulary[text] = static_cast<unsigned char>(byte->front());
  }
  const ordered_json bytes{{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", false}};
  return tokenizer_json({{"type", "BPE"},
                         {"dropout", nullptr},
                         {"unk_token", nullptr},
                         {"continuing_subword_prefix", nullptr},
                         {"end_of_word_suffix", nullptr},
                         {"fuse_unk", false},
                         {"byte_fallback", false},
                         {"vocab", vocabulary},
                         {"merges", json::array()}},
                        bytes, bytes);
}

// A token for each character of the table.
ordered_json char_tokenizer(const Tokenizer& tokenizer) {
  ordered_json vocabulary = ordered_json::object();
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id)
    vocabulary[tokenizer.decode(std::span(&id, 1))] = id;
  const std::string first = tokenizer.decode(std::vector<int64_t>{0});
  return tokenizer_json({{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", first}},
                        {{"type", "Split"},
                         {"pattern", {{"Regex", "[\\s\\S]"}}},
                         {"behavior", "Isolated"},
                         {"invert", false}},
                        {{"type", "Fuse"}});
}

void copy_into(const fs::path& file, const fs::path& target) {
  write_file(target, read_file(file));
}

// What transformers is to take the tokenizer for; empty where it has no form for it.
std::string write_vocabulary(const json& tokenizer, const fs::path& folder) {
  const std::string type = tokenizer.value("type", "");
  if (type == "byte") {
    write_json(folder / "tokenizer.json", byte_tokenizer());
    return "PreTrainedTokenizerFast";
  }
  if (type == "char") {
    write_json(folder / "tokenizer.json", char_tokenizer(*load_tokenizer(tokenizer)));
    return "PreTrainedTokenizerFast";
  }
  const auto files = vocabulary_files(tokenizer.at("vocabulary").get<std::string>());
  for (const fs::path& file : files) {
    if (files.size() == 1 && file.extension() != ".json") return "";
    if (files.size() == 1)
      copy_into(file, folder / "tokenizer.json");
    else  // OpenAI's names of GPT-2's files, or HuggingFace's
      copy_into(file, folder / (file.extension() == ".json" ? "vocab.json" : "merges.txt"));
  }
  return files.size() == 1 ? "PreTrainedTokenizerFast" : "GPT2Tokenizer";
}

// What stands beside a vocabulary: copied from where that came from, or made for it.
struct TokenizerFiles {
  ordered_json tokenizer_config;
  ordered_json generation_config;
  std::map<std::string, ordered_json> ids;    // of config.json
  std::map<std::string, std::string> others;  // by name
};

std::optional<std::string> text_of(const Tokenizer& tokenizer, std::optional<uint32_t> token) {
  for (const auto& [text, id] : tokenizer.special_tokens())
    if (id == token) return text;
  return std::nullopt;
}

// For a vocabulary that no folder says more of. GPT-2 has one token for both ends of a text.
TokenizerFiles made_for(const Tokenizer& tokenizer, const std::string& of,
                        const ExportedModel& model) {
  TokenizerFiles files;
  files.tokenizer_config = {
      {"tokenizer_class", of},
      {"model_max_length", model.recipe.section("model").get<int64_t>("context_length")},
      {"clean_up_tokenization_spaces", false}};
  files.generation_config = {{"do_sample", true}};
  const auto end = tokenizer.end_of_text(), own = tokenizer.begin_of_text();
  for (const auto& [name, token] :
       {std::pair("eos_token", end), std::pair("bos_token", own ? own : end)}) {
    const auto text = text_of(tokenizer, token);
    if (!text) continue;
    const std::string id = std::string(name) + "_id";
    files.tokenizer_config[name] = *text;
    files.generation_config[id] = files.ids[id] = *token;
  }
  return files;
}

TokenizerFiles copied_from(const TokenizerSettings& settings, TokenizerFiles made) {
  const ordered_json of = made.tokenizer_config.at("tokenizer_class");
  if (!settings.tokenizer_config.is_null()) made.tokenizer_config = settings.tokenizer_config;
  if (!made.tokenizer_config.contains("tokenizer_class"))
    made.tokenizer_config["tokenizer_class"] = of;  // else transformers takes the model's
  if (!settings.ids.empty()) made.ids = {settings.ids.begin(), settings.ids.end()};
  made.others = settings.files;
  if (!settings.generation_config.is_null()) {
    made.generation_config = settings.generation_config;
    return made;
  }
  for (const auto& [id, value] : settings.ids) made.generation_config[id] = value;
  return made;
}

// The template of the examples that the run has learned; nothing where it learned no instructions.
std::optional<std::string> template_of(const ExportedModel& model) {
  const Section dataset = model.recipe.section("dataset");
  if (dataset.type() != "instruction") return std::nullopt;
  return dataset.get<std::string>("template");
}

// Nothing where the vocabulary's own folder says nothing. What `warnings` say: that it is another
// tokenizer's by now, or says what cannot be read; the weights are there already.
std::optional<TokenizerSettings> settings_beside_vocabulary(
    const ExportedModel& model, std::vector<std::string>& warnings) try {
  const json kept = model.data.tokenizer.value("vocabulary", json());
  if (!model.vocabulary || !kept.is_string()) return std::nullopt;
  if (is_same_vocabulary(kept.get<std::string>(), *model.vocabulary))
    return tokenizer_settings(folder_of_vocabulary(*model.vocabulary));
  warnings.push_back("'" + model.vocabulary->string() +
                     "' is gone or has changed since the data was prepared: its chat template and "
                     "special tokens were not copied");
  return std::nullopt;
} catch (const Error& error) {
  warnings.push_back(
      std::string(error.what()) +
      "; no chat template and special tokens were copied from beside the vocabulary");
  return std::nullopt;
}

TokenizerFiles tokenizer_files(const std::string& of, const ExportedModel& model,
                               std::vector<std::string>& warnings) {
  const auto tokenizer = load_tokenizer(model.data.tokenizer);
  TokenizerFiles files = made_for(*tokenizer, of, model);
  if (const auto settings = settings_beside_vocabulary(model, warnings))
    files = copied_from(*settings, std::move(files));
  if (const auto form = template_of(model)) {
    // What the run learned, whatever stood beside the vocabulary.
    files.tokenizer_config["chat_template"] =
        ExampleTemplate(*form).in_jinja(text_of(*tokenizer, tokenizer->end_of_text()).value_or(""));
    files.others.erase("chat_template.jinja");
    add_ends_of_responses(files.generation_config, *tokenizer, *form, warnings);
  }
  return files;
}

// Losses and results of evaluations are named "train/loss", "quiz/acc"; what the machine did too.
bool is_result(const SeriesRow& series) {
  return series.name.find('/') != series.name.npos && !series.name.starts_with("system/") &&
         !series.timing;
}

std::string metric_line(const SeriesRow& series, const Criterion& recorded) {
  using Which = ValueName::Which;
  std::string best;
  if (const Goal goal = goal_of(series.name, recorded); goal != Goal::none) {
    const Which which = goal == Goal::lowest ? Which::min : Which::max;
    best = summary_cell(series, which).text + " (step " + summary_step(series, which).text + ')';
  }
  return "| " + series.name + " | " + summary_cell(series, Which::last).text + " | " + best +
         " |\n";
}

std::string metrics_text(const std::vector<SeriesRow>& all, const Criterion& recorded) {
  std::string lines;
  for (const SeriesRow& series : all)
    if (is_result(series)) lines += metric_line(series, recorded);
  if (lines.empty()) return "";
  return "\n## Metrics\n\nOver the whole run; losses in nats for each token.\n\n"
         "| series | last | best |\n|---|---|---|\n" +
         lines;
}

// What the weights are, where they are not simply those of the last update.
std::string weights_text(const ResolvedRecipe& recipe, bool is_adapter) {
  std::string text;
  if (const auto from = text_at(recipe.root(), "model.init_from"))
    text += " Training began with the weights of `" + *from + "`.";
  const Value* rank = recipe.find("model.lora.rank");
  if (rank && !is_adapter)
    text += " A LoRA adapter of rank " + toml_text(*rank) + " is merged into them.";
  const Value* average = recipe.find("run.ema");
  if (const double* decay = average ? average->as<double>() : nullptr; decay && *decay > 0)
    text += " The weights are moving averages with a decay of " + toml_text(*average) + '.';
  return text;
}

std::string data_text(const PreparedData& data) {
  int64_t tokens = 0;
  for (const TokenShard& shard : data.train) tokens += shard.tokens;
  std::string text = with_thousands(tokens) + " tokens";
  if (!data.made_from.is_object() || !data.made_from.contains("files"))
    return text + " of " + pluralize(static_cast<int64_t>(data.train.size()), "shard") + ".\n";
  text += " of these files:\n\n";
  for (const json& file : data.made_from.at("files"))
    text += "- `" + file.value("path", "") + "`, " +
            with_thousands(file.value("bytes", int64_t{0})) + " bytes, XXH3-128 `" +
            file.value("xxh3_128", "") + "`\n";
  return text;
}

// How the weights that a run's checkpoint began with become a folder that transformers loads.
std::string how_to_get(const fs::path& checkpoint) {
  const auto named = checkpoint_at(checkpoint);
  if (!named) return "";
  const std::string run = named->run.path.filename().string();
  return "\nThe first weights are step " + std::to_string(named->step) + " of the run `" + run +
         "`: `exprun export " + run + " --step " + std::to_string(named->step) +
         " --huggingface DIR` writes them to a folder for transformers.\n";
}

std::string use_of_adapter(const ExportedModel& model) {
  const auto from = text_at(model.recipe.root(), "model.init_from");
  std::error_code ignored;
  const fs::path folder = from ? fs::path(model.run.working_directory) / *from : fs::path();
  const std::string base =
      from && fs::exists(folder / kConfigFile, ignored) ? *from : "path/of/the/first/weights";
  return "```python\nfrom peft import PeftModel\nfrom transformers import AutoModelForCausalLM\n\n"
         "base = AutoModelForCausalLM.from_pretrained(\"" +
         base +
         "\")\n"
         "model = PeftModel.from_pretrained(base, \"path/of/this/folder\")\n```\n" +
         how_to_get(folder);
}

std::string use_text(const ExportedModel& model, bool has_tokenizer) {
  if (model.config.obstacles.empty())
    return "```python\nfrom transformers import AutoModelForCausalLM" +
           std::string(has_tokenizer ? ", AutoTokenizer" : "") +
           "\n\nmodel = AutoModelForCausalLM.from_pretrained(\"path/of/this/folder\")\n" +
           (has_tokenizer ? "tokenizer = AutoTokenizer.from_pretrained(\"path/of/this/folder\")\n"
                          : "") +
           "```\n";
  std::string text =
      "transformers has no architecture for this model, because of these keys of `[model]`:\n\n";
  for (const std::string& obstacle : model.config.obstacles) text += "- `" + obstacle + "`\n";
  return text +
         "\nThe tensors have exprun's own names: `blocks.N.attention` and `blocks.N.feed_forward` "
         "for block N, each with the norm of that name before or after it, matrices as (out, in), "
         "and queries, keys and values one after another in the rows of `query_key_value`. "
         "`[model] init_from` of exprun reads this folder.\n";
}

std::string prompt_text(const std::string& form, const std::string& system) {
  std::string prompt = ExampleTemplate(form).prompt("Name three colors.", system);
  if (!prompt.ends_with('\n')) prompt += '\n';
  return "\nIt was trained on instructions in the template `" + form +
         "`. This is the prompt for one of them:\n\n```text\n" + prompt + "```\n";
}

std::string model_card(const ExportedModel& model, bool has_tokenizer) {
  const RunRow& run = model.run;
  const bool loads = model.config.obstacles.empty();
  const std::string library = model.is_adapter ? "library_name: peft\n"
                              : loads          ? "library_name: transformers\n"
                                               : "";
  const std::string what =
      model.is_adapter ? "LoRA adapter for a language model" : "language model";
  std::string text =
      "---\n" + library + "pipeline_tag: text-generation\ntags:\n- exprun\n---\n\n# " + run.name +
      "\n\nA " + what + " after " + pluralize(model.step, "step") + " of training with exprun " +
      version() + (model.is_adapter ? "." : ", in " + model.dtype + '.') +
      weights_text(model.recipe, model.is_adapter) +
      " Nobody has examined what it says: treat it as an experiment.\n\n## Use\n\n" +
      (model.is_adapter ? use_of_adapter(model) : use_text(model, has_tokenizer));
  if (const auto form = template_of(model))
    text +=
        prompt_text(*form, text_at(model.recipe.root(), "evaluation.sample.system").value_or(""));
  text += metrics_text(model.series, model.criterion);
  text += "\n## Data\n\n" + data_text(model.data);
  text += "\n## Recipe\n\nThe run `" + run.folder + "`, made by `" + run.command_line +
          "` and exported by `" + model.command_line + "`.\n\n```toml\n" + model.recipe.to_toml() +
          "```\n";
  return text;
}

}  // namespace

std::vector<std::string> write_huggingface_files(const ExportedModel& model,
                                                 const fs::path& folder) {
  std::vector<std::string> warnings;
  if (model.is_adapter) {
    write_file(folder / "README.md", model_card(model, false));
    return warnings;
  }
  std::string of;
  TokenizerFiles files;
  files.generation_config = {{"do_sample", true}};
  if (!model.data.tokenizer.is_null()) {
    of = write_vocabulary(model.data.tokenizer, folder);
    files = tokenizer_files(of, model, warnings);
  }
  if (!of.empty()) {
    write_json(folder / "tokenizer_config.json", files.tokenizer_config);
    for (const auto& [name, text] : files.others) write_file(folder / name, text);
  }
  if (model.config.obstacles.empty()) {
    ordered_json config = model.config.config;
    for (const auto& [id, value] : files.ids) config[id] = value;
    write_json(folder / kConfigFile, config);
    add_sampling(files.generation_config, model.recipe);
    write_json(folder / "generation_config.json", files.generation_config);
  }
  write_file(folder / kExportedRecipe,
             editable_toml(model.recipe.to_toml(), derived_values(model.recipe)));
  write_file(folder / "README.md", model_card(model, !of.empty()));
  if (of.empty())
    warnings.emplace_back(
        model.data.tokenizer.is_null()
            ? "the data has no tokenizer, and neither does the folder"
            : "the run's vocabulary has no form that transformers reads: the folder has no "
              "tokenizer");
  return warnings;
}

}  // namespace exprun
