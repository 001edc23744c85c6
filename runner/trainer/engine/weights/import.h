// [model] init_from: a run that begins with the weights of a file or folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/pipeline.h"
#include "text/matched_tokens.h"

namespace exprun {

// What came of it, for people: which weights, what was left out, where the recipe and the folder's
// config.json differ.
struct Imported {
  std::string text;                   // "148 tensors from 'models/gpt2' (gpt2)"
  std::vector<std::string> warnings;  // a sentence each
};

// Fills the parameters. The source is a folder of HuggingFace's (config.json), a folder or file
// with our own names (a checkpoint is one), or a file with HuggingFace's. Nothing where the recipe
// has no init_from. Rows of tokens go by `tokens`, else by their numbers. Throws Error that names
// every tensor which is missing, left over, of another shape or no number, and then has changed
// nothing.
std::optional<Imported> import_weights(const ResolvedRecipe& recipe, const TrainState& state,
                                       const TokenMatch& tokens);

// Of the pipeline's init_from and its data. All ranks call it together, and have what rank 0 finds:
// elsewhere what tells the tokens need not lie beside the weights.
TokenMatch match_tokens_with_init_from(const Pipeline& pipeline);

// Whether they can be filled, as far as the headers of the files tell: for a state on the meta
// device. Throws RecipeError at init_from; files that are not on this machine are not looked at.
void require_importable(const ResolvedRecipe& recipe, const TrainState& state);

}  // namespace exprun
