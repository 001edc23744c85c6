// exprun-trainer, beside this program: what only LibTorch can tell is asked from it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "recipe/resolved.h"

namespace exprun {

// Its file. Throws Error that says how to build it when it is not there.
std::filesystem::path trainer_program();

// `exprun-trainer --version`: versions, BLAS, threads, instruction set. Throws Error.
nlohmann::ordered_json trainer_version();

// What `exprun-trainer --describe` answers: parameters, groups, memory, FLOPs, or why the
// components refuse the recipe.
struct Description {
  nlohmann::ordered_json plan;  // null if it is refused
  Diagnostics refusals;
};

// Plans are kept in a cache by the hash of what was asked. Throws Error.
Description describe(const RecipeText& text, const Facts& facts);

// The learning rates of a recipe, without its model: see engine/describe.h. Facts are needed where
// its length is in epochs. Throws RecipeError for what the trainer refuses, Error.
nlohmann::ordered_json describe_schedule(const RecipeText& text, const Facts& facts);

// How long OpenMP's threads spin for the next operation, unless the user has said so: about 0.1 ms
// bridges the gaps within a step. libgomp's own 300,000 rounds make a step 15 times slower as soon
// as another process wants the cores.
std::vector<std::pair<std::string, std::string>> trainer_environment();

}  // namespace exprun
