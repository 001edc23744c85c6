#include "base/suggest.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/format_units.h"
#include "base/strings.h"

namespace exprun {
namespace {

constexpr size_t kFarthest = 3;
constexpr size_t kLeastBeginning = 3;  // letters that tell a name from others

// Optimal string alignment: insertion, deletion, substitution and swap of neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, row);
  }
  return previous[b.size()];
}

std::string digits_of(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c >= '0' && c <= '9'; });
  return digits;
}

// A longer word for the same: "bfloat16" is "bf16". The only one with its first letter and number.
std::optional<std::string> of_same_number(std::string_view name,
                                          const std::vector<std::string>& candidates) {
  const std::string digits = digits_of(name);
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (digits.empty() || candidate[0] != name[0] || digits_of(candidate) != digits) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

struct Pair {
  const char *theirs, *ours;
};

constexpr Pair kTables[] = {
    {"train", "run"},       {"training", "run"},       {"trainer", "run"},
    {"data", "dataset"},    {"scheduler", "schedule"}, {"lr_scheduler", "schedule"},
    {"eval", "evaluation"},
};

constexpr Pair kValues[] = {
    {"gpu", "cuda"},        {"half", "fp16"},        {"float", "fp32"},
    {"single", "fp32"},     {"rope", "rotary"},      {"min", "minimize"},
    {"max", "maximize"},    {"jsonl", "json_lines"}, {"ndjson", "json_lines"},
    {"txt", "text"},        {"bin", "token_shards"}, {"chat", "instruction"},
    {"sft", "instruction"}, {"tiktoken", "gpt2"},
};

constexpr Pair kCommands[] = {
    {"log", "logs"},        {"kill", "stop"},       {"list", "ls"},        {"runs", "ls"},
    {"status", "ls"},       {"ps", "ls"},           {"delete", "rm"},      {"remove", "rm"},
    {"continue", "resume"}, {"restart", "resume"},  {"diff", "compare"},   {"generate", "sample"},
    {"evaluate", "eval"},   {"test", "eval"},       {"validate", "check"}, {"init", "new"},
    {"create", "new"},      {"prepare", "data"},    {"download", "data"},  {"info", "show"},
    {"sql", "query"},       {"prune", "gc"},        {"repeat", "rerun"},   {"tune", "sweep"},
    {"search", "sweep"},    {"dashboard", "watch"}, {"chat", "sample"},    {"tail", "logs"},
    {"metrics", "export"},  {"rename", "tag"},
};

constexpr Pair kOptions[] = {
    {"--top", "--limit"},
    {"--limit", "--top"},
    {"--head", "--limit"},
    {"-n", "--limit"},
    {"-n", "--top"},
    {"-n", "--lines"},
    {"--tail", "--lines"},
    {"--last", "--limit"},
    {"--last", "--top"},
    {"--last", "--lines"},
    {"--filter", "--where"},
    {"--order-by", "--sort"},
    {"--parallel", "--jobs"},
    {"--workers", "--jobs"},
    {"--n-trials", "--trials"},
    {"--num-samples", "--trials"},
    {"--count", "--trials"},
    {"--hf", "--huggingface"},
    {"--start", "--prompt"},
    {"--to", "--out"},
    {"--out", "--to"},
    {"--overwrite", "--new"},
    {"--force", "--new"},
    {"--background", "--detach"},
    {"--vocabulary", "--tokenizer"},
    {"--delete", "--remove"},
};

// What needs no option.
constexpr Pair kOptionNotes[] = {
    {"--dry-run", "; `exprun check RECIPE` shows the plan of a run"},
    {"--check", "; `exprun check RECIPE` lists its mistakes, or shows the plan of a run"},
    {"--resume", "; the same command continues a run that was interrupted"},
    {"--config", "; give the recipe without an option before it"},
    {"--config-name", "; give the recipe without an option before it"},
};

// What the command sweep does without them.
constexpr std::string_view kSweeping[] = {"--multirun", "-m", "--sweep"};

constexpr const char* kPage =
    "; `exprun report --html FILE` writes a page for a browser, and `exprun watch` shows a run in "
    "the terminal";

constexpr const char* kTraining = "; to train, use `exprun RECIPE` with a .toml file";

constexpr Pair kCommandNotes[] = {
    {"train", kTraining},
    {"run", kTraining},
    {"fit", kTraining},
    {"start", kTraining},
    {"tensorboard", "; `exprun export RUN --tensorboard DIR` writes what TensorBoard reads"},
    {"ui", kPage},
    {"web", kPage},
    {"serve", kPage},
    {"server", kPage},
};

// Models that are a choice of keys here.
constexpr std::string_view kArchitectures[] = {
    "llama", "llama2", "llama3",  "mistral", "qwen",    "qwen2",      "qwen3",
    "olmo",  "olmo2",  "gpt-neo", "gptneo",  "decoder", "transformer"};

// Formats of records, which are no type of their own either.
constexpr std::string_view kRecords[] = {"json", "jsonl", "json_lines", "ndjson"};

// Parts of the names of other tools' schedules, and the type of that form: small letters without
// separators. The first counts.
constexpr Pair kSchedules[] = {{"restart", ""},  // no type has them
                               {"stable", "wsd"},
                               {"wsd", "wsd"},
                               {"constant", "constant"},
                               {"linear", "linear"},
                               {"inversesqrt", "inverse_sqrt"},
                               {"inversesquareroot", "inverse_sqrt"},
                               {"invsqrt", "inverse_sqrt"},
                               {"rsqrt", "inverse_sqrt"},
                               {"cos", "cosine"}};

// They put the warmup into the name: "linear_warmup_cosine", "WarmupCosineLR". Here every schedule
// has one. What the rest of the name says is no other schedule's.
std::string note_on_warmup(std::string_view word) {
  std::string rest = lower_case(word);
  std::erase_if(rest, [](char c) { return c == '_' || c == '-'; });
  const size_t warmup = rest.find("warmup");
  if (warmup == rest.npos) return "";
  const size_t begin = std::min(warmup, rest.find("linearwarmup"));
  rest.erase(begin, warmup + std::string_view("warmup").size() - begin);
  const auto* const part =
      std::find_if(std::begin(kSchedules), std::end(kSchedules),
                   [&](const Pair& pair) { return rest.find(pair.theirs) != rest.npos; });
  const std::string type = part == std::end(kSchedules) ? "" : part->ours;
  return (type.empty() ? "every schedule has a warmup: choose a type, and write "
                       : "write \"" + type + "\" and ") +
         "schedule.warmup, such as \"100 steps\"";
}

constexpr std::string_view kNoValues[] = {"None", "none", "null", "Null", "nil"};

constexpr std::string_view kWordsForType[] = {"name", "_target_", "class", "class_name", "kind"};

constexpr std::string_view kSwitches[] = {"enabled", "enable", "disabled", "disable"};

constexpr std::string_view kRanges[] = {
    "loguniform", "log_uniform", "uniform",  "quniform",    "randint", "normal",
    "logspace",   "linspace",    "logrange", "interval",    "glob",    "shuffle",
    "geomspace",  "log",         "grid",     "grid_search", "tag"};

// That are ours only without "tune." or "np.".
constexpr std::string_view kFunctionsOfModules[] = {"choice", "range", "arange"};

const char* found_in(const Pair* begin, const Pair* end, std::string_view word) {
  const Pair* found =
      std::find_if(begin, end, [&](const Pair& pair) { return pair.theirs == word; });
  return found == end ? nullptr : found->ours;
}

template <size_t N>
bool contains(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// "cuda" for "gpu", if it is among the choices.
std::optional<std::string> value_synonym(std::string_view word,
                                         const std::vector<std::string>& choices) {
  const char* ours = found_in(std::begin(kValues), std::end(kValues), word);
  if (!ours || std::find(choices.begin(), choices.end(), ours) == choices.end())
    return std::nullopt;
  return ours;
}

// The name for which `holds`; nothing if several are.
template <class Holds>
std::optional<std::string> only_one(const std::vector<std::string>& names, Holds holds) {
  std::optional<std::string> found;
  for (const std::string& name : names) {
    if (!holds(name) || found == name) continue;
    if (found) return std::nullopt;
    found = name;
  }
  return found;
}

// "temperature" of "temp"
std::optional<std::string> name_begun(std::string_view word,
                                      const std::vector<std::string>& names) {
  if (word.size() < kLeastBeginning) return std::nullopt;
  return only_one(names,
                  [&](const std::string& name) { return name.starts_with(lower_case(word)); });
}

}  // namespace

std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t best_distance = kFarthest + 1;
  for (const std::string& candidate : candidates) {
    const size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= best_distance) continue;
    const size_t distance = edit_distance(lower_case(name), lower_case(candidate));
    if (distance >= best_distance || 2 * distance >= longer) continue;
    best = candidate;
    best_distance = distance;
  }
  if (!best) best = of_same_number(name, candidates);
  return best ? best : name_begun(name, candidates);
}

