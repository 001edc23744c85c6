// exprun data info|verify|head PATH...
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/manifest.h"
#include "base/utf8.h"
#include "control/command/arguments.h"
#include "control/command/data.h"
#include "control/command/table_format.h"
#include "control/data/own_folder.h"
#include "control/data/prepared_set.h"
#include "control/data/shard_contents.h"
#include "control/report/terminal.h"
#include "text/bpe_tokenizer.h"
#include "text/prepared_data.h"
#include "text/tokenizer.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

struct Looked {
  fs::path file;
  std::shared_ptr<const Tokenizer> tokenizer;  // of its prepared folder, or the one asked for
  std::optional<int64_t> vocab_size;
};

// The shards of a folder.
std::vector<Looked> look_at_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".bin") files.push_back(entry.path());
  if (files.empty())
    throw Error("data: '" + folder.string() +
                "' has no token shards (*.bin); exprun data prepare "
                "makes some");
  std::sort(files.begin(), files.end());
  Looked common;
  if (fs::exists(folder / kDataDescription)) {
    const PreparedData data = load_set(folder);
    if (!data.tokenizer.is_null()) common.tokenizer = load_tokenizer(data.tokenizer);
    common.vocab_size = data.vocab_size;
  }
  std::vector<Looked> looked;
  for (fs::path& file : files)
    looked.push_back({std::move(file), common.tokenizer, common.vocab_size});
  return looked;
}

std::vector<Looked> look(const Words& paths, const std::string& vocabulary) {
  std::vector<Looked> looked;
  for (const fs::path path : paths) {
    if (!fs::exists(path)) throw Error("data: '" + path.string() + "' does not exist");
    const auto here =
        fs::is_directory(path) ? look_at_folder(path) : std::vector<Looked>{{path, nullptr, {}}};
    looked.insert(looked.end(), here.begin(), here.end());
  }
  if (vocabulary.empty()) return looked;
  const std::shared_ptr<const Tokenizer> asked_for = load_bpe_tokenizer(vocabulary);
  for (Looked& one : looked) one = {one.file, asked_for, asked_for->vocab_size()};
  return looked;
}

// A token as JSON would write it, spaces and line ends are seen; nothing where the files differ in
// what it is.
std::string shown(const std::vector<Looked>& looked, int64_t token) {
  std::string text;
  for (const Looked& one : looked) {
    if (!one.tokenizer) return "";
    const std::string here = to_valid_utf8(one.tokenizer->decode(std::vector<int64_t>{token}));
    if (&one != &looked.front() && here != text) return "";
    text = here;
  }
  return json_text(nlohmann::json(text));
}

// How often each token stands in all of them that can be read.
std::vector<int64_t> count_all_tokens(const std::vector<Looked>& looked,
                                      std::vector<std::string>& problems) {
  std::vector<int64_t> counts;
  for (const Looked& one : looked) try {
      const auto here = count_tokens(recognise_shard(one.file).shard);
      counts.resize(std::max(counts.size(), here.size()));
      for (size_t i = 0; i < here.size(); ++i) counts[i] += here[i];
    } catch (const Error& error) {
      problems.push_back(error.what());
    }
  return counts;
}

// `problems`: of the files that cannot be read and are not counted.
ResultTable histogram(const std::vector<Looked>& looked, size_t most,
                      std::vector<std::string>& problems) {
  const std::vector<int64_t> counts = count_all_tokens(looked, problems);
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  std::vector<int64_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return counts[a] > counts[b]; });
  order.resize(std::min(order.size(), most));
  ResultTable table{{{"token", "token", true},
                     {"count", "count", true},
                     {"share", "share", true},
                     {"text", "text"}},
                    {}};
  for (const int64_t token : order)
    if (counts[token] > 0)
      table.rows.push_back({Cell::integer(token), Cell::integer(counts[token]),
                            Cell::number(static_cast<double>(counts[token]) / total),
                            Cell::word(shown(looked, token))});
  return table;
}

std::vector<Cell> row_of(const fs::path& file) {
  const KnownShard known = recognise_shard(file);
  const auto counts = count_tokens(known.shard);
  const auto is_there = [](int64_t count) { return count > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), is_there);
  const auto different = std::count_if(counts.begin(), counts.end(), is_there);
  return {Cell::word(file.string()),
          Cell::integer(known.shard.tokens),
          counts.empty() ? Cell::none() : Cell::integer(first - counts.begin()),
          counts.empty() ? Cell::none() : Cell::integer(static_cast<int64_t>(counts.size()) - 1),
          Cell::integer(different),
          Cell::word(known.format)};
}

// `problems`: of the files that cannot be read and have no row.
ResultTable overview(const std::vector<Looked>& looked, std::vector<std::string>& problems) {
  ResultTable table{{{"file", "file"},
                     {"tokens", "tokens", true},
                     {"smallest", "smallest", true},
                     {"largest", "largest", true},
                     {"different", "different", true},
                     {"format", "format", false, true}},
                    {}};
  for (const Looked& one : looked) try {
      table.rows.push_back(row_of(one.file));
    } catch (const Error& error) {
      problems.push_back(error.what());
    }
  return table;
}

