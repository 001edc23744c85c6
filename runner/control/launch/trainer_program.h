// exprun-trainer, beside this program: what only LibTorch can tell is asked from it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipe/resolved.h"

namespace exprun {

// Its file. Throws Error that says how to build it when it is not there.
std::filesystem::path trainer_program();

// `exprun-trainer --version`: versions, BLAS, threads, instruction set. Throws Error.
nlohmann::ordered_json trainer_version();

// `exprun-trainer --describe`: parameters, groups, memory, FLOPs (kept in a cache by the hash of
// what was asked). Nothing if the trainer refused the recipe: its diagnostics are on standard
// error already. Throws Error for any other failure.
std::optional<nlohmann::ordered_json> describe(const RecipeText& text, const Facts& facts);

// The learning rates of a recipe, without its model: see engine/describe.h. Nothing if the trainer
// refused it. Throws Error.
std::optional<nlohmann::ordered_json> describe_schedule(const RecipeText& text);

// How long OpenMP's threads spin for the next operation, unless the user has said so: about 0.1 ms
// bridges the gaps within a step. libgomp's own 300,000 rounds make a step 15 times slower as soon
// as another process wants the cores.
std::vector<std::pair<std::string, std::string>> trainer_environment();

}  // namespace exprun
