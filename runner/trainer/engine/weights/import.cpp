#include "engine/weights/import.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/files/llmc_checkpoint.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "engine/weights/name_table.h"
#include "engine/weights/tensor_plan.h"
#include "engine/weights/weight_files.h"
#include "huggingface/model_config.h"
#include "recipe/paths.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMostShown = 60;

// What it is in the recipe that decides how strict the import is.
struct Wishes {
  bool partial;
  bool resize_vocabulary;
};

std::string shape_text(at::IntArrayRef shape) {
  std::vector<int64_t> sizes = shape.vec();
  return json_text(json(sizes));
}

bool is_of_numbers(const std::string& dtype) {
  return dtype == "F64" || dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

// The tensors of a source by the names of a plan.
class Source {
 public:
  Source(const WeightFiles& files, const TensorPlan& plan) : files_(files), plan_(plan) {}

  // As the file calls it; nothing where it is not there.
  std::optional<std::string> find(const std::string& name) const {
    if (files_.has(name)) return name;
    const bool prefixed = !plan_.prefix.empty() && name.starts_with(plan_.prefix);
    const std::string bare = prefixed ? name.substr(plan_.prefix.size()) : name;
    return prefixed && files_.has(bare) ? std::optional(bare) : std::nullopt;
  }
  const SafetensorsEntry& entry(const std::string& name) const { return files_.entry(*find(name)); }
  at::Tensor tensor(const std::string& name) const { return files_.tensor(*find(name)); }
  // It has been read.
  void release(const std::string& name) const { files_.release(*find(name)); }

  size_t found() const {
    return static_cast<size_t>(std::count_if(
        plan_.tensors.begin(), plan_.tensors.end(),
        [&](const auto& planned) { return !planned.parts.empty() && find(planned.name); }));
  }

  const WeightFiles& files() const { return files_; }
  const TensorPlan& plan() const { return plan_; }

 private:
  const WeightFiles& files_;
  const TensorPlan& plan_;
};

// Everything in which a source and the model differ.
struct Differences {
  std::vector<std::string> missing;  // of the model's
  std::vector<std::string> unused;   // of the source
  std::vector<std::string> unfit;    // shape or dtype

  bool none() const { return missing.empty() && unused.empty() && unfit.empty(); }
};

bool shape_fits(const PlannedTensor& planned, const std::vector<int64_t>& found,
                const Wishes& wishes) {
  if (planned.shape == found) return true;
  if (!planned.of_vocabulary || !wishes.resize_vocabulary || found.size() != planned.shape.size())
    return false;
  const size_t tokens = planned.transposed ? 1 : 0, width = 1 - tokens;
  return found[tokens] > 0 && found[tokens] <= planned.shape[tokens] &&
         found[width] == planned.shape[width];
}

// The tokens of source and model where both say how many rows are padding, which shapes hide.
struct Vocabularies {
  int64_t theirs = 0, ours = 0;
};

std::optional<Vocabularies> stated_vocabularies(const Source& source) {
  const auto theirs = source.files().vocab_size(), ours = source.plan().vocab_size;
  if (!theirs || !ours) return std::nullopt;
  return Vocabularies{*theirs, *ours};
}

// Whether a tensor that so many rows of are tokens can be of this shape.
bool has_rows(const PlannedTensor& planned, const std::vector<int64_t>& found, int64_t tokens) {
  return tokens >= 1 && tokens <= found[planned.transposed ? 1 : 0];
}

bool vocabulary_fits(const Vocabularies& stated, const Wishes& wishes) {
  return stated.theirs == stated.ours || (wishes.resize_vocabulary && stated.theirs < stated.ours);
}

std::string known_as(const PlannedTensor& planned) {
  const std::string& ours = planned.parts.front().parameter;
  return ours == planned.name ? "'" + ours + "'" : "'" + planned.name + "' (" + ours + ")";
}

// A head that the model shares with its embedding may be there again, if it is the same.
bool is_tied_copy(const Source& source, const std::string& name) {
  const auto& tensors = source.plan().tensors;
  const auto embedding = std::find_if(tensors.begin(), tensors.end(), [](const auto& planned) {
    return !planned.parts.empty() && planned.parts.front().parameter == kEmbedding;
  });
  if (name != "lm_head.weight" || embedding == tensors.end() || !source.find(embedding->name))
    return false;
  const at::Tensor head = source.files().tensor(name), tokens = source.tensor(embedding->name);
  const bool same = head.scalar_type() == tokens.scalar_type() && head.sizes() == tokens.sizes() &&
                    at::equal(head, tokens);
  source.files().release(name);
  return same;
}

Differences compare(const Source& source, const Wishes& wishes) {
  Differences differences;
  std::set<std::string> used;
  for (const std::string& ours : source.plan().unplanned)
    differences.missing.push_back("'" + ours + "'");
  for (const PlannedTensor& planned : source.plan().tensors) {
    const auto name = source.find(planned.name);
    if (planned.parts.empty()) continue;
    if (!name) {
      differences.missing.push_back(known_as(planned));
      continue;
    }
    used.insert(*name);
    const SafetensorsEntry& entry = source.files().entry(*name);
    const auto stated = planned.of_vocabulary ? stated_vocabularies(source) : std::nullopt;
    if (!shape_fits(planned, entry.shape, wishes))
      differences.unfit.push_back("'" + *name + "' has the shape " + shape_text(entry.shape) +
                                  ", not " + shape_text(planned.shape));
    else if (stated && !has_rows(planned, entry.shape, stated->theirs))
      differences.unfit.push_back("'" + *name + "' has the shape " + shape_text(entry.shape) +
                                  ", but its file says that vocab_size is " +
                                  std::to_string(stated->theirs));
    else if (stated && !vocabulary_fits(*stated, wishes))
      differences.unfit.push_back("'" + *name + "' is of " + with_thousands(stated->theirs) +
                                  " tokens, not " + with_thousands(stated->ours));
    if (!is_of_numbers(entry.dtype))
      differences.unfit.push_back("'" + *name + "' has the dtype " + entry.dtype +
                                  ", not F32, F16, BF16 or F64");
  }
  for (const std::string& name : source.files().names())
    if (used.count(name) == 0 && !matches_any(source.plan().ignored, name) &&
        !is_tied_copy(source, name))
      differences.unused.push_back("'" + name + "'");
  return differences;
}

void add_lines(std::vector<std::string>& lines, const char* what,
               const std::vector<std::string>& names) {
  for (const std::string& name : names) lines.push_back(std::string("\n  ") + what + name);
}

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

std::string recipe_advice(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path / kConfigFile, ignored)) return "";
  return "\n  `exprun new --from " + shell_quoted(path.string()) +
         "` writes a recipe for that folder";
}

