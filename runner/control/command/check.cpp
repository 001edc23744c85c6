// exprun check RECIPE
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "control/command/arguments.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/data/prepare.h"
#include "control/launch/prepare.h"
#include "control/launch/trainer_program.h"
#include "control/report/plan.h"
#include "control/report/terminal.h"
#include "control/sweep/plan.h"
#include "recipe/quantities.h"
#include "recipe/sweep_space.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

struct Checked {
  Diagnostics diagnostics;
  std::optional<RecipeText> text;  // of a recipe without mistakes; of a sweep's first trial
  std::string hash;
  size_t trials = 0;  // of a recipe with [sweep]

  bool wrong(bool strict) const { return !text || (strict && !diagnostics.empty()); }
};

struct Plan {
  std::optional<ordered_json> json;
  bool needs_data = false;  // a vocabulary or a length that only prepared data tells
  bool refused = false;     // exprun-trainer has said why
};

// What this machine lacks: a recipe is no worse for it, and another machine may have it.
void add_as_warnings(Diagnostics& diagnostics, Diagnostics lacking) {
  for (Diagnostic& diagnostic : lacking) {
    diagnostic.severity = Severity::warning;
    diagnostics.push_back(std::move(diagnostic));
  }
}

Checked checked(const RecipeText& text, const ResolvedRecipe& resolved, bool quick, size_t trials) {
  Diagnostics diagnostics = resolved.warnings();
  if (!quick) add_as_warnings(diagnostics, data_problems(resolved));
  return {std::move(diagnostics), text, resolved.hash(), trials};
}

// The one command whose result are the diagnostics themselves: here they are data, not an end.
Checked check(const std::string& recipe, const Words& overrides, bool quick) try {
  const RecipeText text = read_recipe(recipe, overrides);
  if (!read_sweep(text)) return checked(text, resolve(text), quick, 0);
  const SweepPlan plan = plan_sweep(read_recipe(recipe, {}), overrides);
  const Trial& first = plan.trials.front();
  return checked(first.text, first.resolved, quick, plan.trials.size());
} catch (const RecipeError& error) {
  return {error.diagnostics(), std::nullopt, "", 0};
}

// What an earlier run of the recipe learnt about its data. A recipe is no worse for a store, or a
// run's file, that cannot be read.
Facts known_facts(const StoreFolder& folder, const std::string& hash) try {
  std::error_code ignored;
  if (!std::filesystem::exists(folder.database(), ignored)) return {};
  for (const RunRow& run : open_store(folder).runs("", hash))
    if (std::filesystem::exists(folder.run(run.folder).data(), ignored))
      return facts_of(PreparedData::from_json(read_file(folder.run(run.folder).data())));
  return {};
} catch (const Error& error) {
  log(LogLevel::debug, std::string("no facts of an earlier run: ") + error.what());
  return {};
}

bool can_be_planned(const Table& root, const Facts& facts) {
  const auto length = run_length(root);
  return integer_at(root, "model.vocab_size") && length && in_steps(root, facts, *length);
}

Plan plan_of(const Checked& checked, const StoreFolder& folder) {
  const Facts facts = known_facts(folder, checked.hash);
  if (!can_be_planned(resolve(*checked.text, facts).root(), facts)) return {std::nullopt, true};
  auto json = describe(*checked.text, facts);
  const bool refused = !json;
  return {std::move(json), false, refused};
}

ordered_json place(const SourceSpan& where) {
  if (!where) return nullptr;
  return {{"file", where.file->name},
          {"line", where.line},
          {"column", where.column},
          {"length", where.length}};
}

ordered_json to_json(const Diagnostics& diagnostics) {
  ordered_json list = ordered_json::array();
  for (const Diagnostic& diagnostic : diagnostics)
    list.push_back({{"severity", diagnostic.severity == Severity::error ? "error" : "warning"},
                    {"message", diagnostic.message},
                    {"help", diagnostic.help},
                    {"where", place(diagnostic.where)}});
  return list;
}

void print_json(const std::string& recipe, const Checked& checked, const Plan& plan) {
  const auto or_null = [](bool there, ordered_json value) { return there ? value : nullptr; };
  const ordered_json answer = {
      {"recipe", recipe},
      {"hash", or_null(!checked.hash.empty(), checked.hash)},
      {"trials", or_null(checked.trials > 0, checked.trials)},
      {"diagnostics", to_json(checked.diagnostics)},
      {"plan", or_null(plan.json.has_value(), plan.json.value_or(nullptr))}};
  print(answer.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n');
}

void print_plain(const std::string& recipe, size_t trials, const Plan& plan) {
  const std::string sweep =
      trials ? "; a sweep of " + std::to_string(trials) + " trials, the first of them:" : "";
  print(recipe + ": no mistakes" + sweep + '\n');
  if (plan.json) print(plan_text(*plan.json));
  if (plan.needs_data)
    print("  the plan is known once its data has been prepared, by a first run\n");
}

}  // namespace

int run_check(const Words& words, const Globals& globals) {
  std::string recipe;
  Words overrides;
  bool quick = false, json = false, strict = false;
  Arguments arguments("check RECIPE [key=value...]",
                      "Finds every mistake in a recipe, and shows the plan of its run: parameters, "
                      "memory, compute.");
  arguments.word("RECIPE", recipe, "a TOML file")
      .words("key=value...", overrides, "changes of the recipe")
      .flag("--quick", quick, "the text alone, in milliseconds: neither its data nor the plan")
      .flag("--strict", strict, "a warning is a mistake")
      .flag("--json", json, "diagnostics and plan for a script");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "check");

  const Checked checked = check(recipe, overrides, quick);
  const bool wrong = checked.wrong(strict);
  if (!json) std::fputs(render(checked.diagnostics).c_str(), stderr);
  const Plan plan = quick || wrong ? Plan{} : plan_of(checked, globals.store);
  if (json) print_json(recipe, checked, plan);
  if (!json && !wrong && !plan.refused) print_plain(recipe, checked.trials, plan);
  return static_cast<int>(wrong || plan.refused ? ExitCode::bad_recipe : ExitCode::done);
}

}  // namespace exprun
