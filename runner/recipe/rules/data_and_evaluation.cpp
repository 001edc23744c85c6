#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/format_units.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "recipe/series.h"

namespace exprun {
namespace {

std::vector<std::string> evaluations_of(const Table& root, const std::string& type) {
  std::vector<std::string> paths = evaluation_tables(root);
  std::erase_if(paths, [&](const std::string& path) {
    return text_at(root, join_path(path, "type")) != type;
  });
  return paths;
}

double two_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return std::strtod(text, nullptr);
}

}  // namespace

void validation_has_data(const RuleInput& input, Diagnostics& diagnostics) {
  const bool none = !has_validation(input.root) || input.dataset_info.validation_tokens == 0;
  if (!none || !text_at(input.root, "dataset.type")) return;
  const bool text = is_made_of_text(*text_at(input.root, "dataset.type"));
  for (const std::string& path : evaluations_of(input.root, "val_loss"))
    diagnostics.push_back(clash(
        input.root, {join_path(path, "type"), "dataset.validation_fraction", "dataset.validation"},
        "[" + path + "] has no validation data",
        std::string(text ? "set dataset.validation_fraction to more than 0"
                         : "set dataset.validation") +
            ", or remove the table (on the command line: '~" + path + "')"));
}

void validation_covers_evaluation(const RuleInput& input, Diagnostics& diagnostics) {
  const auto length = sequence_length(input.root);
  const auto &exactly = input.dataset_info.validation_tokens,
             &most = input.dataset_info.most_validation_tokens;
  if ((!exactly && !most) || !length) return;
  const int64_t size = exactly ? *exactly : *most;
  const int64_t predicted = predicted_tokens(input.root, size, *length);
  const char* first =
      blocks_are_separate(input.root) ? "the first token of each block" : "the first token";
  for (const std::string& path : evaluations_of(input.root, "val_loss")) {
    const std::string key = join_path(path, "tokens");
    const auto tokens = integer_at(input.root, key);
    if (!tokens || *tokens <= predicted || predicted < 1) continue;  // data_hold_a_sequence
    diagnostics.push_back(clash(input.root, {key, "dataset.validation_fraction", "dataset.path"},
                                "'tokens' must be <= " + std::to_string(predicted) +
                                    ": the validation split has " + (exactly ? "" : "at most ") +
                                    with_thousands(size) + " tokens, and " + first +
                                    " is not predicted",
                                "\"auto\" takes the whole split"));
  }
}

std::optional<Diagnostic> long_evaluation(const RuleInput& input, const EvaluationCost& cost,
                                          const IsNoticeable& is_noticeable) {
  const auto steps = run_steps(input.root, input.dataset_info);
  const auto batch = batch_tokens(input.root);
  const std::string every_key = join_path(cost.table, "every");
  const auto period = period_at(input.root, every_key);
  const auto every = period ? in_steps(input.root, input.dataset_info, *period) : std::nullopt;
  if (!steps || !batch || !every || *every <= 0) return std::nullopt;
  const double trained = static_cast<double>(*steps) * static_cast<double>(*batch);
  // Before the first step, on its period, and at the end.
  const int64_t times = (*steps - 1) / whole_steps(*every) + 2;
  const double read = static_cast<double>(times) * static_cast<double>(cost.tokens);
  if (read * kForwardShare < trained || !is_noticeable(read)) return std::nullopt;
  const std::string shown =
      cost.is_exact
          ? pluralize(cost.tokens, "token")
          : "about " +
                with_thousands(static_cast<int64_t>(two_digits(static_cast<double>(cost.tokens)))) +
                " tokens";
  // An evaluation that is there by default has no place in the recipe; the length has.
  const std::string length_key = is_written(input.root, "run.length") ? "run.length" : "run.steps";
  return clash(input.root,
               {is_written(input.root, cost.table) ? join_path(cost.table, cost.key) : length_key,
                every_key, length_key, "batch.tokens", "batch.sequences", "batch.sequence_length",
                "model.context_length"},
               "[" + cost.table + "] may take longer than the training: it reads " + shown + ' ' +
                   pluralize(times, "time") + ", but the run trains on " +
                   with_thousands(static_cast<int64_t>(trained)),
               cost.remedy(modest_evaluation(static_cast<int64_t>(trained), times), times),
               Severity::warning);
}