std::optional<std::string> table_synonym(std::string_view word) {
  const char* ours = found_in(std::begin(kTables), std::end(kTables), word);
  return ours ? std::optional<std::string>(ours) : std::nullopt;
}

std::optional<std::string> choice_meant(std::string_view word,
                                        const std::vector<std::string>& choices) {
  if (const auto synonym = value_synonym(word, choices)) return synonym;
  if (const auto begun = name_begun(word, choices)) return begun;
  if (const auto near = nearest(word, choices)) return near;
  std::optional<std::string> longest;  // "adamw" of "adamw_torch"
  for (const std::string& choice : choices)
    if (lower_case(word).starts_with(choice + '_') && (!longest || choice.size() > longest->size()))
      longest = choice;
  return longest;
}

std::optional<std::string> name_meant(std::string_view word,
                                      const std::vector<std::string>& names) {
  if (const auto near = nearest(word, names);
      near && edit_distance(lower_case(word), lower_case(*near)) <= 1)
    return near;
  const std::string part(word);
  return only_one(names, [&](const std::string& name) {
    return name.ends_with('_' + part) || name.starts_with(part + '_');
  });
}

bool is_no_value(std::string_view word) {
  return contains(kNoValues, word);
}

std::string type_note(std::string_view kind, std::string_view word) {
  if (kind == "model" && contains(kArchitectures, word))
    return "write \"gpt\" and keys such as position.type, norm.type and activation; `exprun new "
           "--from DIR` writes those of a HuggingFace folder";
  if (kind == "schedule") return note_on_warmup(word);
  if (kind == "dataset" && contains(kRecords, word))
    return "write \"text\", which reads JSON records too: see dataset.format and dataset.template";
  return "";
}

