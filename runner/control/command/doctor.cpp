// exprun doctor
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/process/program.h"
#include "base/terminal/terminal.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run_device.h"
#include "control/launch/trainer_program.h"
#include "control/report/standard_output.h"
#include "recipe/paths.h"
#include "store/run_state.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

// Each section answers for itself: what is broken is what a doctor is asked about.
template <class Examine>
ordered_json examined(Examine examine) {
  try {
    return examine();
  } catch (const Error& error) {
    return {{"problem", error.what()}};
  }
}

ordered_json trainer_section() {
  ordered_json section = trainer_version();
  section["program"] = trainer_program().string();
  section["libtorch_folder"] = libtorch_folder();
  return section;
}

ordered_json gpu_section() {
  const GpuOffer& offer = gpu_offer();
  ordered_json section = ordered_json::object();
  for (const Gpu& gpu : offer.gpus)
    section["gpus"].push_back(
        gpu.name + ", " + binary_bytes(static_cast<double>(gpu.memory_bytes)) + ", " + gpu.uuid);
  section["training"] = offer.is_usable() ? "on GPUs" : "on the CPU: " + offer.problem;
  return section;
}

// The first of them, and how many more.
ordered_json missing_folders(const StoreFolder& folder, const std::vector<RunRow>& runs) {
  constexpr size_t kShown = 10;
  ordered_json missing = ordered_json::array();
  size_t count = 0;
  std::error_code error;
  for (const RunRow& run : runs) {
    if (fs::is_directory(folder.run(run.folder).path, error)) continue;
    if (++count <= kShown) missing.push_back(run.folder);
  }
  if (count > kShown) missing.push_back("and " + std::to_string(count - kShown) + " more");
  return missing;
}

constexpr auto kLongestWrite = std::chrono::seconds(2);
constexpr auto kBetweenLockLooks = std::chrono::milliseconds(20);
constexpr int kFurtherLooks = 10;

std::string what_its_lock_says(const StoreFolder& folder, const RunRow& run) {
  const RunRow now = as_observed(run, folder.path);
  if (run.state == RunState::running && now.state != RunState::running)
    return std::string("has ended (") + to_string(now.state) +
           "), which is not recorded yet; run exprun gc or any command that writes to the store";
  if (now.state != RunState::running && !on_another_host(now) &&
      FileLock::held(folder.run(run.folder).lock()))
    return "has ended, and a process still holds its run.lock (lslocks names it)";
  return "";
}

// "tiny-1a2b3c4d (id 3) has ended ...": runs recorded as running that nobody holds, and ended ones
// that somebody does. One that is being begun or ended is locked first and unlocked last, and looks
// so for a moment.
std::vector<std::string> stale_locks(const Store& store, const StoreFolder& folder,
                                     std::vector<RunRow> runs) {
  const auto is_well = [&](const RunRow& run) { return what_its_lock_says(folder, run).empty(); };
  std::erase_if(runs, is_well);
  for (int look = 0; look < kFurtherLooks && !runs.empty(); ++look) {
    std::this_thread::sleep_for(kBetweenLockLooks);
    for (RunRow& run : runs) run = store.run(run.id).value_or(run);
    std::erase_if(runs, is_well);
  }
  std::vector<std::string> stale;
  for (const RunRow& run : runs)
    stale.push_back(run.folder + " (id " + std::to_string(run.id) + ") " +
                    what_its_lock_says(folder, run));
  return stale;
}

// "free", or that somebody keeps the lock of the store. Those who write hold it for a moment, again
// and again.
std::string store_lock(const StoreFolder& folder) {
  const std::filesystem::path file = folder.database().string() + ".lock";
  const auto end = std::chrono::steady_clock::now() + kLongestWrite;
  while (FileLock::held(file)) {
    if (std::chrono::steady_clock::now() > end)
      return "a process keeps " + file.filename().string() + " (lslocks names it)";
    std::this_thread::sleep_for(kBetweenLockLooks);
  }
  return "free";
}

