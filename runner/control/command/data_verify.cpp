// exprun data verify PATH...
#include <map>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/data.h"
#include "control/command/line/arguments.h"
#include "control/data/prepared_set.h"
#include "control/data/shards/shard_contents.h"
#include "control/data/shards/shard_listing.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNotListed = "is not in the manifest";

struct Finding {
  bool good = false;
  std::string text;
};

// Of a file without a header, which may be anything: what it would be as tokens alone.
std::string as_raw_tokens(const fs::path& file) try {
  const TokenShard raw = recognise_shard(file).shard;
  return "if it contains only uint16 tokens, as nanoGPT writes them, they are " +
         with_thousands(raw.tokens) + ", the largest " +
         std::to_string(largest_token(raw, raw.tokens)) + ": verify it with --format raw_uint16";
} catch (const Error& error) {
  return error.what();
}

// What it holds, whatever a manifest says.
Finding finding_on_contents(const ListedShard& listed, ShardFormat format) try {
  const bool has_header = begins_as_shard(listed.file);
  if (has_header && format == ShardFormat::raw_uint16)
    return {false, "begins with a shard's header; verify it with --format auto"};
  if (!has_header && format == ShardFormat::with_header)
    return {false, "does not begin with a shard's header; " + as_raw_tokens(listed.file)};
  const TokenShard shard = inspect_shard(listed.file, format);
  if (shard.tokens == 0) return {false, "holds no token; download or create it again"};
  const auto counts = count_tokens(shard);
  const std::string largest = std::to_string(counts.size() - 1);
  const std::optional<PreparedData>& set = listed.folder->set;
  const auto vocabulary = set ? set->vocab_size : std::nullopt;
  if (vocabulary && static_cast<int64_t>(counts.size()) > *vocabulary)
    return {false,
            "token " + largest + " is not in the vocabulary of " + std::to_string(*vocabulary)};
  const std::string bits = std::to_string(8 * shard.token_bytes);
  return {
      true,
      "good: " + pluralize(shard.tokens, "token") + ", " +
          (has_header ? "uint" + bits + " behind a header" : "raw uint" + bits + ", no header") +
          (has_header || vocabulary ? ""
                                    : "; the largest is " + largest +
                                          ", and there is no vocabulary to compare it with")};
} catch (const Error& error) {
  return {false, error.what()};
}

class Verification {
 public:
  Verification(ShardFormat format, bool as_json) : format_(format), as_json_(as_json) {}

  void of_path(const fs::path& path) try {
    const ListedShards listed = list_shards({path.string()});
    const bool is_there = !listed.folders.empty() || !listed.shards.empty();
    for (const std::string& problem : listed.problems)
      is_there ? tell(path, {false, problem}, problem) : tell_error(path, problem);
    const auto set = listed.folders.empty() || !listed.folders.front()->is_set()
                         ? nullptr
                         : listed.folders.front();
    const auto problems_of_set = set ? told_problems(*set, listed.shards) : ProblemsByName();
    for (const ListedShard& shard : listed.shards) {
      // Damage is no other format: where the set knows a problem, the contents say nothing.
      const std::string problem =
          shard.folder == set ? problem_of(shard, problems_of_set) : problem_in_its_set(shard);
      tell(shard.file,
           problem.empty() ? finding_on_contents(shard, format_) : Finding{false, problem});
    }
  } catch (const Error& unreadable) {
    tell_error(path, unreadable.what());
  } catch (const fs::filesystem_error& error) {
    tell_error(path,
               "data: cannot look through '" + path.string() + "': " + error.code().message());
  }

  // Lines were printed as they were found.
  void finish() const {
    if (as_json_) print(json_text(findings_, 2, NotUtf8::replaced) + "\n");
  }

  bool found_problems() const { return found_problems_; }

 private:
  using ProblemsByName = std::map<std::string, std::string>;

  // Why nothing was verified at the path, which it names itself.
  void tell_error(const fs::path& path, const std::string& why) {
    if (as_json_) return tell(path, {false, why});
    log(LogLevel::error, why);
    found_problems_ = true;
  }

