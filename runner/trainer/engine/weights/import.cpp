#include "engine/weights/import.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/files/llmc_checkpoint.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/strings.h"
#include "engine/weights/differences.h"
#include "engine/weights/name_table.h"
#include "engine/weights/tensor_plan.h"
#include "engine/weights/weight_files.h"
#include "huggingface/model_config.h"
#include "recipe/paths.h"
#include "recipe/quantities.h"
#include "recipe/recipe_text.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The sizes in which a source that says its own and the recipe differ.
std::string differing_sizes(const ModelKeys& keys, const Section& model) {
  std::string text;
  for (const auto& [key, json] : keys) {
    const bool is_size = json.is_number_integer() && key.find('.') == key.npos;
    const auto ours = is_size ? model.find<int64_t>(key) : std::nullopt;
    if (ours && *ours != json.get<int64_t>())
      text += "\n  " + key + " is " + std::to_string(json.get<int64_t>()) + " there, " +
              std::to_string(*ours) + " in the recipe";
  }
  return text;
}

// The keys of [model] in which the run of a checkpoint and the recipe differ, but for those that
// make no tensor of the source; empty for what is no checkpoint of a run, or a run without its
// recipe.
std::string differing_keys(const fs::path& path, const WeightFiles& files,
                           const ResolvedRecipe& recipe) try {
  constexpr std::string_view kModel = "model.";
  const auto checkpoint = checkpoint_at(path);
  if (!checkpoint || !path_exists(checkpoint->run.recipe())) return "";
  const RecipeText theirs = RecipeText::from_json(read_file(checkpoint->run.recipe()));
  const auto& names = files.names();
  const bool has_adapters = std::any_of(names.begin(), names.end(), is_adapter);
  std::string text;
  for (const auto& [path_of_key, was, is] : differences(try_resolve(theirs).recipe, recipe)) {
    if (!path_of_key.starts_with(kModel)) continue;
    const std::string key = path_of_key.substr(kModel.size());
    if (key.starts_with("init") || key == "dropout") continue;
    if (key.starts_with("lora.") && !has_adapters) continue;
    text +=
        "\n  " + key + " is " + set_or_not(was) + " there, " + set_or_not(is) + " in the recipe";
  }
  return text;
} catch (const std::runtime_error& error) {  // Error, RecipeError: only the tensors tell then
  log(LogLevel::debug, error.what());
  return "";
}

using Targets = std::map<std::string, at::Tensor>;

// Rows for tokens that the source does not have, or has as padding, start as the mean of those that
// it has.
void fill_vocabulary(at::Tensor target, const at::Tensor& source, int64_t vocab_size) {
  const int64_t known = source.size(0);
  target.narrow(0, 0, known).copy_(source);
  if (known < vocab_size)
    target.narrow(0, known, vocab_size - known).copy_(source.to(at::kFloat).mean(0, true));
}

// (T, ...) of our tokens, from the rows of theirs that have the same text; the mean for the others.
at::Tensor matched_rows(const MatchedTokens& tokens, const at::Tensor& source) {
  const int64_t known = std::min(source.size(0), tokens.their_vocab_size);
  const at::Tensor rows = source.narrow(0, 0, known).to(at::kFloat);
  std::vector<int64_t> chosen = tokens.theirs;
  for (int64_t& row : chosen)
    if (row == MatchedTokens::kNone || row >= known) row = known;
  const at::Tensor index =
      at::from_blob(chosen.data(), {static_cast<int64_t>(chosen.size())}, at::kLong);
  return at::cat({rows, rows.mean(0, true)}).index_select(0, index);
}

void fill(const PlannedTensor& planned, const Source& source, const Targets& targets,
          const TokenMatch& tokens) {
  const at::Tensor stored = source.tensor(planned.name);
  const at::Tensor rows = planned.transposed ? stored.t() : stored;
  if (planned.of_vocabulary) {
    const at::Tensor target = targets.at(planned.parts.front().parameter);
    const auto stated = stated_vocabularies(source);
    const bool differs =
        stated && (stated->theirs != stated->ours || rows.sizes() != target.sizes());
    const int64_t ours = differs ? stated->ours : planned.parts.front().rows;
    const int64_t theirs = differs ? std::min(rows.size(0), stated->theirs) : rows.size(0);
    fill_vocabulary(target, rows.narrow(0, 0, std::min(theirs, ours)), ours);
    if (!tokens.matched) return;
    const at::Tensor matched = matched_rows(*tokens.matched, rows);
    target.narrow(0, 0, matched.size(0)).copy_(matched);
    return;
  }
  if (rows.dim() == 0) {
    at::Tensor target = targets.at(planned.parts.front().parameter);
    target.copy_(rows);
    return;
  }
  int64_t row = 0;
  for (const TensorPart& part : planned.parts) {
    const at::Tensor theirs = rows.narrow(0, row, part.rows);
    targets.at(part.parameter)
        .narrow(0, part.first_row, part.rows)
        .copy_(part.turned ? source.plan().order.from_theirs(theirs) : theirs);
    row += part.rows;
  }
}

