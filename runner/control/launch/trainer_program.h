// exprun-trainer, beside this program: what only LibTorch can tell is asked from it. Where it was
// built there is exprun-trainer-cuda too: the same with CUDA in it, for runs on GPUs.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/launch/process/child_process.h"
#include "control/launch/store_folder.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "store/rows.h"
#include "text/prepared_data.h"

namespace exprun {

enum class TrainerKind { cpu, cuda };

// Its file. Throws Error that says how to build it when it is not there.
std::filesystem::path trainer_program(TrainerKind kind = TrainerKind::cpu);

bool has_cuda_trainer();

// The version of CUDA that exprun-trainer-cuda needs of a driver: "13.0".
const char* needed_cuda();

// The one that can do whatever a run may ask of this machine: the second where it has GPUs.
std::filesystem::path able_trainer_program();

// `exprun-trainer --version`: versions, BLAS, threads, instruction set. Throws Error.
nlohmann::ordered_json trainer_version();

// What `exprun-trainer --describe` answers: parameters, groups, memory, FLOPs, or why the
// components refuse the recipe.
struct Description {
  nlohmann::ordered_json plan;  // null if it is refused
  Diagnostics refusals;
};

// `is_kept`: in a cache, by the hash of what was asked; not where the answer depends on files too.
// Throws Error.
Description describe(const RecipeText& text, const DatasetInfo& dataset_info, bool is_kept);

// The learning rates of a recipe, without its model: see engine/describe.h. `dataset_info` is
// needed where its length is in epochs. Throws RecipeError for what the trainer refuses, Error.
nlohmann::ordered_json describe_schedule(const RecipeText& text, const DatasetInfo& dataset_info);

// How the learning rates of the first `steps` updates differ between two recipes: "rates" of
// engine/describe.h. Throws as describe_schedule().
nlohmann::ordered_json compare_rates(const RecipeText& now, const RecipeText& before, int64_t steps,
                                     const DatasetInfo& dataset_info);

// What keeps the weights of model.init_from from being loaded into what the recipe builds, at its
// places. Throws Error.
Diagnostics problems_of_weights(const RecipeText& text, const DatasetInfo& dataset_info = {});

// What keeps a checkpoint from being loaded into what the recipe builds: {"model": [line],
// "has_other_shapes": of the model's tensors that are in both, "optimizer": [line]}. Throws
// likewise.
nlohmann::ordered_json compare_with_checkpoint(const RecipeText& text,
                                               const std::filesystem::path& checkpoint,
                                               const DatasetInfo& dataset_info);

// GPUs are counted as their driver counts them, so that all programs mean the same by a number. How
// long OpenMP's threads spin for the next operation, unless the user has said so: about 0.2 ms
// bridges the gaps within a step. libgomp's own 300,000 rounds make a step 15 times slower as soon
// as another process wants the cores.
EnvironmentVariables trainer_environment();

// Weights that are looked at by the trainer: of a checkpoint of a run, or those that the recipe's
// model.init_from names.
struct EvaluatedWeights {
  RecipeText text;   // changed in [evaluation] only, and judged already
  std::string name;  // "at step 300 of mine-1a2b3c4d", "of models/gpt2"
  std::filesystem::path run_folder = {}, checkpoint = {};  // both empty for init_from
  // Of init_from, and of a run whose data have none: as Tokenizer::to_json writes it.
  nlohmann::json tokenizer = nullptr;
  std::optional<PreparedData> data = {};  // of the run, where it lies elsewhere by now
};

// Of a trainer that was asked to do something.
struct TrainerAnswer {
  int exit_code = 0;  // of one that failed: why is on standard error already
  nlohmann::ordered_json results = nullptr;
};

// All evaluations of the recipe: {"step": N, "metrics": {series: value}, "texts": {evaluation:
// text}, "problems": {evaluation: why there is no text}}. Throws Error.
TrainerAnswer evaluate(const EvaluatedWeights& weights);

// Whoever asks for texts, and sees them being written.
struct SampleTerminal {
  std::function<std::optional<std::string>()> next_prompt;  // nothing: there are no more
  std::function<void(const std::string& piece)> piece;
  // "tokens": there are as many as were asked for; "stop_text" or "end_of_text".
  std::function<void(const std::string& why)> text_ended;
  std::function<void(const std::string& why)> problem;  // there is no text, or no more of it
  bool is_interactive = false;  // Ctrl-C ends a text only ("interrupted"), while one is written
  bool shows_progress = false;  // on standard error, where nobody sees the texts being written
};

// Texts by [evaluation.sample], its `samples` for each prompt. Returns the exit code: of a trainer
// that failed, why is on standard error already. Throws Error.
int sample(const EvaluatedWeights& weights, const SampleTerminal& terminal);

// `model_type` is empty for exprun's own names.
struct WeightExport {
  std::filesystem::path checkpoint;
  std::filesystem::path folder;
  std::string dtype;
  std::string model_type;
  bool adapter_only = false;
};

// The weights of a checkpoint, written into a folder as engine/weights/export.h says: {"step",
// "tensors", "files"}. Throws Error.
TrainerAnswer export_weights(const StoreFolder& folder, const RunRow& run, const RecipeText& text,
                             const WeightExport& wanted);

}  // namespace exprun