Diagnostics long_evaluations(const RuleInput& input, const IsNoticeable& is_noticeable) {
  const auto length = sequence_length(input.root);
  const auto &exactly = input.dataset_info.validation_tokens,
             &likely = input.dataset_info.likely_validation_tokens;
  Diagnostics found;
  if (!length || (!exactly && !likely)) return found;
  const int64_t all = predicted_tokens(input.root, exactly ? *exactly : *likely, *length);
  for (const std::string& path : evaluations_of(input.root, "val_loss")) {
    const std::string key = join_path(path, "tokens");
    const int64_t wanted = integer_at(input.root, key).value_or(all);
    const EvaluationCost cost{path, "tokens", std::min(all, wanted), exactly || wanted < all,
                              [&](int64_t modest, int64_t) {
                                return key + "=" + std::to_string(modest) +
                                       " takes little of the run's time";
                              }};
    if (auto long_one = long_evaluation(input, cost, is_noticeable))
      found.push_back(std::move(*long_one));
  }
  return found;
}

void evaluations_take_less_than_training(const RuleInput& input, Diagnostics& diagnostics) {
  for (Diagnostic& found :
       long_evaluations(input, [](double tokens) { return tokens >= kNoticeableTokens; }))
    diagnostics.push_back(std::move(found));
}

// Whether a fraction of the data, and no other rule, is kept for validation.
bool fraction_validates(const Table& root) {
  return find_path(root, "dataset.validation") == nullptr &&
         integer_at(root, "dataset.validation_tokens").value_or(0) == 0 &&
         integer_at(root, "dataset.validation_every").value_or(0) == 0;
}

// The least fraction, of two digits, that keeps so many tokens; nothing where that would be most of
// the data, or how much those are is not known.
std::optional<double> fraction_that_keeps(int64_t tokens, const DatasetInfo& info) {
  constexpr double kMost = 0.5;
  const bool counted = info.train_tokens && info.validation_tokens;
  const int64_t all = counted ? *info.train_tokens + *info.validation_tokens
                              : info.most_train_tokens.value_or(0);  // before they are divided
  if (all <= 0) return std::nullopt;
  const double share = static_cast<double>(tokens + 1) / static_cast<double>(all);
  const double digit = std::pow(10, std::floor(std::log10(share)) - 1);
  const double fraction = std::ceil(share / digit) * digit;
  return fraction <= kMost ? std::optional(fraction) : std::nullopt;
}

void data_hold_a_sequence(const RuleInput& input, Diagnostics& diagnostics) {
  const auto length = sequence_length(input.root);
  if (!length) return;
  const bool separate = blocks_are_separate(input.root);
  std::string short_splits;
  int64_t longest = *length;
  const auto compare = [&](const char* split, std::optional<int64_t> prepared,
                           std::optional<int64_t> most) {
    const auto tokens = prepared ? prepared : most;
    if (!tokens || *tokens - !separate >= *length) return true;
    short_splits += std::string(short_splits.empty() ? "the " : ", and the ") + split +
                    " data has " + (prepared ? "only " : "at most ") + pluralize(*tokens, "token");
    longest = std::min(longest, *tokens - !separate);
    return false;
  };
  const DatasetInfo& dataset_info = input.dataset_info;
  const bool fits_training =
      compare("training", dataset_info.train_tokens, dataset_info.most_train_tokens);
  if (dataset_info.validation_tokens != 0)
    compare("validation", dataset_info.validation_tokens, dataset_info.most_validation_tokens);
  if (short_splits.empty()) return;
  const std::string key = key_of_length(input.root);
  const auto fraction = fits_training && fraction_validates(input.root)
                            ? fraction_that_keeps(*length + !separate, dataset_info)
                            : std::nullopt;
  std::string help = "use more data";
  if (fraction)
    help = "write validation_fraction = " + shortest(two_digits(*fraction)) +
           " (or 0 for no validation), or use more data";
  if (longest > 0) help += ", or a length of at most " + std::to_string(longest);
  if (!separate) help += ": a sequence of length N needs N + 1 tokens";
  std::vector<std::string> keys = {key, "dataset.path", "dataset.validation_fraction"};
  if (fraction && is_written(input.root, keys.back()))
    std::rotate(keys.begin(), keys.end() - 1, keys.end());
  diagnostics.push_back(clash(
      input.root, keys,
      "'" + last_part(key) + "' is " + std::to_string(*length) + ", but " + short_splits, help));
}