std::string command_synonym(std::string_view word, const std::vector<std::string>& commands) {
  const char* ours = found_in(std::begin(kCommands), std::end(kCommands), word);
  const bool known = ours && std::find(commands.begin(), commands.end(), ours) != commands.end();
  return known ? std::string("; did you mean '") + ours + "'?" : "";
}

std::optional<std::string> option_synonym(std::string_view word,
                                          const std::vector<std::string>& options) {
  for (const Pair& pair : kOptions)
    if (pair.theirs == word &&
        std::find(options.begin(), options.end(), pair.ours) != options.end())
      return pair.ours;
  return std::nullopt;
}

std::string command_note(std::string_view word) {
  const char* note = found_in(std::begin(kCommandNotes), std::end(kCommandNotes), word);
  return note ? note : "";
}

std::string option_note(std::string_view word, std::string_view command) {
  if (contains(kSweeping, word))
    return command == "sweep"
               ? "; no option is needed: give a key several values, as in lr=1e-4,3e-4"
               : "; `exprun sweep RECIPE key=a,b` runs several";
  const char* note = found_in(std::begin(kOptionNotes), std::end(kOptionNotes), word);
  return note ? note : "";
}

bool has_word_for_type(std::string_view table, std::string_view key) {
  if (table != "model" && table != "optimizer" && table != "schedule") return false;
  return contains(kWordsForType, key);
}

bool turns_table_off(std::string_view key) {
  return contains(kSwitches, key);
}

std::optional<std::string> number_meant(std::string_view text) {
  static constexpr std::string_view kSuffixes = "kKmMbB%%";
  if (text.empty() || kSuffixes.find(text.back()) == text.npos) return std::nullopt;
  double number = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || last != end || !(std::abs(number) < 1e9)) return std::nullopt;
  const size_t kind = kSuffixes.find(text.back()) / 2;
  if (kind == 3) return shortest(number / 100);
  return std::to_string(std::llround(number * (kind == 0 ? 1e3 : kind == 1 ? 1e6 : 1e9)));
}

bool is_bare_interval(std::string_view text) {
  for (const std::string_view between : {"..", ":"}) {
    const size_t at = text.find(between);
    if (at == text.npos) continue;
    std::string_view rest = text.substr(at + between.size());
    if (const size_t step = between == ":" ? rest.find(':') : rest.npos; step != rest.npos) {
      if (!parse_number<double>(trimmed(rest.substr(step + 1)))) return false;
      rest = rest.substr(0, step);
    }
    return parse_number<double>(trimmed(text.substr(0, at))) && parse_number<double>(trimmed(rest));
  }
  const size_t dash = std::min(text.find('-', 1), text.size());  // no sign
  const auto first = parse_number<int64_t>(text.substr(0, dash));
  const auto last = parse_number<int64_t>(text.substr(std::min(dash + 1, text.size())));
  return first && last && *first < *last;
}

std::optional<std::string> foreign_range(std::string_view text) {
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  const auto end = std::find_if_not(text.begin(), text.end(), is_of_name);
  const std::string_view whole(text.begin(), end), rest(end, text.end());
  const size_t module = whole.rfind('.') + 1;  // 0 without one
  const std::string_view name = whole.substr(module);
  const bool is_known =
      contains(kRanges, name) || (module > 0 && contains(kFunctionsOfModules, name));
  const bool is_call = rest.starts_with('(') && rest.ends_with(')');
  if (!is_known || !(is_call || (name != "log" && rest.starts_with(':')))) return std::nullopt;
  return std::string(whole);
}

}  // namespace exprun
