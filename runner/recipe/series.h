// The series that a run of a recipe records, as the schemas say (`x-series`).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

struct MeasuredSeries {
  std::string name;  // "val/loss"
  std::string path;  // of the table that measures it: "evaluation.val_loss"
};

struct Measured {
  std::vector<MeasuredSeries> series;
  bool is_uncertain = false;  // a mistake is reported that hides what an evaluation is

  bool has(const std::string& name) const;
  std::vector<std::string> names() const;
};

// By the evaluations of a completed recipe, in its order.
Measured measured_series(const SchemaSet& schemas, const Table& root);

// Whether an evaluation of this type measures a series in [evaluation.TABLE].
bool is_measured_by(const SchemaSet& schemas, const std::string& type, const std::string& table,
                    const std::string& series);

// Whether every run may record a series, whatever it evaluates.
bool is_recorded_always(const SchemaSet& schemas, const std::string& name);

// Of an accuracy or a speed, and not of a loss, a perplexity or an error; nothing for other names.
std::optional<bool> larger_is_better(std::string_view series);

// Whether runs on different data can be compared by it: an accuracy or the bits per byte of a text,
// which have a file of their own and do not depend on the tokenizer.
bool is_independent_of_training_data(std::string_view series);

// The key of a completed recipe that asks for its best metric: run.best_metric of another value
// than the default, or run.early_stop, which watches it. Empty where none does: the default,
// written or not, means nothing where nothing is measured.
std::string key_asking_for_best_metric(const SchemaSet& schemas, const Table& root);

// What to write instead of a series that there is not.
std::string help_for_series(const std::string& name, std::vector<std::string> there);

}  // namespace exprun