// What the manifest of a prepared folder says of its files, by their paths.
std::map<fs::path, std::string> listed_problems(const fs::path& folder) {
  std::map<fs::path, std::string> problems;
  if (fs::exists(folder / kManifestName))
    for (const auto& [file, what] : manifest_problems(folder, Verify::hashes))
      problems[folder / file] = what;
  return problems;
}

// What is wrong with a file, or nothing.
std::string problem_of(const Looked& looked) try {
  const auto counts = count_tokens(recognise_shard(looked.file).shard);
  if (!looked.vocab_size || static_cast<int64_t>(counts.size()) <= *looked.vocab_size) return "";
  return "token " + std::to_string(counts.size() - 1) + " is not in the vocabulary of " +
         std::to_string(*looked.vocab_size);
} catch (const Error& error) {
  return error.what();
}

}  // namespace

int run_data_info(const Words& words, const Globals&) {
  Words paths;
  std::string vocabulary;
  int64_t most = 0;
  TableFormat format;
  Arguments arguments("data info PATH...",
                      "Says what files of tokens hold: format, counts, range. Knows the shards of "
                      "llm.c, modded-nanogpt, DDP-BASEMODEL-TRAIN and nanoGPT.");
  arguments.words("PATH...", paths, "shards, or folders of them", offer::files)
      .number("--histogram", most, "the so many most frequent tokens instead")
      .option("--vocabulary", "PATH", vocabulary, "of a BPE, to show tokens as text", offer::files)
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data info data/corpus", "of each shard of a folder")
      .example("exprun data info data/corpus --histogram 20", "the 20 most frequent tokens");
  format.declare(arguments);
  if (!arguments.parse(words)) return 0;
  const auto looked = look(paths, vocabulary);
  std::vector<std::string> problems;
  format.print(most > 0 ? histogram(looked, static_cast<size_t>(most), problems)
                        : overview(looked, problems),
               "no shards");
  for (const std::string& problem : problems) log(LogLevel::error, problem);
  return static_cast<int>(problems.empty() ? ExitCode::done : ExitCode::failed);
}

int run_data_verify(const Words& words, const Globals&) {
  Words paths;
  Arguments arguments("data verify PATH...",
                      "Reads every token and compares: headers with sizes, tokens with the "
                      "vocabulary, prepared folders with their checksums.");
  arguments.words("PATH...", paths, "shards, or folders of them", offer::files)
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data verify data/corpus", "1 where a file is not good");
  if (!arguments.parse(words)) return 0;
  int64_t problems = 0;
  const auto tell = [&](const fs::path& path, const std::string& problem) {
    print(path.string() + ": " + (problem.empty() ? "good" : problem) + "\n");
    problems += !problem.empty();
  };
  for (const fs::path path : paths) {
    const auto listed = listed_problems(path);
    if (listed.empty() && fs::exists(path / kManifestName)) tell(path, "");
    for (const auto& [file, what] : listed)
      tell(path, fs::relative(file, path).string() + " " + what);
    for (const Looked& one : look({path.string()}, "")) {
      const std::string problem = problem_of(one);
      const auto found = listed.find(one.file);
      tell(one.file, problem.empty() && found != listed.end() ? found->second : problem);
    }
  }
  return static_cast<int>(problems == 0 ? ExitCode::done : ExitCode::failed);
}

int run_data_head(const Words& words, const Globals&) {
  Words paths;
  std::string vocabulary;
  int64_t tokens = 256, from = 0;
  bool ids = false;
  Arguments arguments("data head PATH...", "Prints the first tokens of a shard as text.");
  arguments.words("PATH...", paths, "shards, or folders of them", offer::files)
      .number("--tokens", tokens, "how many (256)")
      .number("--from", from, "the first of them (0)")
      .flag("--ids", ids, "as numbers")
      .option("--vocabulary", "PATH", vocabulary, "of a BPE; prepared folders bring their own",
              offer::files)
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data head data/corpus --tokens 64", "as text")
      .example("exprun data head data/corpus --ids", "as numbers");
  if (!arguments.parse(words)) return 0;
  const auto looked = look(paths, vocabulary);
  const auto unknown =
      std::find_if(looked.begin(), looked.end(), [](const Looked& one) { return !one.tokenizer; });
  if (unknown != looked.end() && !ids)
    throw Error("data head: nothing says which tokenizer made '" + unknown->file.string() +
                    "'; give --vocabulary PATH, or --ids for the numbers",
                ExitCode::bad_recipe);
  for (const Looked& one : looked) {
    const auto read =
        read_tokens(recognise_shard(one.file).shard, std::max<int64_t>(0, from), tokens);
    std::string text;
    if (ids)
      for (const int64_t token : read) text += std::to_string(token) + "\n";
    else
      text = to_valid_utf8(one.tokenizer->decode(read)) + "\n";
    print((looked.size() > 1 ? "==> " + one.file.string() + "\n" : "") + text);
  }
  return 0;
}

}  // namespace exprun
