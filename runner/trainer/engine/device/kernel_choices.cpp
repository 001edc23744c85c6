#include "engine/device/kernel_choices.h"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/device/kernel_cache.h"

namespace exprun::kernel_choices {
namespace {

using Table = std::map<std::string, std::string>;

struct Choices {
  std::mutex mutex;
  bool fixed = false;
  bool closed = false;
  int64_t generation = 0;
  Table known;                 // of the run
  std::optional<Table> cache;  // of the machine, read when first needed
  Table measured;              // not yet in the machine's cache
};

Choices& choices() {
  static Choices all;
  return all;
}

}  // namespace

void fix() {
  const std::lock_guard lock(choices().mutex);
  choices().fixed = true;
}

void close() {
  const std::lock_guard lock(choices().mutex);
  choices().closed = true;
}

bool closed() {
  const std::lock_guard lock(choices().mutex);
  return choices().closed;
}

void forget() {
  auto& all = choices();
  const std::lock_guard lock(all.mutex);
  all.fixed = all.closed = false;
  all.known.clear();
  all.measured.clear();
  all.cache.reset();
  ++all.generation;
}

bool fixed() {
  const std::lock_guard lock(choices().mutex);
  return choices().fixed;
}

void load(const nlohmann::json& from) {
  auto& all = choices();
  const std::lock_guard lock(all.mutex);
  if (!from.is_object()) return;
  for (const auto& [product, kernel] : from.items())
    if (kernel.is_string()) all.known[product] = kernel.get<std::string>();
  ++all.generation;
}

nlohmann::json save() {
  auto& all = choices();
  const std::lock_guard lock(all.mutex);
  if (!all.measured.empty()) add_to_kernel_cache(std::exchange(all.measured, {}));
  return all.known;
}

std::optional<std::string> find(const std::string& product) {
  auto& all = choices();
  const std::lock_guard lock(all.mutex);
  if (const auto known = all.known.find(product); known != all.known.end()) return known->second;
  if (all.closed) return std::nullopt;  // another rank's machine may have cached another
  if (!all.cache) all.cache = read_kernel_cache();
  const auto cached = all.cache->find(product);
  if (cached == all.cache->end()) return std::nullopt;
  all.known[product] = cached->second;
  return cached->second;
}

void add(const std::string& product, const std::string& kernel) {
  auto& all = choices();
  const std::lock_guard lock(all.mutex);
  all.known[product] = kernel;
  all.measured[product] = kernel;
}

int64_t generation() {
  const std::lock_guard lock(choices().mutex);
  return choices().generation;
}

}  // namespace exprun::kernel_choices
