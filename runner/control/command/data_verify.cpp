// exprun data verify PATH...
#include <map>

#include "base/counted.h"
#include "base/diagnostic.h"
#include "base/manifest.h"
#include "control/command/arguments.h"
#include "control/command/data.h"
#include "control/data/looked_shards.h"
#include "control/data/prepared_set.h"
#include "control/data/shard_contents.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNotListed = "is not in the manifest; move it away";

struct Verdict {
  bool good = false;
  std::string text;
};

// What it holds, whatever a manifest says.
Verdict verdict_on_contents(const LookedShard& looked, ShardFormat format) try {
  const KnownShard known = format == ShardFormat::raw_uint16
                               ? KnownShard{inspect_shard(looked.file, ShardFormat::raw_uint16), ""}
                               : recognise_shard(looked.file);
  if (format == ShardFormat::with_header && !known.has_header())
    return {false,
            "begins with no header of a shard; if it holds uint16 tokens and nothing else, verify "
            "it with --format raw_uint16"};
  const auto counts = count_tokens(known.shard);
  const std::optional<PreparedData>& set = looked.folder->set;
  if (set && set->vocab_size && static_cast<int64_t>(counts.size()) > *set->vocab_size)
    return {false, "token " + std::to_string(counts.size() - 1) + " is not in the vocabulary of " +
                       std::to_string(*set->vocab_size)};
  const std::string bits = std::to_string(8 * known.shard.token_bytes);
  return {true, "good: " + counted(known.shard.tokens, "token") + ", " +
                    (known.has_header() ? "uint" + bits + " behind a header"
                                        : "raw uint" + bits + ", no header")};
} catch (const Error& error) {
  return {false, error.what()};
}

class Verification {
 public:
  explicit Verification(ShardFormat format) : format_(format) {}

  void of_path(const fs::path& path) try {
    const LookedShards looked = look_at_shards({path.string()});
    for (const std::string& problem : looked.problems) tell(problem);
    std::map<fs::path, std::string> problems;
    for (const auto& folder : looked.folders)
      if (is_set(*folder)) problems = problems_of_set(*folder, looked.shards);
    for (const LookedShard& shard : looked.shards) {
      if (looked.folders.empty() && is_set(*shard.folder))
        problems[shard.file] = problem_in_its_set(shard);
      const Verdict verdict = verdict_on_contents(shard, format_);
      const std::string& problem = problems[shard.file];
      tell(shard.file, verdict.good && !problem.empty() ? Verdict{false, problem} : verdict);
    }
  } catch (const Error& unreadable) {
    tell(unreadable.what());
  }

  bool found_problems() const { return found_problems_; }

 private:
  static bool is_set(const ShardFolder& folder) {
    std::error_code ignored;
    return folder.is_described || fs::exists(folder.path / kManifestName, ignored);
  }

  void tell(const std::string& problem) {
    print(problem + "\n");
    found_problems_ = true;
  }

  void tell(const fs::path& path, const Verdict& verdict) {
    print(path.string() + ": " + verdict.text + "\n");
    found_problems_ |= !verdict.good;
  }

  // Of all files that the manifest lists, and of the shards that it does not list, by their paths.
  std::map<fs::path, std::string> problems_of_set(const ShardFolder& folder,
                                                  const std::vector<LookedShard>& shards) {
    auto problems = manifest_problems(folder.path, Verify::hashes);
    const bool is_lost = !problems.empty() && problems[0].file == kManifestName;
    if (is_lost && folder.is_described)
      problems[0].what += "; " + how_to_prepare_again(folder.path);
    const auto listed = listed_files(folder.path);
    for (const LookedShard& shard : shards)
      if (const auto name = shard.file.filename().string(); !is_lost && !listed.contains(name))
        problems.push_back({name, kNotListed});
    std::map<fs::path, std::string> by_path;
    for (const auto& [file, what] : problems) {
      tell(folder.path, {false, file + " " + what});
      by_path[folder.path / file] = what;
    }
    if (problems.empty()) tell(folder.path, {true, "good"});
    return by_path;
  }

  // Of a shard that is named alone.
  static std::string problem_in_its_set(const LookedShard& shard) {
    const fs::path& folder = shard.folder->path;
    const std::string name = shard.file.filename().string();
    const auto problems = manifest_problems(folder, Verify::hashes, name);
    if (problems.empty()) return listed_files(folder).contains(name) ? "" : kNotListed;
    if (problems[0].file == name) return problems[0].what;
    return "cannot be compared, '" + (folder / problems[0].file).string() + "' " +
           problems[0].what + "; " + how_to_prepare_again(folder);
  }

  const ShardFormat format_;
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
  Arguments arguments("data verify PATH...",
                      "Reads every token and compares: headers with sizes, tokens with the "
                      "vocabulary, prepared folders and what lies in them with their checksums.");
  arguments.needed_words("PATH...", paths, "shards, or folders of them", offer::files)
      .option("--format", "FORMAT", format,
              "auto: a header says what follows, and a file without one is not good; raw_uint16: "
              "tokens without a header, as nanoGPT writes them",
              offer::one_of({"auto", "raw_uint16"}))
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data verify data/corpus", "1 where a file is not good");
  if (!arguments.parse(words)) return 0;
  Verification verification(format_named(format));
  for (const std::string& path : paths) verification.of_path(path);
  return static_cast<int>(verification.found_problems() ? ExitCode::failed : ExitCode::done);
}

}  // namespace exprun