void sequences_hold_an_example(const RuleInput& input, Diagnostics& diagnostics) {
  const auto length = sequence_length(input.root);
  const bool whole = text_at(input.root, "dataset.too_long") == "drop";
  const auto& train = input.dataset_info.train_examples;
  const auto& validation = input.dataset_info.validation_examples;
  const auto least_of = [&](const ExampleLengths& lengths) {
    return whole ? lengths.shortest : lengths.shortest_beginning;
  };
  const auto of_training = least_of(train);
  const auto of_validation =
      evaluations_of(input.root, "val_loss").empty() ? std::nullopt : least_of(validation);
  const auto least = std::max(of_training, of_validation);  // nothing is less than a number
  if (!length || !least || *length >= *least) return;
  const bool validates = least != of_training;
  const auto all = std::max(train.longest, validation.longest);
  const std::string key = key_of_length(input.root);
  std::vector<std::string> keys{key, "dataset.template", "dataset.path", "dataset.too_long"};
  if (validates) keys.insert(keys.end(), {"dataset.validation", "dataset.validation_fraction"});
  // Weights that are given may have learned positions for fewer.
  const bool is_bounded = valid_at(input.root, "model.init_from") &&
                          text_at(input.root, "model.position.type") == "learned";
  const auto context = integer_at(input.root, "model.context_length");
  const auto beyond = [&](std::optional<int64_t> tokens) {
    return is_bounded && context && tokens > context;
  };
  std::string longer = "choose a length of at least " + std::to_string(*least);
  if (beyond(least))
    longer += " if the model of init_from has such a context, shorter examples if not";
  else if (all > least && !beyond(all))
    longer += " (" + std::to_string(*all) + " holds every example)";
  diagnostics.push_back(clash(
      input.root, keys,
      "'" + last_part(key) + "' is " + std::to_string(*length) + ", but the shortest " +
          (validates ? "validation " : "") +
          (whole ? "example has " : "prompt with its template has ") + pluralize(*least, "token"),
      longer + ", or " + (whole ? "too_long = \"truncate\"" : "a template that adds less")));
}

// Else the split point would divide a block, and shift all that follow.
void packed_validation_is_whole_blocks(const RuleInput& input, Diagnostics& diagnostics) {
  const auto tokens = integer_at(input.root, "dataset.validation_tokens");
  const auto block = positive_at(input.root, "dataset.block_tokens");
  if (!tokens || !block || *tokens % *block == 0) return;
  diagnostics.push_back(
      clash(input.root, {"dataset.validation_tokens", "dataset.block_tokens"},
            "'validation_tokens' must be a multiple of block_tokens, " + std::to_string(*block),
            near_multiples(*block, *tokens)));
}

