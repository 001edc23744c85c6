// exprun export RUN...
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "control/command/arguments.h"
#include "control/command/stored_runs.h"
#include "control/report/table.h"
#include "control/report/tensorboard.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

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

}  // namespace

int run_export(const Words& words, const Globals& globals) {
  Words references;
  std::string tensorboard;
  bool csv = false, jsonl = false, attempts = false;
  Arguments arguments("export RUN...",
                      "Prints the metrics of runs, one value per line: run, name, step, value, "
                      "seconds since the run began.");
  arguments
      .words("RUN...", references, "folders, ids, names (all runs of it), @last, @best",
             offer::runs)
      .flag("--csv", csv, "comma-separated values with a header (default)")
      .flag("--jsonl", jsonl, "one JSON object per line")
      .flag("--attempts", attempts,
            "include values that a later attempt replaced, with the attempt's number (0: current)")
      .option("--tensorboard", "DIR", tensorboard,
              "write TensorBoard event files instead, one folder per run", offer::folders)
      .exit_codes(kReadsRuns)
      .example("exprun export @last > run.csv", "for a spreadsheet")
      .example("exprun export @last --jsonl --attempts", "for a script");
  if (!arguments.parse(words)) return 0;
  if (csv && jsonl) throw Error("export: give --csv or --jsonl", ExitCode::bad_recipe);
  if (references.empty()) throw Error("export: say which run", ExitCode::bad_recipe);
  const Store store = open_store(globals.store);
  if (!tensorboard.empty()) {
    for (const ReportedRun& reported : reported_runs(store, globals.store, references))
      write_tensorboard(store, reported.run, globals.store.run(reported.run.folder),
                        std::filesystem::path(tensorboard) / reported.run.folder);
    return 0;
  }
  std::string text =
      jsonl ? "" : std::string("run,") + (attempts ? "attempt," : "") + "name,step,value,seconds\n";
  for (const ReportedRun& reported : reported_runs(store, globals.store, references)) {
    const std::string& run = reported.run.folder;
    store.each_value(reported.run.id, attempts, [&](const ValueRow& row) {
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
