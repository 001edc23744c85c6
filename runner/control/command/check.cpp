// exprun check RECIPE
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/terminal/console.h"
#include "control/command/line/arguments.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/command/stored/stored_runs.h"
#include "control/data/evaluation_files.h"
#include "control/data/prepare.h"
#include "control/data/prepared_set.h"
#include "control/launch/component_refusals.h"
#include "control/launch/known_speed.h"
#include "control/launch/machine_problems.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/trainer_program.h"
#include "control/launch/weights/initial_weights.h"
#include "control/launch/weights/weights_meaning.h"
#include "control/report/plan.h"
#include "control/report/standard_output.h"
#include "control/sweep/trials.h"
#include "recipe/capacity.h"
#include "recipe/paths.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "text/examples.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

struct Options {
  bool quick = false, json = false, strict = false;
};

// A recipe is no worse for what this machine lacks, and another machine may have it.
void warn_of_lacks(Diagnostics& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics)
    if (diagnostic.is_lack) diagnostic.severity = Severity::warning;
}

// What there is to say about a recipe. Mistakes are data here, not an end.
struct Report {
  Diagnostics diagnostics;
  std::string hash;
  size_t trials = 0;            // of a recipe with [sweep]
  std::string examples;         // what becomes of them
  ordered_json plan;            // null where it was not asked for, or cannot be known
  std::string plan_error;       // why it is not known, if the world is the reason
  bool lacks_files = false;     // data, examples or weights: no run would start
  bool starts_here = true;      // by all else that this machine has
  bool needs_data = false;      // a vocabulary or a length that only prepared data tells
  bool skips_examples = false;  // how long they are, which only prepared data tells

  bool wrong(bool strict) const { return strict ? !diagnostics.empty() : has_errors(diagnostics); }

  void add(Diagnostics more) {
    std::move(more.begin(), more.end(), std::back_inserter(diagnostics));
  }
  // All of them about this machine.
  void add_lacking(Diagnostics lacking) {
    starts_here = starts_here && !has_errors(lacking);
    for (Diagnostic& diagnostic : lacking) diagnostic.is_lack = true;
    warn_of_lacks(lacking);
    add(std::move(lacking));
  }
};

void make_errors(Diagnostics& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) diagnostic.severity = Severity::error;
}

// How long the run takes, where an earlier one tells.
void add_time(ordered_json& plan, const ResolvedRecipe& recipe, const StoreFolder& folder) try {
  std::error_code ignored;
  if (!std::filesystem::exists(folder.database(), ignored)) return;
  const auto steps = plan.at("steps").get<int64_t>();
  const auto speed = known_speed(open_store(folder), recipe, steps);
  if (!speed) return;
  const double training = plan.at("tokens").get<double>() / speed->tokens_per_second;
  const double other = speed->other_seconds.value_or(0) * static_cast<double>(steps);
  plan["time"] = {{"seconds", training + other},
                  {"training_seconds", training},
                  {"tokens_per_second", speed->tokens_per_second},
                  {"run", speed->run}};
} catch (const Error& error) {
  log(LogLevel::debug, std::string("no speed of an earlier run: ") + error.what());
}

PlannedMemory planned_memory(const ordered_json& plan) {
  PlannedMemory memory;
  for (const auto& [kind, bytes] : plan.at("memory").items())
    (kind == "activations"       ? memory.activations
     : kind == "checkpoint_copy" ? memory.checkpoint_copy
                                 : memory.of_model) += bytes.get<double>();
  return memory;
}

bool can_be_planned(const Table& root, const DatasetInfo& dataset_info) {
  return integer_at(root, "model.vocab_size") && run_steps(root, dataset_info);
}

void add_plan(Report& report, const RecipeText& text, const ResolvedRecipe& recipe,
              const DatasetInfo& dataset_info, const StoreFolder& folder) {
  if (!can_be_planned(recipe.root(), dataset_info)) {
    report.needs_data = true;
    report.add(component_refusals(text, dataset_info));
    return;
  }
  try {
    Description description = describe(text, dataset_info, !recipe.find("model.init_from"));
    report.add(std::move(description.refusals));
    report.plan = std::move(description.plan);
  } catch (const Error& error) {
    report.plan_error = error.what();
  }
  if (report.plan.is_null()) return;
  report.plan["ranks"] = integer_at(recipe.root(), "parallelism.world_size").value_or(1);
  add_time(report.plan, recipe, folder);
  report.add_lacking(memory_problems(recipe, planned_memory(report.plan)));
  report.add(
      evaluation_problems(recipe, dataset_info, report.plan.at("flops_per_token").get<double>()));
  report.add_lacking(
      checkpoint_space_problems(recipe, {report.plan.at("checkpoint_bytes").get<int64_t>(), 0,
                                         report.plan.at("checkpoints").get<int64_t>(),
                                         folder.shown.string(), free_space(folder.path)}));
}