void templates_have_fields(const RuleInput& input, Diagnostics& diagnostics) {
  if (text_at(input.root, "dataset.type") == "instruction") return;  // it names a template
  const auto has_field = [](const std::string& text) {
    const auto parts = template_parts(text);
    return std::any_of(parts.begin(), parts.end(),
                       [](const TemplatePart& part) { return !part.field.empty(); });
  };
  // Only records with an empty field become the fallback's text: that may be the same for all.
  for (const auto& [key, may_be_fixed] :
       {std::pair{"template", false}, {"fallback_template", true}}) {
    const auto text = text_at(input.root, join_path("dataset", key));
    if (!text) continue;
    const SourceSpan place = place_of(input.root, join_path("dataset", key));
    try {
      if (!has_field(*text) && !may_be_fixed)
        diagnostics.push_back({place,
                               "'template' has no field: every record would be the same text",
                               "write fields in braces: {text}"});
    } catch (const Error& error) {
      diagnostics.push_back({place, error.what()});
    }
  }
}

void text_has_tokenizer(const RuleInput& input, Diagnostics& diagnostics) {
  if (text_at(input.root, "dataset.type") != "token_shards") return;
  if (is_invalid(input.root, "dataset.tokenizer")) return;
  if (text_at(input.root, "dataset.tokenizer").value_or("none") != "none") return;
  for (const char* type : {"sample", "hellaswag", "perplexity", "completion"})
    for (const std::string& path : evaluations_of(input.root, type))
      diagnostics.push_back(clash(input.root,
                                  {join_path(path, "type"), "dataset.type", "dataset.tokenizer"},
                                  "[" + path + "] needs a tokenizer, but token_shards has none",
                                  "name the tokenizer that made the tokens (with "
                                  "dataset.tokenizer, or with --tokenizer in `exprun eval` and "
                                  "`exprun sample`), or remove this table"));
}

// These tokenizers have no token that begins a text by itself.
void prompt_is_not_empty(const RuleInput& input, Diagnostics& diagnostics) {
  const auto tokenizer = text_at(input.root, "dataset.tokenizer");
  if (tokenizer != "byte" && tokenizer != "char") return;
  for (const std::string& path : evaluations_of(input.root, "sample"))
    if (const std::string key = join_path(path, "prompt"); text_at(input.root, key) == "")
      diagnostics.push_back(clash(input.root, {key, "dataset.tokenizer"}, "the prompt is empty",
                                  "a line break, \"\\n\", is enough"));
}

void instruction_has_a_template(const RuleInput& input, Diagnostics& diagnostics) {
  const auto dataset = text_at(input.root, "dataset.type");
  for (const std::string& path : evaluations_of(input.root, "sample")) {
    const std::string key = join_path(path, "instruction"), prompt = join_path(path, "prompt"),
                      system = join_path(path, "system");
    if (!text_at(input.root, key)) {
      if (text_at(input.root, system))
        diagnostics.push_back(idle_key(input.root, system, "'instruction'"));
      continue;
    }
    if (asks_for_something(input, prompt))
      diagnostics.push_back(clash(input.root, {key, prompt},
                                  "'instruction' and 'prompt' both say what the model responds to",
                                  "keep one of them"));
    else if (dataset && *dataset != "instruction")
      diagnostics.push_back(
          clash(input.root, {key, "dataset.type"},
                "'instruction' needs a dataset of type \"instruction\", whose template it is "
                "written in",
                "write the whole text in 'prompt' instead"));
  }
}

std::optional<Diagnostic> unwritable_prompt(const DatasetInfo& dataset_info,
                                            const std::string& name, const std::string& prompt) {
  if (!dataset_info.characters) return std::nullopt;
  for (const CodePoint& c : code_points(prompt))
    if (dataset_info.characters->find(c.value) == std::u32string::npos)
      return Diagnostic{{},
                        "the " + name + " contains " + shown_character(c.value) +
                            ", which the tokenizer does not know",
                        c.value == U'\\' && prompt.find("\\n") != prompt.npos
                            ? "a line break is \"\\n\" in TOML and $'\\n' in a shell"
                            : "it knows only the characters of the text that it was made from"};
  return std::nullopt;
}

