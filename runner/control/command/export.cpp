// exprun export RUN...: its metrics, or its model.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/process/signals.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/recorded_criterion.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/trainer_program.h"
#include "control/launch/weights/checkpoint_choice.h"
#include "control/report/export/huggingface_folder.h"
#include "control/report/export/tensorboard.h"
#include "control/report/series_advice.h"
#include "control/report/standard_output.h"
#include "control/report/table.h"
#include "huggingface/tensor_names.h"
#include "recipe/paths.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChunkBytes = 1 << 16;

std::string csv_line(const std::string& run, const ValueRow& row, bool attempts) {
  return csv_quoted(run) + ',' + (attempts ? std::to_string(row.attempt) + ',' : "") +
         csv_quoted(row.name) + ',' + std::to_string(row.step) + ',' + shortest(row.value) + ',' +
         shortest(row.seconds) + "\n";
}

// What is not finite is a word: JSON has no number for it.
std::string json_line(const std::string& run, const ValueRow& row, bool attempts) {
  nlohmann::ordered_json json = {{"run", run}};
  if (attempts) json["attempt"] = row.attempt;
  json["name"] = row.name;
  json["step"] = row.step;
  json["value"] = std::isfinite(row.value) ? nlohmann::ordered_json(row.value)
                                           : nlohmann::ordered_json(shortest(row.value));
  json["seconds"] = row.seconds;
  return json_text(json) + '\n';
}

// Throws Error for a name that is no series of any run.
void require_series(const Store& store, const Words& metrics) {
  if (metrics.empty()) return;
  const std::vector<std::string> known = store.series_names();
  for (const std::string& name : metrics) {
    if (std::ranges::count(known, name)) continue;
    const std::string advice = advice_on_series(name, known);
    throw Error(
        "export: no run has a series '" + name + "'" + (advice.empty() ? "" : "; ") + advice,
        ExitCode::bad_recipe);
  }
}

// fp32 and its like, as transformers calls them.
std::string dtype_called(const std::string& name) {
  if (name == "fp32") return "float32";
  if (name == "bf16") return "bfloat16";
  if (name == "fp16") return "float16";
  throw Error("export: there is no dtype '" + name + "'; it can be fp32, bf16 or fp16",
              ExitCode::bad_recipe);
}

// What --huggingface or --llmc makes of one run.
struct FolderRequest {
  std::string folder, llmc, step, dtype = "fp32";
  bool adapter_only = false;
};

// A run's recipe and a checkpoint of it.
struct Exported {
  RunRow run;
  RecipeText text;
  PreparedData data;
  ResolvedRecipe recipe;
  HeldCheckpoint checkpoint;
};

Exported exported(const Store& store, const std::string& reference, const FolderRequest& request,
                  const Globals& globals) {
  CheckpointChoice choice = checkpoint_choice("export", request.step);
  RunRow run = find_run_for_folder(store, globals.store, reference);
  require_run_folder(globals.store, run, "export");
  if (request.step.empty()) choice = choice_without_step(reference, globals.store.run(run.folder));
  RecipeText text = understood_recipe(store, run, {}, "export", reference);
  PreparedData data = PreparedData::load(globals.store.run(run.folder).data());
  ResolvedRecipe recipe = resolve(text, facts_of(data));
  HeldCheckpoint checkpoint = chosen_checkpoint(globals.store, run.folder, choice,
                                                {"export", [&] { return store.runs(run.name); }});
  return {std::move(run), std::move(text), std::move(data), std::move(recipe),
          std::move(checkpoint)};
}

void require_new(const std::string& target) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(target, ignored)))
    throw Error("export: " + target + " already exists; give another name", ExitCode::bad_recipe);
}

// llm.c computes GPT-2 and nothing else; its file says only the sizes.
std::vector<std::string> obstacles_of_llmc(const ModelConfig& config, const Section& model) {
  if (config.model_type != "gpt2") return {"position.type"};
  std::vector<std::string> obstacles = config.obstacles;
  const auto activation = model.get<std::string>("activation");
  if (activation == "gelu") obstacles.emplace_back("activation = \"gelu\", not \"gelu_tanh\"");
  const Section norm = model.table("norm");
  if (norm.holds<std::string>("eps") || norm.get<double>("eps") != 1e-5)
    obstacles.emplace_back("a norm.eps that is not 1e-5");
  if (!model.get<bool>("tie_embeddings")) obstacles.emplace_back("tie_embeddings = false");
  if (model.get<int64_t>("feed_forward_size") != 4 * model.get<int64_t>("hidden_size"))
    obstacles.emplace_back("a feed_forward_size that is not 4 hidden_size");
  return obstacles;
}

// Throws Error where the user has asked for a stop.
void end_if_stopped() {
  if (const StopRequest stop = stop_requested(); stop != StopRequest::none)
    throw Error("export: stopped; nothing was written", exit_code_of(stop));
}

