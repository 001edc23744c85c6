#include "base/machine/visible_gpus.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>

namespace exprun {
namespace {

constexpr const char* kGpu = "GPU-";
constexpr const char* kInstance = "MIG-";

// As strtol reads it: "1", " 1", and "1st" too.
std::optional<size_t> by_index(const std::vector<Gpu>& gpus, const std::string& entry) {
  char* end = nullptr;
  const long index = std::strtol(entry.c_str(), &end, 10);
  if (end == entry.c_str() || index < 0 || static_cast<size_t>(index) >= gpus.size())
    return std::nullopt;
  return static_cast<size_t>(index);
}

template <class Fits>
std::optional<size_t> the_only_one(const std::vector<Gpu>& gpus, Fits fits) {
  const auto found = std::find_if(gpus.begin(), gpus.end(), fits);
  if (found == gpus.end() || std::find_if(found + 1, gpus.end(), fits) != gpus.end())
    return std::nullopt;
  return static_cast<size_t>(found - gpus.begin());
}

std::optional<size_t> by_uuid(const std::vector<Gpu>& gpus, const std::string& entry) {
  if (!entry.starts_with(kGpu)) return std::nullopt;
  return the_only_one(gpus, [&](const Gpu& gpu) { return gpu.uuid.starts_with(entry); });
}

// "MIG-<uuid>", or "MIG-GPU-<uuid of its GPU>/1/0" as older drivers name it.
std::optional<size_t> by_instance(const std::vector<Gpu>& gpus, const std::string& entry) {
  if (!entry.starts_with(kInstance)) return std::nullopt;
  const std::string name = entry.substr(4, entry.find('/') - 4);
  return the_only_one(gpus, [&](const Gpu& gpu) {
    const auto is_named = [&](const std::string& uuid) { return uuid.starts_with(entry); };
    return std::any_of(gpu.instances.begin(), gpu.instances.end(), is_named) ||
           (name.starts_with(kGpu) && !gpu.instances.empty() && gpu.uuid == name);
  });
}

// The first entry says what all are.
std::vector<size_t> named(const std::vector<Gpu>& gpus, const std::string& list) {
  const auto find = list.starts_with(kGpu)        ? by_uuid
                    : list.starts_with(kInstance) ? by_instance
                                                  : by_index;
  std::vector<size_t> found;
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const auto gpu = find(gpus, entry);
    if (!gpu) break;
    const bool again = std::find(found.begin(), found.end(), *gpu) != found.end();
    if (again && find != by_instance) return {};  // two instances may be of one GPU
    found.push_back(*gpu);
  }
  return found;
}

std::vector<size_t> all_of(const std::vector<Gpu>& gpus) {
  std::vector<size_t> all(gpus.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

}  // namespace

std::vector<size_t> visible_gpus(const std::vector<Gpu>& gpus, const char* list) {
  std::vector<size_t> visible = list ? named(gpus, list) : all_of(gpus);
  const auto cut = std::find_if(visible.begin(), visible.end(),
                                [&](size_t gpu) { return !gpus[gpu].instances.empty(); });
  if (cut != visible.end()) return {*cut};
  return visible;
}

}  // namespace exprun