void prompt_can_be_encoded(const RuleInput& input, Diagnostics& diagnostics) {
  for (const std::string& path : evaluations_of(input.root, "sample")) {
    const bool is_instruction = text_at(input.root, join_path(path, "instruction")).has_value();
    for (const auto& [name, shown] : {std::pair{"prompt", "prompt"},
                                      {"instruction", "instruction"},
                                      {"system", "system message"}}) {
      if ((std::string_view(name) != "prompt") != is_instruction) continue;
      const std::string key = join_path(path, name);
      const auto problem =
          unwritable_prompt(input.dataset_info, shown, text_at(input.root, key).value_or(""));
      if (problem)
        diagnostics.push_back(clash(input.root, {key, "dataset.path", "dataset.tokenizer"},
                                    problem->message, problem->help));
    }
  }
}

void series_are_measured_once(const RuleInput& input, Diagnostics& diagnostics) {
  const auto measured = measured_series(input.schemas, input.root).series;
  for (auto second = measured.begin(); second != measured.end(); ++second) {
    const auto first = std::find_if(measured.begin(), second, [&](const MeasuredSeries& earlier) {
      return earlier.name == second->name;
    });
    if (first == second) continue;
    diagnostics.push_back(clash(
        input.root, {join_path(second->path, "type"), join_path(first->path, "type")},
        "[" + second->path + "] measures " + second->name + ", and so does [" + first->path + "]",
        "a series has one value per step: remove one of the tables"));
  }
}

namespace {

// A key of a metric, and the keys that another value of would have it measured.
std::vector<std::string> keys_of_measuring(const RuleInput& input, const std::string& metric_key,
                                           const std::string& metric) {
  std::vector<std::string> keys = {metric_key};
  for (const std::string& type : input.schemas.types("evaluation"))
    for (const std::string& table : {type, metric.substr(0, metric.find('/'))}) {
      if (!is_measured_by(input.schemas, type, table, metric)) continue;
      const std::string path = join_path("evaluation", table);
      keys.push_back(find_path(input.root, path) ? join_path(path, "type") : path);
      if (type == "val_loss")
        keys.insert(keys.end(),
                    {"metrics.val_loss", "dataset.validation_fraction", "dataset.validation"});
    }
  return keys;
}

}  // namespace

void best_metric_is_measured(const RuleInput& input, Diagnostics& diagnostics) {
  const auto metric = text_at(input.root, "run.best_metric");
  const std::string key = key_asking_for_best_metric(input.schemas, input.root);
  const Measured measured = measured_series(input.schemas, input.root);
  if (!metric || key.empty() || measured.is_uncertain || measured.has(*metric)) return;
  const bool is_watched = key == "run.early_stop";
  diagnostics.push_back(clash(input.root, keys_of_measuring(input, key, *metric),
                              (is_watched ? "'early_stop' has no metric to watch: " : "") +
                                  ("no evaluation measures '" + *metric + "'"),
                              help_for_series(*metric, measured.names())));
}

// A run has one idea of what is best: the one that early stopping looks at too.
void kept_best_is_best_metric(const RuleInput& input, Diagnostics& diagnostics) {
  const auto kept = text_at(input.root, "checkpoint.keep_best");
  const auto metric = text_at(input.root, "run.best_metric");
  if (!kept || !metric || *kept == "none" || *kept == "auto") return;
  const Measured measured = measured_series(input.schemas, input.root);
  if (*kept != *metric) {
    diagnostics.push_back(
        clash(input.root, {"checkpoint.keep_best", "run.best_metric"},
              "'keep_best' must be the run's best_metric, '" + *metric + "', or none",
              measured.has(*kept) ? "set best_metric = \"" + *kept + "\" in [run]"
                                  : help_for_series(*kept, measured.names())));
  } else if (!measured.is_uncertain && !measured.has(*kept)) {
    diagnostics.push_back(clash(input.root, keys_of_measuring(input, "checkpoint.keep_best", *kept),
                                "no evaluation measures '" + *kept + "'",
                                help_for_series(*kept, measured.names())));
  }
}

}  // namespace exprun