  void tell(const fs::path& path, const Finding& finding) {
    tell(path, finding, in_one_line(path.string()) + ": " + finding.text);
  }

  void tell(const fs::path& path, const Finding& finding, const std::string& line) {
    if (as_json_)
      findings_.push_back(
          {{"path", path.string()}, {"good", finding.good}, {"finding", finding.text}});
    else
      print_foreign(line + "\n");
    found_problems_ |= !finding.good;
  }

  // Otherwise its files may be anybody's, a checkpoint's too.
  static bool is_prepared(const ShardFolder& folder) {
    return folder.set || listed_files(folder.path).contains(kDataDescription);
  }

  // Of all files that the manifest lists, and of those that it does not list.
  ProblemsByName told_problems(const ShardFolder& folder, const std::vector<ListedShard>& shards) {
    auto problems = manifest_problems(folder.path, Verify::hashes);
    const bool is_lost = !problems.empty() && problems[0].file == kManifestName;
    const bool is_damaged = !problems.empty();
    const auto listed = listed_files(folder.path);
    for (const ListedShard& shard : shards)
      if (const std::string name = shard.file.filename().string();
          !is_lost && !listed.contains(name))
        problems.push_back({name, kNotListed});
    ProblemsByName by_name;
    for (const auto& [file, what] : problems) {
      tell(folder.path, {false, in_one_line(file) + " " + what});
      by_name[file] = what;
    }
    if (is_damaged && is_prepared(folder))
      tell(folder.path, {false, how_to_prepare_again(folder.path)});
    if (problems.empty()) tell(folder.path, {true, "good"});
    return by_name;
  }

  static std::string problem_of(const ListedShard& shard, const ProblemsByName& problems) {
    const auto found = problems.find(shard.file.filename().string());
    return found == problems.end() ? "" : found->second;
  }

  // Of a shard that is named alone.
  static std::string problem_in_its_set(const ListedShard& shard) {
    if (!shard.folder->is_set()) return "";
    const fs::path& folder = shard.folder->path;
    const std::string name = shard.file.filename().string();
    const auto problems = manifest_problems(folder, Verify::hashes, {name});
    if (problems.empty()) return listed_files(folder).contains(name) ? "" : kNotListed;
    const auto& [file, what] = problems[0];
    return (file == name ? what
                         : "cannot be compared, '" + (folder / file).string() + "' " + what) +
           (is_prepared(*shard.folder) ? "; " + how_to_prepare_again(folder) : "");
  }

  const ShardFormat format_;
  const bool as_json_;
  nlohmann::json findings_ = nlohmann::json::array();
  bool found_problems_ = false;
};

ShardFormat format_named(const std::string& name) {
  if (name == "auto") return ShardFormat::with_header;
  if (name == "raw_uint16") return ShardFormat::raw_uint16;
  throw Error("data verify: --format takes auto or raw_uint16, not '" + name + "'",
              ExitCode::bad_recipe);
}

}  // namespace

int run_data_verify(const Words& words, const Globals&) {
  Words paths;
  std::string format = "auto";
  bool json = false;
  Arguments arguments("data verify PATH...",
                      "Reads every token and checks headers against sizes, tokens against the "
                      "vocabulary, and prepared folders against their checksums.");
  arguments.needed_words("PATH...", paths, "shards, or folders of them", offer::files)
      .option(
          "--format", "FORMAT", format,
          "auto: files with a header; raw_uint16: tokens without a header, as nanoGPT writes them",
          offer::one_of({"auto", "raw_uint16"}))
      .flag("--json", json, "print the findings as a JSON array")
      .note(
          "A run compares less: the sizes of prepared files, and the contents of those that were "
          "modified since, by their times.")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data verify data/corpus", "exit code 1 if a file is damaged");
  if (!arguments.parse(words)) return 0;
  Verification verification(format_named(format), json);
  for (const std::string& path : paths) verification.of_path(path);
  verification.finish();
  return static_cast<int>(verification.found_problems() ? ExitCode::failed : ExitCode::done);
}

}  // namespace exprun