// Returns the exit code of a trainer that failed and has said why.
int export_llmc(const std::string& reference, const FolderRequest& request,
                const Globals& globals) {
  const std::string dtype = dtype_called(request.dtype);
  if (dtype == "float16")
    throw Error("export: llm.c has no fp16; use --dtype fp32 or bf16", ExitCode::bad_recipe);
  require_new(request.llmc);
  const Store store = open_store(globals.store);
  const Exported from = exported(store, reference, request, globals);
  const Section model = from.recipe.section("model");
  const auto obstacles = obstacles_of_llmc(model_config(model, dtype), model);
  if (!obstacles.empty())
    throw Error("export: llm.c has no such model because of " + listed(obstacles) +
                    "; --huggingface writes it",
                ExitCode::bad_recipe);
  const fs::path target = fs::absolute(request.llmc);
  AtomicFolder writing(target);
  const int exit_code =
      export_weights(globals.store, from.run, from.text,
                     {from.checkpoint.folder.path, writing.path(), dtype, kLlmc, false})
          .exit_code;
  if (exit_code != 0) return exit_code;
  end_if_stopped();
  fs::rename(writing.path() / "model.bin", target);
  sync_file(target.parent_path());
  log_info("wrote the model of step " + std::to_string(from.checkpoint.folder.step) + " to " +
           request.llmc + " (llm.c, " + request.dtype + ")");
  return 0;
}

// Where the recipe of a run says that its vocabulary is; nothing where its tokenizer needs none.
std::optional<fs::path> vocabulary_of(const RunRow& run, const ResolvedRecipe& recipe) try {
  const Section dataset = recipe.section("dataset");
  if (!recipe.find("dataset.tokenizer")) return std::nullopt;
  const auto tokenizer = dataset.get<std::string>("tokenizer");
  if (tokenizer != "gpt2" && tokenizer != "huggingface") return std::nullopt;
  return fs::path(run.working_directory) /
         expand_path(dataset.get<std::string>("vocabulary"), libtorch_folder());
} catch (const Error&) {  // a variable of the environment that is not set here
  return std::nullopt;
}

// Returns the same.
int export_folder(const std::string& reference, const FolderRequest& request,
                  const Globals& globals) {
  const fs::path target = fs::absolute(request.folder);
  const std::string dtype = dtype_called(request.dtype);
  require_new(request.folder);
  const Store store = open_store(globals.store);
  const auto [run, text, data, recipe, held] = exported(store, reference, request, globals);
  if (request.adapter_only && !recipe.find("model.lora"))
    throw Error("export: the model of " + run.folder +
                    " has no adapter: its recipe has no "
                    "[model.lora]",
                ExitCode::bad_recipe);
  const ModelConfig config = model_config(recipe.section("model"), dtype);
  if (request.adapter_only && dtype != "float32")
    throw Error("export: an adapter alone keeps its number format; leave out --dtype",
                ExitCode::bad_recipe);
  if (request.adapter_only && !config.obstacles.empty())
    throw Error("export: transformers has no architecture for this model because of " +
                    listed(config.obstacles) +
                    ", so peft has no use for its adapter alone; leave "
                    "out --adapter to merge it",
                ExitCode::bad_recipe);
  const CheckpointFolder& checkpoint = held.folder;
  AtomicFolder writing(target);
  const auto [exit_code, written] =
      export_weights(globals.store, run, text,
                     {checkpoint.path, writing.path(), dtype,
                      config.obstacles.empty() ? config.model_type : "", request.adapter_only});
  if (exit_code != 0) return exit_code;
  const auto warnings =
      write_huggingface_files({run, store.series(run.id), recorded_criterion(store, run), recipe,
                               data, config, checkpoint.step, dtype, globals.command_line,
                               vocabulary_of(run, recipe), request.adapter_only},
                              writing.path());
  end_if_stopped();
  writing.commit();
  if (request.adapter_only) {
    log_info("wrote the adapter of step " + std::to_string(checkpoint.step) + ", " +
             pluralize(written.at("tensors").get<int64_t>(), "tensor") + ", to " + request.folder);
    return 0;
  }
  for (const std::string& warning : warnings) log_warning("export: " + warning);
  if (!config.obstacles.empty())
    log_warning("export: transformers has no architecture for this model because of " +
                listed(config.obstacles) + ": the tensors have exprun's names");
  log_info("wrote " + pluralize(written.at("tensors").get<int64_t>(), "tensor") + " of step " +
           std::to_string(checkpoint.step) + " to " + request.folder +
           (config.obstacles.empty() ? " (" + config.model_type + ", " + request.dtype + ")"
                                     : " (" + request.dtype + ")"));
  return 0;
}

using WriteModel = int (*)(const std::string& reference, const FolderRequest& request,
                           const Globals& globals);

// A stop leaves nothing behind: it ends the trainer, and what is begun is removed.
int unless_stopped(WriteModel write, const std::string& reference, const FolderRequest& request,
                   const Globals& globals) try {
  watch_stop_signals();
  return write(reference, request, globals);
} catch (const Error&) {
  end_if_stopped();
  throw;
}

}  // namespace

