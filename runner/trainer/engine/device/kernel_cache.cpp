#include "engine/device/kernel_cache.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/json_text.h"
#include "base/machine/processor.h"

namespace exprun {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::optional<fs::path> cache_file() {
  const auto folder = cache_folder();
  return folder ? std::optional(*folder / "kernels.json") : std::nullopt;
}

std::string machine() {
  const std::string model = processor_model();
  return (model.empty() ? "unknown CPU" : model) + ", " + at::get_cpu_capability() + ", " +
         std::to_string(at::get_num_threads()) + " threads, LibTorch " TORCH_VERSION;
}

json read_all(const fs::path& file) {
  std::ifstream stream(file);
  auto all = parse_json_or_discard<json>(std::string{std::istreambuf_iterator<char>(stream), {}});
  return all.is_object() ? all : json::object();
}

}  // namespace

std::map<std::string, std::string> read_kernel_cache() {
  std::map<std::string, std::string> choices;
  const auto file = cache_file();
  if (!file) return choices;
  const auto all = read_all(*file);
  const auto mine = all.find(machine());
  if (mine == all.end() || !mine->is_object()) return choices;
  for (const auto& [product, backend] : mine->items())
    if (backend.is_string()) choices[product] = backend.get<std::string>();
  return choices;
}

void add_to_kernel_cache(const std::map<std::string, std::string>& choices) {
  const auto file = cache_file();
  if (!file) return;
  auto all = read_all(*file);
  auto& mine = all[machine()];
  if (!mine.is_object()) mine = json::object();
  for (const auto& [product, backend] : choices) mine[product] = backend;
  try {
    fs::create_directories(file->parent_path());
    write_file_atomically(*file, json_text(all, 1) + "\n");
  } catch (const std::exception&) {
    // The next run measures again.
  }
}

}  // namespace exprun
