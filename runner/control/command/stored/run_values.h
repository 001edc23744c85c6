// What names say of runs: in --where, --columns, --sort, --metric and --group-by.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/command/line/arguments.h"
#include "control/report/expression.h"
#include "control/report/filter.h"
#include "control/report/runs_table.h"
#include "store/store.h"

namespace exprun {

// The words of an option as a text that mistakes point into.
std::shared_ptr<const SourceFile> source_of(const std::string& option, const std::string& text);

// "run,at(val/loss, 100)" of an option's value, without the blanks around each; the commas in
// brackets separate nothing.
std::vector<Extent> parts_of_list(const std::string& list);

std::string text_of(const SourceFile& source, Extent part);

// A plain name is a column of ls, else a parameter by its path or its end ("lr"), else the last
// value of a series, which may be written as val_loss too, else a key that a recipe may have,
// though no run's has it, which is said. Throws RecipeError at `where` if it is none of them, or
// several.
RunValues values_of(const Store& store, const std::vector<ReportedRun>& runs, const ValueName& name,
                    const SourceSpan& where);

// The whole path of the one parameter that a name means, if any run has such a one.
std::optional<std::string> path_of_parameter(const Store& store, const std::string& name);

// The one setting that a name means, or a key that a recipe may have, though no run's has it, which
// is said. Throws RecipeError at `where` where it is none of them, or several.
struct Setting {
  std::string path;
  RunValues values;
};
Setting setting_named(const Store& store, const std::vector<ReportedRun>& runs,
                      const std::string& name, const SourceSpan& where);

// The values of a parameter that any run may have, by its whole path.
RunValues parameter_values(const Store& store, const std::vector<ReportedRun>& runs,
                           const std::string& path);

// --where of the commands that list runs: only those of which every expression holds.
struct Where {
  std::vector<std::string> expressions;

  void declare(Arguments& arguments);
  // Throws RecipeError, which points into the expression.
  void keep_matching(const Store& store, std::vector<ReportedRun>& runs) const;
};

}  // namespace exprun
