#include "control/report/run_result.h"

#include "base/humane.h"
#include "base/number.h"

namespace exprun {
namespace {

std::string result_line(const std::string& name, const std::string& text) {
  return "  " + name + std::string(12 - name.size(), ' ') + text + '\n';
}

std::string loss_line(const std::string& name, const std::optional<SeriesRow>& series) {
  if (!series || series->count == 0) return "";
  std::string text = four_digits(series->last);
  if (const Cell best = best_loss(series);
      !best.text.empty() && series->min_step != series->last_step)
    text += ", best " + best.text + " at step " + with_thousands(series->min_step);
  return result_line(name, text);
}

}  // namespace

std::string run_result(const ReportedRun& reported, const std::string& folder) {
  const RunRow& run = reported.run;
  std::string text = run.folder + ": " + to_string(run.state) + '\n';
  if (!run.message.empty()) text += result_line("because", run.message);
  text += result_line("steps", with_thousands(run.last_step) + " of " + with_thousands(run.steps));
  text += loss_line("val loss", reported.val_loss);
  text += loss_line("train loss", reported.train_loss);
  text += result_line("time", duration(run.seconds));
  text += result_line("folder", folder);
  return text;
}

}  // namespace exprun