// The keys of a recipe that no shape of a tensor tells, and that make another model.
const std::set<std::string> kToldByShapes = {"num_layers",
                                             "hidden_size",
                                             "feed_forward_size",
                                             "vocab_size",
                                             "bias",
                                             "dropout",
                                             "context_length",
                                             "query_key_value",
                                             "initialization.std",
                                             "tie_embeddings",
                                             "position.direction"};

std::vector<std::string> other_than_config(const ResolvedRecipe& recipe, const ModelKeys& keys) {
  std::vector<std::string> warnings;
  for (const auto& [key, json] : keys) {
    if (kToldByShapes.count(key) > 0) continue;
    const Value* ours = recipe.find("model." + key);
    const Value theirs = value_of_json(nlohmann::ordered_json(json), Origin::default_value);
    const std::string said = toml_text(theirs), written = ours ? toml_text(*ours) : "nothing";
    const auto* number = theirs.as<double>();
    const auto* other = ours ? ours->as<double>() : nullptr;
    if (written == said || (number && other && *number == *other)) continue;
    warnings.push_back("the weights were trained with " + key + " = " + said + ", the recipe has " +
                       written);
  }
  return warnings;
}

// Adapters begin as they are where the source has none.
std::vector<Parameter> sought_in(const WeightFiles& files, const TrainState& state) {
  std::vector<Parameter> sought;
  for (const Parameter& parameter : state.parameters->items())
    if (!is_adapter(parameter.name) || files.has(parameter.name)) sought.push_back(parameter);
  return sought;
}

struct Opened {
  TensorPlan plan;
  std::string system;  // for people
  std::vector<std::string> warnings = {};
  std::string sizes = {};  // differing_sizes() or _keys(); empty where the source says none
};

// What a file without a config.json has: the names of ours, or those that fit best.
Opened recognised(const fs::path& path, const WeightFiles& files, const ResolvedRecipe& recipe,
                  const TrainState& state) {
  const Section model = recipe.section("model");
  const auto parameters = sought_in(files, state);
  Opened best{own_plan(parameters, model.find<int64_t>("vocab_size")),
              files.are_averages() ? "exprun, averages" : "exprun",
              {},
              differing_keys(path, files, recipe)};
  size_t found = Source(files, best.plan).found();
  if (found > 0 || model.type() != "gpt") return best;
  for (const std::string& type : known_model_types()) {
    TensorPlan plan = foreign_plan(*tensor_names(type), parameters, model);
    const size_t count = Source(files, plan).found();
    if (count <= found) continue;
    found = count;
    best = {std::move(plan), type};
  }
  return best;
}

void require_gpt(const fs::path& path, const Section& model) {
  if (model.type() != "gpt")
    throw Error("weights: '" + path.string() + "' needs the model \"gpt\", but the recipe has \"" +
                    model.type() + "\"",
                ExitCode::bad_recipe);
}

// What is fixed in llm.c, as HuggingFace's GPT-2 says it, and what no shape of a tensor tells.
json config_of_llmc(const LlmcSizes& sizes) {
  return {{"model_type", "gpt2"},          {"activation_function", "gelu_new"},
          {"n_layer", sizes.num_layers},   {"n_head", sizes.num_heads},
          {"n_embd", sizes.hidden_size},   {"n_positions", sizes.context_length},
          {"vocab_size", sizes.vocab_size}};
}

std::optional<LlmcSizes> llmc_sizes(const fs::path& path) {
  if (!file_exists(path)) return std::nullopt;
  const MappedFile file(path);
  if (!is_llmc_checkpoint(file.bytes())) return std::nullopt;
  return parse_llmc_sizes(file.bytes(), path);
}

Opened opened(const fs::path& path, const WeightFiles& files, const ResolvedRecipe& recipe,
              const TrainState& state) {
  const Section model = recipe.section("model");
  if (model.has("init_names"))
    return {plan_by_names(model, sought_in(files, state)), "model.init_names"};
  if (const auto sizes = llmc_sizes(path)) {
    require_gpt(path, model);
    const ModelKeys keys = model_keys(config_of_llmc(*sizes), path);
    return {foreign_plan(*tensor_names(kLlmc), sought_in(files, state), model), kLlmc,
            other_than_config(recipe, keys), differing_sizes(keys, model)};
  }
  if (!path_exists(path / kConfigFile)) return recognised(path, files, recipe, state);
  const json config = read_config(path / kConfigFile);
  const ModelKeys keys = model_keys(config, path / kConfigFile);
  require_gpt(path, model);
  const std::string type = model_type_of(config);
  return {foreign_plan(*tensor_names(type), sought_in(files, state), model), type,
          other_than_config(recipe, keys), differing_sizes(keys, model)};
}

void add_what_stayed(Imported& imported, const Differences& differences, const fs::path& path) {
  if (!differences.missing.empty())
    imported.warnings.push_back(
        "the weights lack these parameters, which keep their initial values: " +
        listed(differences.missing));
  if (!differences.unused.empty())
    imported.warnings.push_back("the model lacks these tensors, which were ignored: " +
                                listed(differences.unused));
  if (differences.leaves_adapter)
    imported.warnings.push_back("the training of the adapter in these weights is not used; " +
                                advice_on_adapter(path));
}