// Where a larger vocabulary is all that some of them want.
std::string vocabulary_advice(const Source& source, const Differences& differences,
                              const Wishes& wishes) {
  if (wishes.resize_vocabulary ||
      compare(source, {wishes.partial, true}).unfit.size() == differences.unfit.size())
    return "";
  return "\n  model.init_resize_vocabulary = true adds the tokens that are missing there";
}

Error misfit(const fs::path& path, const Source& source, const Differences& differences,
             const Wishes& wishes, const std::string& sizes) {
  std::vector<std::string> lines;
  if (!wishes.partial) add_lines(lines, "missing: ", differences.missing);
  add_lines(lines, "", differences.unfit);
  if (!wishes.partial) add_lines(lines, "not in the model: ", differences.unused);
  std::string text = "weights: '" + path.string() + "' and the model of the recipe differ in " +
                     pluralize(static_cast<int64_t>(lines.size()), "tensor") + ":";
  for (size_t i = 0; i < std::min(lines.size(), kMostShown); ++i) text += lines[i];
  if (lines.size() > kMostShown)
    text += "\n  and " + std::to_string(lines.size() - kMostShown) + " more";
  text += sizes + recipe_advice(path) + vocabulary_advice(source, differences, wishes);
  if (!wishes.partial && differences.unfit.empty())
    text += "\n  model.init_partial = true loads the tensors that both have";
  return Error(text, ExitCode::bad_recipe);
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

void fill(const PlannedTensor& planned, const Source& source, const Targets& targets) {
  const at::Tensor stored = source.tensor(planned.name);
  const at::Tensor rows = planned.transposed ? stored.t() : stored;
  if (planned.of_vocabulary) {
    const at::Tensor target = targets.at(planned.parts.front().parameter);
    const auto stated = stated_vocabularies(source);
    if (!stated || stated->theirs >= stated->ours)
      return fill_vocabulary(target, rows, planned.parts.front().rows);
    return fill_vocabulary(target, rows.narrow(0, 0, std::min(rows.size(0), stated->theirs)),
                           stated->ours);
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
  std::string sizes = {};  // differing_sizes(); empty where the source does not say its own
};

// What a file without a config.json has: the names of ours, or those that fit best.
Opened recognised(const WeightFiles& files, const TrainState& state, const Section& model) {
  const auto parameters = sought_in(files, state);
  Opened best{own_plan(parameters, model.find<int64_t>("vocab_size")),
              files.are_averages() ? "exprun, averages" : "exprun"};
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
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
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
  std::error_code ignored;
  if (!fs::exists(path / kConfigFile, ignored)) return recognised(files, state, model);
  const json config = read_config(path / kConfigFile);
  const ModelKeys keys = model_keys(config, path / kConfigFile);
  require_gpt(path, model);
  const std::string type = model_type_of(config);
  return {foreign_plan(*tensor_names(type), sought_in(files, state), model), type,
          other_than_config(recipe, keys), differing_sizes(keys, model)};
}

void add_what_stayed(Imported& imported, const Differences& differences) {
  if (!differences.missing.empty())
    imported.warnings.push_back(
        "the weights lack these parameters, which keep their initial values: " +
        listed(differences.missing));
  if (!differences.unused.empty())
    imported.warnings.push_back("the model lacks these tensors, which were ignored: " +
                                listed(differences.unused));
}

// What the source has otherwise than the model, as far as the recipe allows it.
Differences allowed_differences(const fs::path& path, const Source& source,
                                const std::string& sizes, const Section& model) {
  const Wishes wishes{model.get<bool>("init_partial"), model.get<bool>("init_resize_vocabulary")};
  Differences differences = compare(source, wishes);
  if (!differences.unfit.empty() || (!wishes.partial && !differences.none()))
    throw misfit(path, source, differences, wishes, sizes);
  if (source.found() == 0)
    throw Error("weights: no tensor in '" + path.string() + "' belongs to the model of the recipe",
                ExitCode::bad_recipe);
  return differences;
}

fs::path source_path(const Section& model) {
  return expand_path(model.get<std::string>("init_from"), libtorch_folder());
}

}  // namespace

void require_importable(const ResolvedRecipe& recipe, const TrainState& state) {
  const Section model = recipe.section("model");
  if (!model.has("init_from")) return;
  const fs::path path = source_path(model);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  try {
    const WeightFiles files(path);
    const Opened kind = opened(path, files, recipe, state);
    allowed_differences(path, Source(files, kind.plan), kind.sizes, model);
  } catch (const Error& error) {
    throw model.error("init_from", error.what());
  }
}

std::optional<Imported> import_weights(const ResolvedRecipe& recipe, const TrainState& state) {
  const Section model = recipe.section("model");
  if (!model.has("init_from")) return std::nullopt;
  const fs::path path = source_path(model);
  const WeightFiles files(path);
  const Opened source_kind = opened(path, files, recipe, state);
  const Source source(files, source_kind.plan);
  const Differences differences = allowed_differences(path, source, source_kind.sizes, model);
  const at::NoGradGuard no_grad;
  Targets targets;
  for (const auto& [name, tensor] : state.weights()) targets.emplace(name, tensor);
  for (const PlannedTensor& planned : source_kind.plan.tensors) {
    if (planned.parts.empty() || !source.find(planned.name)) continue;
    fill(planned, source, targets);
    source.release(planned.name);
  }
  Imported imported{pluralize(static_cast<int64_t>(source.found()), "tensor") + " from '" +
                        path.string() + "' (" + source_kind.system + ")",
                    source_kind.warnings};
  add_what_stayed(imported, differences);
  return imported;
}

}  // namespace exprun
