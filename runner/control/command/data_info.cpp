// exprun data info PATH...
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/utf8.h"
#include "control/command/data.h"
#include "control/command/line/arguments.h"
#include "control/command/line/table_format.h"
#include "control/data/prepared_set.h"
#include "control/data/shards/shard_contents.h"
#include "control/data/shards/shard_listing.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// A token as JSON would write it, spaces and line ends are seen; nothing where the files differ in
// what it is.
std::string shown(const ListedShards& listed, int64_t token) {
  std::string text;
  for (const ListedShard& one : listed.shards) {
    if (!one.tokenizer) return "";
    const std::string here = to_valid_utf8(one.tokenizer->decode(std::vector<int64_t>{token}));
    if (&one != &listed.shards.front() && here != text) return "";
    text = here;
  }
  return json_text(nlohmann::json(text));
}

// How often each token stands in all of them that can be read.
std::vector<int64_t> count_all_tokens(const ListedShards& listed,
                                      std::vector<std::string>& problems) {
  std::vector<int64_t> counts;
  for (const ListedShard& one : listed.shards) try {
      const auto here = count_tokens(recognise_shard(one.file).shard);
      counts.resize(std::max(counts.size(), here.size()));
      for (size_t i = 0; i < here.size(); ++i) counts[i] += here[i];
    } catch (const Error& error) {
      problems.push_back(error.what());
    }
  return counts;
}

// `problems`: of the files that cannot be read and are not counted.
ResultTable histogram(const ListedShards& listed, size_t most, std::vector<std::string>& problems) {
  const std::vector<int64_t> counts = count_all_tokens(listed, problems);
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
                            Cell::word(shown(listed, token))});
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
ResultTable overview(const ListedShards& listed, std::vector<std::string>& problems) {
  ResultTable table{{{"file", "file"},
                     {"tokens", "tokens", true},
                     {"smallest", "smallest", true},
                     {"largest", "largest", true},
                     {"different", "different", true},
                     {"format", "format", false, 1}},
                    {}};
  for (const ListedShard& one : listed.shards) try {
      table.rows.push_back(row_of(one.file));
    } catch (const Error& error) {
      problems.push_back(error.what());
    }
  return table;
}

// Of the sets among the folders, a paragraph each; what they lack becomes a problem.
std::string described(const ListedShards& listed, std::vector<std::string>& problems) {
  std::string text;
  for (const auto& folder : listed.folders)
    if (folder->set) try {
        text += in_one_line(folder->path.string()) + '\n' +
                set_lines(*folder->set, folder->path / kDataDescription) + '\n';
      } catch (const Error& error) {
        problems.push_back(error.what());
      }
  return text;
}

// As the table writes it.
fs::path named_in(const fs::path& folder, const TokenShard& shard) {
  return folder / fs::path(shard.path).lexically_proximate(fs::absolute(folder));
}

void find_missing(const ListedShards& listed, std::vector<std::string>& problems) {
  for (const auto& folder : listed.folders)
    if (folder->set)
      for (const auto* split : {&folder->set->train, &folder->set->validation})
        for (const TokenShard& shard : *split)
          if (std::error_code ignored; !fs::exists(shard.path, ignored))
            problems.push_back("data: '" + named_in(folder->path, shard).string() +
                               "' is missing, '" + (folder->path / kDataDescription).string() +
                               "' lists it");
}

}  // namespace

int run_data_info(const Words& words, const Globals&) {
  Words paths;
  std::string tokenizer;
  int64_t most = 0;
  TableFormat format;
  Arguments arguments(
      "data info PATH...",
      "Describes token shards (format, counts, range) and shows what prepared folders were made "
      "from. Supports the formats of llm.c, modded-nanogpt, DDP-BASEMODEL-TRAIN and nanoGPT.");
  arguments.needed_words("PATH...", paths, "shards, or folders of them", offer::files)
      .number("--histogram", most, "list the N most frequent tokens instead")
      .option("--tokenizer", "PATH", tokenizer,
              kVocabularyForms + std::string(", to show tokens as text"), offer::files)
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data info data/corpus", "each shard of a folder")
      .example("exprun data info data/corpus --histogram 20", "the 20 most frequent tokens");
  format.declare(arguments);
  if (!arguments.parse(words)) return 0;
  ListedShards listed = list_shards(paths);
  if (most > 0 || !tokenizer.empty()) find_tokenizers(listed, tokenizer);
  std::vector<std::string> problems = listed.problems;
  find_missing(listed, problems);
  const ResultTable table = most > 0 ? histogram(listed, static_cast<size_t>(most), problems)
                                     : overview(listed, problems);
  if (most == 0 && format.is_plain()) print(described(listed, problems));
  const bool says_why = format.is_plain() && !problems.empty();
  if (!table.rows.empty() || !says_why) format.print(table, "no shards");
  for (const std::string& problem : problems) log(LogLevel::error, problem);
  return static_cast<int>(problems.empty() ? ExitCode::done : ExitCode::failed);
}

}  // namespace exprun