// At the data that recipes name: at the same data once.
class DataLook {
 public:
  explicit DataLook(const StoreFolder& folder) : folder_(folder) {}

  // What is missing here is a warning, and what is wrong with what is here a mistake.
  DataGlance operator()(const Resolution& resolution) {
    DataGlance glance = glance_at_files(resolution, folder_, glances_);
    lacks_files_ = lacks_files_ || std::any_of(glance.problems.begin(), glance.problems.end(),
                                               [](const Diagnostic& d) { return d.is_lack; });
    warn_of_lacks(glance.problems);
    return glance;
  }

  bool lacks_files() const { return lacks_files_; }

 private:
  const StoreFolder& folder_;
  DatasetGlances glances_{folder_.data()};
  bool lacks_files_ = false;
};

// The words of the segments of its examples; none of other data, and of examples that only
// preparing them tells.
std::vector<uint32_t> segments_of(const DataGlance& glance, const StoreFolder& folder) {
  const std::string& fingerprint = glance.prepared_fingerprint;
  if (fingerprint.empty()) return glance.train_segments;
  return read_segment_words(load_set(folder.data() / fingerprint).train_segments);
}

void add_examples(Report& report, const ResolvedRecipe& recipe, const DataGlance& glance,
                  const StoreFolder& folder) try {
  const auto length = sequence_length(recipe.root());
  const std::vector<uint32_t> segments = segments_of(glance, folder);
  if (segments.empty() || !length) return;
  int64_t tokens = 0;
  for (const uint32_t word : segments) tokens += segment_of(word).tokens;
  const bool truncates = truncates_examples(recipe.root());
  const ExampleList list(segments, tokens, *length, truncates);  // throws Error of damaged ones
  const auto& train_sequences = glance.dataset_info.train_sequences;
  if (!train_sequences) return;
  const int64_t sequences = train_sequences(*length, truncates);
  report.examples = remark_on(list, static_cast<size_t>(sequences));
  if (const auto dropped = many_dropped(list))
    report.add({clash(recipe.root(), {key_of_length(recipe.root()), "dataset.too_long"},
                      dropped->message, dropped->help, Severity::warning)});
} catch (const Error& error) {  // removed or damaged meanwhile
  report.plan_error = error.what();
}

// This machine, and the plan if nothing is wrong so far.
void look_around(Report& report, const RecipeText& text, const ResolvedRecipe& recipe,
                 const DataGlance& glance, const StoreFolder& folder, bool strict) {
  report.add_lacking(machine_problems(recipe));
  report.skips_examples = text_at(recipe.root(), "dataset.type") == "instruction" &&
                          glance.dataset_info.train_examples == ExampleLengths();
  if (const Value* const from = recipe.find("model.init_from"); from && from->as<std::string>())
    report.add(other_model(expand_path(*from->as<std::string>(), libtorch_folder()), recipe));
  if (!report.wrong(false)) report.add(long_evaluations_of_files(recipe, glance.dataset_info));
  if (!report.wrong(false)) add_examples(report, recipe, glance, folder);
  if (!report.wrong(strict) && report.plan_error.empty())
    add_plan(report, text, recipe, glance.dataset_info, folder);
}

void check_run(Report& report, const RecipeText& text, Resolution resolution,
               const Options& options, const StoreFolder& folder) {
  DataGlance data;
  DataLook look(folder);
  if (!options.quick) data = look(resolution);
  report.lacks_files = look.lacks_files();
  if (data.dataset_info != DatasetInfo()) resolution = try_resolve(text, data.dataset_info);
  report.diagnostics = resolution.diagnostics;
  if (!report.wrong(false)) report.hash = resolution.recipe.hash();
  report.add(std::move(data.problems));
  if (!options.quick) look_around(report, text, resolution.recipe, data, folder, options.strict);
}

// All its trials; this machine and the plan are the first one's.
void check_sweep(Report& report, const RecipeText& recipe, const Words& overrides,
                 const Options& options, const StoreFolder& folder) {
  DataLook look(folder);
  DataGlance first;
  bool is_first = true;
  const auto glance = [&](const Resolution& resolution) {
    DataGlance data = look(resolution);
    if (std::exchange(is_first, false)) first = data;
    return data;
  };
  SweepSurvey survey =
      survey_sweep(recipe, overrides, options.quick ? GlanceAtData() : GlanceAtData(glance));
  report.diagnostics = std::move(survey.diagnostics);
  report.trials = survey.plan.trials.size();
  report.lacks_files = look.lacks_files();
  if (report.wrong(false)) return;
  const Trial& trial = survey.plan.trials.front();
  report.hash = trial.resolved.hash();
  if (!options.quick)
    look_around(report, trial.text, trial.resolved, first, folder, options.strict);
}

