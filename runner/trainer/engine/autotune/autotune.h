// Takes the fastest of several ways to compute an operation: each is measured once for a shape on
// this machine, in this process or an earlier one (~/.cache/exprun/kernels.json keeps what was
// measured, by CPU, instruction set, threads and LibTorch). Bits depend on the choices, so they are
// part of a run's state: a resume makes the same ones.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace exprun::autotune {

// What is computed: the operation's name, a literal, and the sizes that its speed depends on.
struct Key {
  const char* operation;
  std::array<int64_t, 5> sizes;  // trailing zeros are not there

  // Sizes that change from call to call (tokens, positions) are rounded up to a power of two, so
  // that a growing sequence and a last small batch need no measuring of their own.
  static int64_t rounded(int64_t size);
};

// "attention 4x256x12x12x64"
std::string to_string(const Key& key);

// The names of the ways to compute something, and a function that computes it by one of them. The
// first is taken where nothing may be measured; another one must be visibly faster than it.
using Names = std::initializer_list<const char*>;
using Compute = std::function<void(size_t)>;

// The index of the fastest. `compute` is called only where the key was never measured.
size_t choose(const Key& key, Names names, const Compute& compute);

// From now on nothing is measured or looked up, the first way is taken: `[run] deterministic`.
void freeze();
bool frozen();

// From now on a key without a choice takes the first way: ranks that have agreed must not measure
// each for itself.
void seal();
bool sealed();

// As in a new process: another run may follow in this one.
void reset();

// Choices of an earlier attempt, {"attention 4x256x12x12x64": "aten", ...}; they are kept over
// measuring. What is no text is ignored.
void load(const nlohmann::json& choices);

// All choices loaded, found or measured so far. What was measured here goes into the machine's
// cache on the way.
nlohmann::json save();

}  // namespace exprun::autotune