// What the source has otherwise than the model, as far as the recipe allows it; `unmatched`: see
// Wishes.
Differences allowed_differences(const fs::path& path, const Source& source,
                                const std::string& sizes, const ResolvedRecipe& recipe,
                                const std::string& unmatched) {
  const Section model = recipe.section("model");
  const Wishes wishes{model.get<bool>("init_partial"), model.get<bool>("init_resize_vocabulary"),
                      unmatched};
  Differences differences = compare(source, wishes);
  if (!differences.unfit.empty() || (!wishes.partial && !differences.none()))
    throw misfit(path, source, differences, wishes, sizes);
  if (source.found() == 0)
    throw Error("weights: no tensor in '" + path.string() + "' belongs to the model of the recipe",
                ExitCode::bad_recipe);
  return differences;
}

std::string matched_text(const MatchedTokens& tokens) {
  const int64_t matched = tokens.matched();
  return "; tokens are matched by their text: " + with_thousands(matched) + " of " +
         with_thousands(tokens.their_vocab_size) + " kept, " +
         with_thousands(static_cast<int64_t>(tokens.theirs.size()) - matched) + " new";
}

constexpr const char* kNoTokenizer = "the data has no tokenizer";

// As far as it is known without our tokenizer. Reading theirs takes its time.
std::string why_unmatched(const fs::path& path, const Source& source,
                          const ResolvedRecipe& recipe) {
  if (!has_more_tokens(source)) return "";
  const bool has_none = text_at(recipe.root(), "dataset.tokenizer").value_or("none") == "none";
  return has_none ? kNoTokenizer : why_tokens_are_unknown(path);
}

fs::path source_path(const Section& model) {
  return expand_path(model.get<std::string>("init_from"), libtorch_folder());
}

}  // namespace

void require_importable(const ResolvedRecipe& recipe, const TrainState& state) {
  const Section model = recipe.section("model");
  if (!model.has("init_from")) return;
  const fs::path path = source_path(model);
  if (!path_exists(path)) return;
  try {
    const WeightFiles files(path);
    const Opened kind = opened(path, files, recipe, state);
    const Source source(files, kind.plan);
    allowed_differences(path, source, kind.sizes, recipe, why_unmatched(path, source, recipe));
  } catch (const Error& error) {
    throw model.error("init_from", error.what());
  }
}

TokenMatch match_tokens_with_init_from(const Pipeline& pipeline) {
  const Section model = pipeline.recipe.section("model");
  if (!model.has("init_from") || !pipeline.tokenizer) return {std::nullopt, kNoTokenizer};
  TokenMatch tokens;
  if (pipeline.group->rank() == 0) tokens = match_tokens(source_path(model), *pipeline.tokenizer);
  // Their number, kSame or kUnknown, then theirs of each of ours.
  constexpr int64_t kSame = 0, kUnknown = -1;
  std::vector<int64_t> told(static_cast<size_t>(pipeline.tokenizer->vocab_size()) + 1);
  told.front() = tokens.unknown.empty() ? kSame : kUnknown;
  if (tokens.matched) {
    told.front() = tokens.matched->their_vocab_size;
    std::ranges::copy(tokens.matched->theirs, told.begin() + 1);
  }
  pipeline.group
      ->broadcast(at::from_blob(told.data(), {static_cast<int64_t>(told.size())}, at::kLong), 0)
      ->wait();
  if (pipeline.group->rank() == 0) return tokens;
  if (told.front() == kSame) return {};
  if (told.front() == kUnknown) return {std::nullopt, "rank 0 does not know them"};
  return {MatchedTokens{{told.begin() + 1, told.end()}, told.front()}};
}

std::optional<Imported> import_weights(const ResolvedRecipe& recipe, const TrainState& state,
                                       const TokenMatch& tokens) {
  const Section model = recipe.section("model");
  if (!model.has("init_from")) return std::nullopt;
  const fs::path path = source_path(model);
  const WeightFiles files(path);
  const Opened source_kind = opened(path, files, recipe, state);
  const Source source(files, source_kind.plan);
  const Differences differences =
      allowed_differences(path, source, source_kind.sizes, recipe, tokens.unknown);
  const at::NoGradGuard no_grad;
  Targets targets;
  for (const auto& [name, tensor] : state.weights()) targets.emplace(name, tensor);
  for (const PlannedTensor& planned : source_kind.plan.tensors) {
    if (planned.parts.empty() || !source.find(planned.name)) continue;
    fill(planned, source, targets, tokens);
    source.release(planned.name);
  }
  Imported imported{pluralize(static_cast<int64_t>(source.found()), "tensor") + " from '" +
                        path.string() + "' (" + source_kind.system + ")",
                    source_kind.warnings};
  if (tokens.matched)
    imported.text += matched_text(*tokens.matched);
  else if (!tokens.unknown.empty() && model.get<bool>("init_resize_vocabulary"))
    imported.text += "; tokens keep their numbers (" + tokens.unknown + ")";
  add_what_stayed(imported, differences, path);
  return imported;
}

}  // namespace exprun
