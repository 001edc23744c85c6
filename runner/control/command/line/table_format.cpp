#include "control/command/line/table_format.h"

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/report/standard_output.h"

namespace exprun {

std::string left_out_text(const std::vector<std::string>& columns, const std::string& remedy) {
  return "left out, the terminal is too narrow: " + joined(columns) + " (" + remedy + ")";
}

void print_plain(ResultTable table, const std::string& remedy) {
  std::vector<std::string> left_out;
  exprun::print(to_plain(std::move(table), {terminal_width(), stdout_wants_color()}, &left_out));
  if (left_out.empty()) return;
  std::fflush(stdout);
  log_info(left_out_text(left_out, remedy));
}

void TableFormat::declare(Arguments& arguments, const char* json_help) {
  arguments.flag("--json", json, json_help)
      .flag("--csv", csv, "print comma-separated values")
      .flag("--markdown", markdown, "print a Markdown table")
      .flag("--latex", latex, "print a LaTeX table (booktabs)");
}

void TableFormat::check() const {
  if (json + csv + markdown + latex > 1)
    throw Error("command line: give one of --json, --csv, --markdown and --latex",
                ExitCode::bad_recipe);
}

void TableFormat::print(ResultTable table, const std::string& empty) const {
  check();
  if (json) return exprun::print(to_json(table));
  if (csv) return exprun::print(to_csv(table));
  if (markdown) return exprun::print(to_markdown(table));
  if (latex) return exprun::print(to_latex(table));
  if (table.rows.empty()) return log_info(empty);
  print_plain(std::move(table));
}

}  // namespace exprun