Report check(const std::string& recipe, const Words& overrides, const Options& options,
             const StoreFolder& folder) {
  Report report;
  try {
    const RecipeText text = with_checkpoint_of_run(read_recipe(recipe, overrides), folder).text;
    Resolution resolution = try_resolve(text);
    if (resolution.recipe.find("sweep") != nullptr) {
      // The overrides are axes, of one value some.
      check_sweep(report, text.without_overrides(), overrides, options, folder);
    } else {
      check_run(report, text, std::move(resolution), options, folder);
    }
  } catch (const RecipeError& error) {
    report.add(error.diagnostics());
  }
  report.diagnostics = sorted(std::move(report.diagnostics));
  if (options.strict) make_errors(report.diagnostics);
  return report;
}

void print_json(const std::string& recipe, const Report& report) {
  const auto or_null = [](bool there, ordered_json value) { return there ? value : nullptr; };
  const ordered_json answer = {
      {"recipe", recipe},
      {"hash", or_null(!report.hash.empty(), report.hash)},
      {"trials", or_null(report.trials > 0, report.trials)},
      {"diagnostics", to_json(report.diagnostics)},
      {"plan", report.plan},
      {"examples", or_null(!report.examples.empty(), report.examples)},
      {"starts_here", !report.wrong(false) && !report.lacks_files && report.starts_here},
      {"plan_error", or_null(!report.plan_error.empty(), report.plan_error)}};
  print(json_text(answer, 2, NotUtf8::replaced) + '\n');
}

void print_plain(const std::string& recipe, const Report& report) {
  std::string sweep;
  if (report.trials == 1) sweep = "; a sweep of 1 trial:";
  if (report.trials > 1)
    sweep = "; a sweep of " + std::to_string(report.trials) + " trials, the first of them:";
  const size_t width = terminal_width();
  const std::string verdict =
      recipe + ": no mistakes" +
      (report.lacks_files || !report.starts_here
           ? ", but a run would not start here (--strict makes that an error)"
           : "") +
      sweep;
  print((width ? wrapped(verdict, 2, 0, width) : verdict) + '\n');
  if (!report.plan.is_null()) print(plan_text(report.plan, width));
  if (!report.examples.empty()) print(plan_line("examples", report.examples, width));
  if (report.needs_data && !report.lacks_files)
    print("  the plan is known once its data has been prepared, by a first run\n");
  if (report.skips_examples && !report.lacks_files)
    print(
        "  not checked before the data has been prepared: whether its examples fit "
        "sequence_length\n");
}

}  // namespace

int run_check(const Words& words, const Globals& globals) {
  std::string recipe;
  Words overrides;
  Options options;
  Arguments arguments(
      "check RECIPE [key=value...]",
      "Lists every mistake in a recipe at once, each with its location and, where "
      "possible, a fix, and shows the plan of the run: parameters, memory, compute, time.");
  arguments.word("RECIPE", recipe, "a TOML file", offer::recipes)
      .words("key=value...", overrides, "overrides of the recipe's keys", offer::changes)
      .flag("--quick", options.quick,
            "check only the text, in milliseconds; skip the data and the plan")
      .flag("--strict", options.strict, "treat warnings as errors")
      .flag("--json", options.json, "print diagnostics and plan as JSON")
      .note(
          "Names of parameters, as in optimizer.frozen, and the weights of model.init_from are "
          "checked against the model only after everything else is correct. TOML syntax errors "
          "are reported one at a time.")
      .note(
          "If this machine lacks something (data, cores, GPUs, number formats, memory, disk "
          "space), check only warns; it tells you if a run would not start here. The plan includes "
          "a time estimate if an earlier run of a similar model was timed.")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun check recipes/quickstart.toml", "mistakes and the plan")
      .example("exprun check recipes/quickstart.toml hidden_size=256 --json",
               "the same with an override, for a script");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "check");

  const Report report = check(recipe, overrides, options, globals.store);
  const bool wrong = report.wrong(false);
  if (options.json)
    print_json(recipe, report);
  else
    show_diagnostics(report.diagnostics);
  const bool sound = !wrong && report.plan_error.empty();
  if (!options.json && sound && globals.level != LogLevel::warning) print_plain(recipe, report);
  if (!report.plan_error.empty()) log(LogLevel::error, report.plan_error);
  if (wrong) return static_cast<int>(ExitCode::bad_recipe);
  return static_cast<int>(report.plan_error.empty() ? ExitCode::done : ExitCode::failed);
}

}  // namespace exprun
