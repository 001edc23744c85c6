// What evaluations read, looked at before a run: texts and examples.
#pragma once

#include <string>

#include "base/dataset_info.h"
#include "base/diagnostic.h"
#include "recipe/paths.h"
#include "recipe/resolved.h"

namespace exprun {

// The files that evaluations read and that are not here, texts that are empty, lines that are no
// examples, and what has a character that a char tokenizer lacks, as far as `dataset_info` knows
// its characters; files of more than 16 MiB are left to the evaluation, unless `examples` limits
// it. For recipes whose [evaluation] is sound.
Diagnostics evaluation_file_problems(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info,
                                     const std::string& libtorch = libtorch_folder());

// Warnings of those that take longer than the training, by the length of what they read; files of
// more than 16 MiB that no `examples` limits are left out. For recipes without mistakes.
Diagnostics long_evaluations_of_files(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info,
                                      const std::string& libtorch = libtorch_folder());

}  // namespace exprun
