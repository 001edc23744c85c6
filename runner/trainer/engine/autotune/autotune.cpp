#include "engine/autotune/autotune.h"

#include <ATen/Version.h>
#include <torch/version.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/files/cache_folder.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/machine/processor.h"
#include "engine/device/numeric_environment.h"

namespace exprun::autotune {
namespace {

using nlohmann::json;
using Seconds = std::chrono::duration<double>;
using Table = std::map<std::string, std::string>;
namespace fs = std::filesystem;

// Another way than the first must be visibly faster, so that noise does not decide.
constexpr double kWorthwhile = 0.97;
constexpr int kLeastRounds = 2, kMostRounds = 8;
constexpr Seconds kPatience{0.1};  // more rounds only as long as all took less
constexpr double kHopeless = 5;    // times the fastest first call,
constexpr Seconds kShort{0.02};    // unless it is as short as this
constexpr int kKernels = 3;        // raised when a kernel of ours becomes faster or slower

// --- the machine's cache: it saves time only, so one that cannot be read or written is ignored ---

std::optional<fs::path> cache_file() {
  const auto folder = cache_folder();
  return folder ? std::optional(*folder / "kernels.json") : std::nullopt;
}

std::string machine() {
  const std::string model = processor_generation();
  return (model.empty() ? "unknown CPU" : model) + ", " + at::get_cpu_capability() + ", " +
         std::to_string(used_threads()) + " threads, LibTorch " TORCH_VERSION ", kernels " +
         std::to_string(kKernels);
}

json read_all(const fs::path& file) {
  std::ifstream stream(file);
  auto all = parse_json_or_discard<json>(std::string{std::istreambuf_iterator<char>(stream), {}});
  return all.is_object() ? all : json::object();
}

Table texts_of(const json& object) {
  Table table;
  if (!object.is_object()) return table;
  for (const auto& [key, name] : object.items())
    if (name.is_string()) table[key] = name.get<std::string>();
  return table;
}

Table read_cache() {
  const auto file = cache_file();
  if (!file) return {};
  const auto all = read_all(*file);
  const auto mine = all.find(machine());
  return mine == all.end() ? Table{} : texts_of(*mine);
}

void add_to_cache(const Table& measured) {
  const auto file = cache_file();
  if (!file) return;
  auto all = read_all(*file);
  auto& mine = all[machine()];
  if (!mine.is_object()) mine = json::object();
  for (const auto& [key, name] : measured) mine[key] = name;
  try {
    fs::create_directories(file->parent_path());
    write_file_atomically(*file, json_text(all, 1) + "\n");
  } catch (const std::exception&) {
    // The next run measures again.
  }
}

// --- what was chosen ----------------------------------------------------------------------------

struct Choice {
  Key key;
  size_t index;
};

bool same(const Key& a, const Key& b) {
  return a.sizes == b.sizes && std::strcmp(a.operation, b.operation) == 0;
}

struct State {
  std::mutex mutex;
  bool frozen = false;
  bool sealed = false;
  std::vector<Choice> chosen;  // what `known` says, found without making text
  Table known;                 // of the run
  std::optional<Table> cache;  // of the machine, read when first needed
  Table measured;              // not yet in the machine's cache
};

State& state() {
  static State all;
  return all;
}

Seconds time_once(const Compute& compute, size_t way) {
  const auto begin = std::chrono::steady_clock::now();
  compute(way);
  return std::chrono::steady_clock::now() - begin;
}

// The ways that are measured: not those whose first call shows that they are hopeless, which would
// take minutes for a large product.
std::vector<size_t> worth_measuring(size_t count, const Compute& compute) {
  std::vector<Seconds> first;
  for (size_t i = 0; i < count; ++i) first.push_back(time_once(compute, i));
  const Seconds limit = std::max(kHopeless * *std::min_element(first.begin(), first.end()), kShort);
  std::vector<size_t> ways;
  for (size_t i = 0; i < count; ++i)
    if (first[i] <= limit) ways.push_back(i);
  return ways;
}

// Every way once untimed, then in alternation: the minimum is what a quiet machine gives.
size_t measure(size_t count, const Compute& compute) {
  const auto ways = worth_measuring(count, compute);
  if (ways.size() == 1) return ways.front();
  std::vector<Seconds> best(count, Seconds{std::numeric_limits<double>::max()});
  Seconds spent{0};
  for (int round = 0; round < kLeastRounds || (round < kMostRounds && spent < kPatience); ++round)
    for (const size_t i : ways) {
      const Seconds took = time_once(compute, i);
      best[i] = std::min(best[i], took);
      spent += took;
    }
  const auto fastest =
      static_cast<size_t>(std::min_element(best.begin(), best.end()) - best.begin());
  return best[fastest] < best[0] * kWorthwhile ? fastest : 0;
}

std::optional<size_t> index_of(Names names, const Table& table, const std::string& key) {
  const auto found = table.find(key);
  if (found == table.end()) return std::nullopt;
  const auto* name = std::find(names.begin(), names.end(), found->second);
  if (name == names.end()) return std::nullopt;
  return static_cast<size_t>(name - names.begin());
}

size_t look_up(State& all, const std::string& key, Names names, const Compute& compute) {
  if (const auto known = index_of(names, all.known, key)) return *known;
  if (all.sealed) {  // another rank's machine may have cached another
    all.known[key] = *names.begin();
    return 0;
  }
  if (!all.cache) all.cache = read_cache();
  auto index = index_of(names, *all.cache, key);
  if (!index) {
    index = measure(names.size(), compute);
    all.measured[key] = names.begin()[*index];
  }
  all.known[key] = names.begin()[*index];
  return *index;
}

}  // namespace

int64_t Key::rounded(int64_t size) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
}

std::string to_string(const Key& key) {
  std::string text = key.operation;
  char separator = ' ';
  for (const int64_t size : key.sizes) {
    if (size == 0) break;
    text += std::exchange(separator, 'x') + std::to_string(size);
  }
  return text;
}

size_t choose(const Key& key, Names names, const Compute& compute) {
  auto& all = state();
  const std::lock_guard lock(all.mutex);
  if (all.frozen) return 0;
  for (const auto& choice : all.chosen)
    if (same(choice.key, key)) return choice.index;
  const size_t index = look_up(all, to_string(key), names, compute);
  all.chosen.push_back({key, index});
  return index;
}

void freeze() {
  const std::lock_guard lock(state().mutex);
  state().frozen = true;
}

bool frozen() {
  const std::lock_guard lock(state().mutex);
  return state().frozen;
}

void seal() {
  const std::lock_guard lock(state().mutex);
  state().sealed = true;
}

bool sealed() {
  const std::lock_guard lock(state().mutex);
  return state().sealed;
}

void reset() {
  auto& all = state();
  const std::lock_guard lock(all.mutex);
  all.frozen = all.sealed = false;
  all.chosen.clear();
  all.known.clear();
  all.measured.clear();
  all.cache.reset();
}

void load(const json& choices) {
  auto& all = state();
  const std::lock_guard lock(all.mutex);
  for (auto& [key, name] : texts_of(choices)) all.known[key] = name;
  all.chosen.clear();
}

json save() {
  auto& all = state();
  const std::lock_guard lock(all.mutex);
  if (!all.measured.empty()) add_to_cache(std::exchange(all.measured, {}));
  return all.known;
}

}  // namespace exprun::autotune
