// exprun data fetch NAME
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/process/signals.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "control/command/data.h"
#include "control/command/line/arguments.h"
#include "control/command/line/table_format.h"
#include "control/data/byte_progress.h"
#include "control/data/fetch/catalogue.h"
#include "control/data/fetch/download.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

const CatalogueEntry& entry_named(const std::string& name) {
  if (const CatalogueEntry* entry = find_in_catalogue(name)) return *entry;
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) names.emplace_back(entry.name);
  const auto near = nearest(name, names);
  throw Error("data fetch: '" + name + "' is not in the catalogue" +
                  (near ? "; did you mean '" + *near + "'?" : "; it has " + joined(names)),
              ExitCode::bad_recipe);
}

std::vector<Download> downloads_of(const CatalogueEntry& entry, int64_t shards,
                                   const fs::path& folder, bool checked) {
  std::vector<Download> downloads;
  for (const CatalogueFile& file : entry.files(shards))
    downloads.push_back({mirrored(file.address), folder / file.path, file.bytes, file.sha256,
                         file.tokens, checked});
  return downloads;
}

int64_t shards_of(const CatalogueEntry& entry, std::optional<int64_t> asked) {
  if (!asked) return entry.shards;
  const std::string name = entry.name;
  if (entry.shards == 0)
    throw Error("data fetch: " + name + " is not in shards; leave out --shards",
                ExitCode::bad_recipe);
  if (*asked < 1 || *asked > entry.shards)
    throw Error("data fetch: " + name + " has 1 to " + std::to_string(entry.shards) +
                    " training shards, not " + std::to_string(*asked),
                ExitCode::bad_recipe);
  return *asked;
}

size_t threads_of(int64_t parallel) {
  constexpr int64_t kMost = 64;
  if (parallel < 1 || parallel > kMost)
    throw Error("data fetch: --parallel takes 1 to " + std::to_string(kMost) + ", not " +
                    std::to_string(parallel),
                ExitCode::bad_recipe);
  return static_cast<size_t>(parallel);
}

ResultTable table_of(const std::vector<Download>& downloads) {
  ResultTable table{{{"address", "address"},
                     {"bytes", "bytes", true},
                     {"file", "file"},
                     {"sha256", "SHA-256", false, 1}},
                    {}};
  for (const Download& wanted : downloads) {
    const bool has_bytes = wanted.bytes > 0 && wanted.checked;
    const bool has_sha256 = !wanted.sha256.empty() && wanted.checked;
    table.rows.push_back(
        {Cell::word(wanted.address), has_bytes ? Cell::integer(wanted.bytes) : Cell::none(),
         Cell::word(wanted.file.string()), has_sha256 ? Cell::word(wanted.sha256) : Cell::none()});
  }
  return table;
}

// Several files at once. The first failure ends the rest.
class Fetching {
 public:
  Fetching(std::vector<Download> downloads, const DownloadOptions& options)
      : downloads_(std::move(downloads)), options_(options) {
    for (const Download& download : downloads_) {
      progress_.expected += download.bytes;
      begun_ += bytes_begun(download);
    }
  }

  void run(size_t threads) {
    std::vector<std::thread> pool;
    for (size_t i = 0; i < std::min(threads, downloads_.size()); ++i)
      pool.emplace_back([this] { fetch_files(); });
    std::thread shower([this] { show(); });
    for (std::thread& thread : pool) thread.join();
    ended_ = true;
    shower.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void fetch_files() {
    for (size_t i = next_++; i < downloads_.size() && !failed_; i = next_++) try {
        download(downloads_[i], options_, progress_);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!failed_.exchange(true)) failure_ = std::current_exception();
      }
  }

  void show() {
    ByteProgress shown("fetching", progress_.expected);
    shown.begin_at(begun_);
    for (; !ended_; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
      shown.expect(progress_.expected);
      shown.show(begun_ + progress_.received);
    }
  }