int run_export(const Words& words, const Globals& globals) {
  Words references, metrics;
  std::string tensorboard, step, dtype;
  FolderRequest folder;
  bool csv = false, jsonl = false, attempts = false;
  Arguments arguments("export RUN...",
                      "Prints the metrics of runs, one value per line: run, name, step, value, "
                      "seconds since the run began. With --huggingface or --llmc, writes the "
                      "model of a run.");
  arguments.words("RUN...", references, kRunsHelp, offer::runs)
      .list("--metric", "A,B", metrics, "only these series, such as train/loss,val/loss",
            offer::series)
      .flag("--csv", csv, "comma-separated values with a header (default)")
      .flag("--jsonl", jsonl, "one JSON object per line")
      .flag("--attempts", attempts,
            "also print values that a later attempt replaced, and add a column: for a replaced "
            "value, the attempt that recorded it; for a current value, 0")
      .option("--tensorboard", "DIR", tensorboard,
              "write TensorBoard event files instead, one folder per run", offer::folders)
      .option("--huggingface", "DIR", folder.folder,
              "write the model of one run to a new folder that transformers loads: weights, "
              "config.json, tokenizer, model card",
              offer::folders)
      .option("--llmc", "FILE", folder.llmc,
              "write the model of one run (GPT-2 only) to a new file that llm.c reads",
              offer::files)
      .option("--step", "N|best|last", step,
              std::string("with --huggingface or --llmc: ") + kStepHelp,
              offer::one_of({"best", "last"}))
      .option("--dtype", "TYPE", dtype,
              "with --huggingface or --llmc: the number format of the weights: fp32 (default), "
              "bf16 or, except for llm.c, fp16")
      .flag("--adapter", folder.adapter_only,
            "with --huggingface: write only the adapter of a run with [model.lora], in peft's "
            "format; without this option, it is merged into the weights")
      .note(
          "If transformers does not support a model's architecture, the model is written with "
          "exprun's tensor names; README.md in the folder lists the recipe keys that cause this.")
      .exit_codes(kReadsRuns)
      .example("exprun export @last > run.csv", "for a spreadsheet")
      .example("exprun export @last --jsonl --attempts", "for a script")
      .example("exprun export @last --huggingface models/mine --dtype bf16", "for transformers")
      .example("exprun export @last --llmc mine.bin",
               "for llm.c, whose GPT-2 has activation = \"gelu_tanh\"");
  if (!arguments.parse(words)) return 0;
  if (csv && jsonl) throw Error("export: give --csv or --jsonl", ExitCode::bad_recipe);
  if (references.empty()) throw Error("export: say which run", ExitCode::bad_recipe);
  const bool prints = tensorboard.empty() && folder.folder.empty() && folder.llmc.empty();
  if (!metrics.empty() && !prints)
    throw Error("export: --metric goes with --csv and --jsonl", ExitCode::bad_recipe);
  if ((!step.empty() || !dtype.empty()) && folder.folder.empty() && folder.llmc.empty())
    throw Error(std::string("export: ") + (step.empty() ? "--dtype" : "--step") +
                    " goes with --huggingface DIR or --llmc FILE",
                ExitCode::bad_recipe);
  if (!step.empty()) folder.step = step;
  if (!dtype.empty()) folder.dtype = dtype;
  if (folder.adapter_only && folder.folder.empty())
    throw Error("export: --adapter goes with --huggingface DIR", ExitCode::bad_recipe);
  if (!folder.folder.empty() && !folder.llmc.empty())
    throw Error("export: give --huggingface or --llmc", ExitCode::bad_recipe);
  if (const auto write = !folder.folder.empty() ? export_folder
                         : !folder.llmc.empty() ? export_llmc
                                                : nullptr) {
    if (references.size() != 1)
      throw Error("export: --huggingface and --llmc take one run", ExitCode::bad_recipe);
    return unless_stopped(write, references.front(), folder, globals);
  }
  const Store store = open_store(globals.store);
  if (!tensorboard.empty()) {
    const auto runs = reported_runs(store, globals.store, references);
    for (const ReportedRun& reported : runs)
      write_tensorboard(store, reported.run, globals.store.run(reported.run.folder),
                        std::filesystem::path(tensorboard) / reported.run.folder);
    log_info("wrote " + pluralize(static_cast<int64_t>(runs.size()), "run") + " to " + tensorboard);
    return 0;
  }
  require_series(store, metrics);
  std::string text =
      jsonl ? "" : std::string("run,") + (attempts ? "attempt," : "") + "name,step,value,seconds\n";
  for (const ReportedRun& reported : reported_runs(store, globals.store, references)) {
    const std::string& run = reported.run.folder;
    store.each_value(reported.run.id, attempts, [&](const ValueRow& row) {
      if (!metrics.empty() && !std::ranges::count(metrics, row.name)) return;
      text += jsonl ? json_line(run, row, attempts) : csv_line(run, row, attempts);
      if (text.size() < kChunkBytes) return;
      print(text);
      text.clear();
    });
  }
  print(text);
  return 0;
}

}  // namespace exprun