ordered_json store_section(const StoreFolder& folder) {
  ordered_json section = {{"folder", folder.path.string()}};
  if (const auto left = free_space(folder.path))
    section["free_space"] = binary_bytes(static_cast<double>(*left));
  const std::string forbidden = what_forbids_writing(folder.path);
  section["writable"] = forbidden.empty();
  if (!forbidden.empty())
    section["problem"] = "store: nothing can be written to '" + folder.path.string() +
                         "': " + forbidden + "; choose another place with --store to run recipes";
  std::error_code error;
  if (!fs::exists(folder.database(), error)) {
    section["runs"] = 0;
    return section;
  }
  const Store store = open_store(folder);
  const auto runs = store.runs();
  section["runs"] = runs.size();
  for (const auto& [name, value] : store.health()) {
    const auto number = parse_number<int64_t>(value);
    if (!section.contains(name))
      section[name] = number ? ordered_json(*number) : ordered_json(value);
    if (name == "integrity" && value != "ok")
      section["problem"] =
          "store: '" + folder.database().string() + "' is damaged (" + value +
          "); move it aside and recover what is readable with: sqlite3 FILE .recover";
    if (name == "values" && value != "ok" && value != "not looked at")
      section["problem"] = "store: '" + folder.database().string() + "' has " + value;
  }
  section["store_lock"] = store_lock(folder);
  const auto stale = stale_locks(store, folder, runs);
  section["stale_locks"] = stale.empty() ? ordered_json("none") : ordered_json(stale);
  if (ordered_json missing = missing_folders(folder, runs); !missing.empty())
    section["folders_missing"] = std::move(missing);
  return section;
}

std::string text_of(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return json_text(value);
  std::string text;
  for (const auto& item : value) text += (text.empty() ? "" : ", ") + text_of(item);
  return text;
}

// "wal_bytes" is "wal" of so many KiB.
std::pair<std::string, std::string> for_people(std::string name, const ordered_json& value) {
  std::string text = text_of(value);
  if (const auto bytes = name.ends_with("bytes") ? parse_number<int64_t>(text) : std::nullopt) {
    name = name == "bytes" ? "size" : name.substr(0, name.size() - std::string("_bytes").size());
    text = binary_bytes(static_cast<double>(*bytes));
  }
  std::replace(name.begin(), name.end(), '_', ' ');
  return {std::move(name), std::move(text)};
}

std::string plain(const ordered_json& sections) {
  constexpr size_t kWidth = 21;
  const size_t columns = terminal_width();
  std::string text;
  for (const auto& [title, section] : sections.items()) {
    text += title + '\n';
    for (const auto& [key, value] : section.items()) {
      auto [name, shown] = for_people(key, value);
      if (shown.empty()) continue;
      name.resize(std::max(kWidth, name.size() + 1), ' ');
      const size_t begin = 2 + name.size();
      text += "  " + name + (columns ? wrapped(shown, 2 + kWidth, begin, columns) : shown) + '\n';
    }
  }
  return text;
}

bool healthy(const ordered_json& sections) {
  for (const ordered_json& section : sections)
    if (section.contains("problem")) return false;
  return true;
}

}  // namespace

int run_doctor(const Words& words, const Globals& globals) {
  bool json = false;
  Arguments arguments("doctor", "Reports what exprun finds on this machine and in its store.");
  arguments.flag("--json", json, "print JSON")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun doctor", "exit code 1 if a trainer, a GPU or the store does not work")
      .example("exprun doctor --json", "for a script");
  if (!arguments.parse(words)) return 0;
  const ordered_json sections = {{"exprun", {{"version", version()}}},
                                 {"trainer", examined([] { return trainer_section(); })},
                                 {"gpu", examined([] { return gpu_section(); })},
                                 {"store", examined([&] { return store_section(globals.store); })}};
  print(json ? json_text(sections, 2) + '\n' : plain(sections));
  return static_cast<int>(healthy(sections) ? ExitCode::done : ExitCode::failed);
}

}  // namespace exprun