  const std::vector<Download> downloads_;
  const DownloadOptions options_;
  int64_t begun_ = 0;  // bytes of all parts
  std::atomic<size_t> next_{0};
  DownloadProgress progress_;
  std::atomic<bool> failed_{false}, ended_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

ResultTable table_of(std::span<const CatalogueEntry> entries) {
  ResultTable table{{{"name", "name"},
                     {"what", "what"},
                     {"licence", "licence"},
                     {"shards", "training shards", true}},
                    {}};
  for (const CatalogueEntry& entry : entries)
    table.rows.push_back({Cell::word(entry.name), Cell::word(entry.what), Cell::word(entry.licence),
                          entry.shards ? Cell::integer(entry.shards) : Cell::none()});
  return table;
}

void list_catalogue(const TableFormat& format) {
  if (!format.is_plain()) return format.print(table_of(catalogue()), "no data");
  std::string text;
  for (const CatalogueEntry& entry : catalogue()) {
    const std::string name = entry.name;
    text += name + std::string(name.size() < 17 ? 17 - name.size() : 1, ' ') + entry.what + " (" +
            entry.licence + ")\n";
  }
  print(text);
}

// For people the paths alone.
void list_fetched(const std::vector<Download>& all, const TableFormat& format) {
  if (!format.is_plain()) return format.print(table_of(all), "no files");
  for (const Download& wanted : all) print(wanted.file.string() + '\n');
}

// `given` are the options that say something of what is fetched.
void refuse_without_name(const std::vector<std::pair<const char*, bool>>& given) {
  for (const auto& [option, is_given] : given)
    if (is_given)
      throw Error("data fetch: " + std::string(option) + " needs a NAME", ExitCode::bad_recipe);
}

int code_of_stop() {
  return static_cast<int>(stop_requested() == StopRequest::terminate ? ExitCode::interrupted_term
                                                                     : ExitCode::interrupted_int);
}

Words offered_sets(const Typed&) {
  Words names;
  for (const CatalogueEntry& entry : catalogue()) names.emplace_back(entry.name);
  return names;
}

}  // namespace

int run_data_fetch(const Words& words, const Globals&) {
  std::string name, folder;
  std::optional<int64_t> shards, parallel, retries;
  bool no_checksum = false, dry_run = false;
  TableFormat format;
  Arguments arguments(
      "data fetch [NAME]",
      "Downloads a public dataset, tokenizer or model; without NAME, lists them. If the download "
      "is stopped, run the command again to continue. Proxies are taken from http_proxy, "
      "https_proxy and no_proxy; EXPRUN_MIRROR is the address of a server to download from instead "
      "of the original ones.");
  arguments.optional_word("NAME", name, "a name from the list", offered_sets)
      .number("--shards", shards, "only the first N training shards")
      .option("--to", "DIR", folder, "the folder to write to (default: data)", offer::folders)
      .number("--parallel", parallel, "files at once, 1 to 64 (default: 4)")
      .number("--retries", retries, "retries for each file (default: 5)")
      .flag("--no-checksum", no_checksum,
            "accept files that differ from the published size and SHA-256")
      .flag("--dry-run", dry_run, "only list the files and their addresses")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe,
                   ExitCode::interrupted_int, ExitCode::interrupted_term})
      .example("exprun data fetch fineweb10b --shards 10", "a billion tokens");
  format.declare(arguments);
  if (!arguments.parse(words)) return 0;
  format.check();
  if (name.empty()) {
    refuse_without_name({{"--shards", shards.has_value()},
                         {"--to", !folder.empty()},
                         {"--parallel", parallel.has_value()},
                         {"--retries", retries.has_value()},
                         {"--no-checksum", no_checksum},
                         {"--dry-run", dry_run}});
    list_catalogue(format);
    return 0;
  }
  const size_t threads = threads_of(parallel.value_or(4));
  if (folder.empty()) folder = "data";
  const CatalogueEntry& entry = entry_named(name);
  const auto all = downloads_of(entry, shards_of(entry, shards), folder, !no_checksum);
  if (dry_run) {
    format.print(table_of(all), "no files");
    return 0;
  }
  std::vector<Download> missing;
  for (const Download& wanted : all) {
    make_folder(wanted.file.parent_path());
    if (!is_downloaded(wanted)) missing.push_back(wanted);
  }
  watch_stop_signals();
  check_space(missing, folder, free_space(folder));
  DownloadOptions options;
  options.retries = retries.value_or(options.retries);
  if (!missing.empty()) Fetching(missing, options).run(threads);
  if (stop_requested() != StopRequest::none) return code_of_stop();
  list_fetched(all, format);
  return 0;
}

}  // namespace exprun
