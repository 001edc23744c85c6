#include "engine/weights/differences.h"

#include <ATen/ops/equal.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "engine/lora.h"
#include "engine/weights/name_table.h"
#include "huggingface/model_config.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string shape_text(at::IntArrayRef shape) {
  std::vector<int64_t> sizes = shape.vec();
  return json_text(json(sizes));
}

bool is_of_numbers(const std::string& dtype) {
  return dtype == "F64" || dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

// Where both sides state their tokens, rows beyond them are padding: any number of it fits.
bool shape_fits(const PlannedTensor& planned, const std::vector<int64_t>& found, bool states_tokens,
                const Wishes& wishes) {
  if (planned.shape == found) return true;
  if (!planned.of_vocabulary || found.size() != planned.shape.size()) return false;
  const size_t tokens = planned.transposed ? 1 : 0, width = 1 - tokens;
  if (found[tokens] < 1 || found[width] != planned.shape[width]) return false;
  const bool fits = found[tokens] <= planned.shape[tokens] || wishes.unmatched.empty();
  return states_tokens || (wishes.resize_vocabulary && fits);
}

// Whether a tensor that so many rows of are tokens can be of this shape.
bool has_rows(const PlannedTensor& planned, const std::vector<int64_t>& found, int64_t tokens) {
  return tokens >= 1 && tokens <= found[planned.transposed ? 1 : 0];
}

bool vocabulary_fits(const Vocabularies& stated, const Wishes& wishes) {
  return stated.theirs == stated.ours ||
         (wishes.resize_vocabulary && (stated.theirs < stated.ours || wishes.unmatched.empty()));
}

std::string known_as(const PlannedTensor& planned) {
  const std::string& ours = planned.parts.front().parameter;
  return ours == planned.name ? "'" + ours + "'" : "'" + planned.name + "' (" + ours + ")";
}

// A head that the model shares with its embedding may be there again, if it is the same.
bool is_tied_copy(const Source& source, const std::string& name) {
  const auto& tensors = source.plan().tensors;
  const auto embedding = std::find_if(tensors.begin(), tensors.end(), [](const auto& planned) {
    return !planned.parts.empty() && planned.parts.front().parameter == kEmbedding;
  });
  if (name != "lm_head.weight" || embedding == tensors.end() || !source.find(embedding->name))
    return false;
  const at::Tensor head = source.files().tensor(name), tokens = source.tensor(embedding->name);
  const bool same = head.scalar_type() == tokens.scalar_type() && head.sizes() == tokens.sizes() &&
                    at::equal(head, tokens);
  source.files().release(name);
  return same;
}

void add_lines(std::vector<std::string>& lines, const char* what,
               const std::vector<std::string>& names) {
  for (const std::string& name : names) lines.push_back(std::string("\n  ") + what + name);
}

// Blocks by their numbers: "{0..11}", or "{0,2,5}" where some are missing.
std::string range_text(const std::vector<int64_t>& numbers) {
  const int64_t first = numbers.front(), last = numbers.back();
  if (numbers.size() > 2 && last - first + 1 == static_cast<int64_t>(numbers.size()))
    return '{' + std::to_string(first) + ".." + std::to_string(last) + '}';
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "{" : ",") + std::to_string(number);
  return text + '}';
}

// The first number of each name: in names of one line it is the same.
std::string with_block(const std::string& line, const std::string& from, const std::string& to) {
  std::string result;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    std::string word = line.substr(begin, end - begin);
    if (const size_t at = word.find('.' + from + '.'); at != word.npos)
      word.replace(at + 1, from.size(), to);
    result += (begin > 0 ? " " : "") + word;
    begin = end + 1;
  }
  return result;
}

// Lines about a tensor each; those that are equal but for the number of a block become one.
std::vector<std::string> joined_blocks(const std::vector<std::string>& lines) {
  struct Group {
    std::string line;
    std::vector<int64_t> numbers;
  };
  static const std::regex number("\\.([0-9]{1,9})\\.");
  std::vector<Group> groups;
  std::map<std::string, size_t> known;
  for (const std::string& line : lines) {
    std::smatch block;
    const bool has_block = std::regex_search(line, block, number);
    const std::string key = has_block ? with_block(line, block[1], "*") : line;
    const auto [place, is_new] = known.emplace(key, groups.size());
    if (is_new) groups.push_back({line, {}});
    if (has_block) groups[place->second].numbers.push_back(std::stoll(block[1]));
  }
  std::vector<std::string> result;
  for (auto& [line, numbers] : groups) {
    if (numbers.size() < 2) {
      result.push_back(line);
      continue;
    }
    const std::string first = std::to_string(numbers.front());
    std::sort(numbers.begin(), numbers.end());
    result.push_back(with_block(line, first, range_text(numbers)));
  }
  return result;
}

std::string recipe_advice(const fs::path& path) {
  if (!path_exists(path / kConfigFile)) return "";
  return "\n  `exprun new --from " + shell_quoted(path.string()) +
         "` writes a recipe for that folder";
}

// Where another vocabulary is all that some of them want.
std::string vocabulary_advice(const Source& source, const Differences& differences,
                              const Wishes& wishes) {
  const auto helps = [&](const Wishes& more) {
    return compare(source, more).unfit.size() < differences.unfit.size();
  };
  if (!wishes.unmatched.empty() && helps({wishes.partial, true}) && has_more_tokens(source))
    return "\n  tokens can be left out only if the tokenizer of the weights and that of the data "
           "are known, because tokens are matched by their text (" +
           wishes.unmatched + ")";
  if (wishes.resize_vocabulary || !helps({wishes.partial, true, wishes.unmatched})) return "";
  return std::string("\n  model.init_resize_vocabulary = true ") +
         (has_more_tokens(source) ? "takes the tokens that the data has, matched by their text"
                                  : "adds the tokens that are missing there");
}

}  // namespace

std::optional<std::string> Source::find(const std::string& name) const {
  if (files_.has(name)) return name;
  const bool prefixed = !plan_.prefix.empty() && name.starts_with(plan_.prefix);
  const std::string bare = prefixed ? name.substr(plan_.prefix.size()) : name;
  return prefixed && files_.has(bare) ? std::optional(bare) : std::nullopt;
}

size_t Source::found() const {
  return static_cast<size_t>(std::count_if(
      plan_.tensors.begin(), plan_.tensors.end(),
      [&](const auto& planned) { return !planned.parts.empty() && find(planned.name); }));
}

std::optional<Vocabularies> stated_vocabularies(const Source& source) {
  const auto theirs = source.files().vocab_size(), ours = source.plan().vocab_size;
  if (!theirs || !ours) return std::nullopt;
  return Vocabularies{*theirs, *ours};
}

std::string advice_on_adapter(const fs::path& checkpoint) {
  std::string run = "RUN";
  if (const auto named = checkpoint_at(checkpoint)) {
    const fs::path& folder = named->run.path;
    run = shell_quoted(folder.filename().string()) + " --step " + std::to_string(named->step) +
          store_option(folder.parent_path());
  }
  return advice_to_merge_adapter(run);
}

bool has_more_tokens(const Source& source) {
  if (const auto stated = stated_vocabularies(source)) return stated->theirs > stated->ours;
  return std::ranges::any_of(source.plan().tensors, [&](const PlannedTensor& planned) {
    if (!planned.of_vocabulary || !source.find(planned.name)) return false;
    const size_t tokens = planned.transposed ? 1 : 0;
    const auto& found = source.entry(planned.name).shape;
    return found.size() == planned.shape.size() && found[tokens] > planned.shape[tokens];
  });
}

Differences compare(const Source& source, const Wishes& wishes) {
  Differences differences;
  std::set<std::string> used;
  for (const std::string& ours : source.plan().unplanned)
    differences.missing.push_back("'" + ours + "'");
  for (const PlannedTensor& planned : source.plan().tensors) {
    const auto name = source.find(planned.name);
    if (planned.parts.empty()) continue;
    if (!name) {
      differences.missing.push_back(known_as(planned));
      continue;
    }
    used.insert(*name);
    const SafetensorsEntry& entry = source.files().entry(*name);
    const auto stated = planned.of_vocabulary ? stated_vocabularies(source) : std::nullopt;
    if (!shape_fits(planned, entry.shape, stated.has_value(), wishes))
      differences.unfit.push_back("'" + *name + "' has the shape " + shape_text(entry.shape) +
                                  ", not " + shape_text(planned.shape));
    else if (stated && !has_rows(planned, entry.shape, stated->theirs))
      differences.unfit.push_back("'" + *name + "' has the shape " + shape_text(entry.shape) +
                                  ", but its file says that vocab_size is " +
                                  std::to_string(stated->theirs));
    else if (stated && !vocabulary_fits(*stated, wishes))
      differences.unfit.push_back("'" + *name + "' is of " + with_thousands(stated->theirs) +
                                  " tokens, not " + with_thousands(stated->ours));
    if (!is_of_numbers(entry.dtype))
      differences.unfit.push_back("'" + *name + "' has the dtype " + entry.dtype +
                                  ", not F32, F16, BF16 or F64");
  }
  for (const std::string& name : source.files().names())
    if (used.count(name) == 0 && !matches_any(source.plan().ignored, name) &&
        !is_tied_copy(source, name)) {
      differences.unused.push_back("'" + name + "'");
      differences.leaves_adapter = differences.leaves_adapter || is_adapter(name);
    }
  return differences;
}

Error misfit(const fs::path& path, const Source& source, const Differences& differences,
             const Wishes& wishes, const std::string& sizes) {
  std::vector<std::string> lines;
  if (!wishes.partial) add_lines(lines, "missing: ", differences.missing);
  add_lines(lines, "", differences.unfit);
  if (!wishes.partial) add_lines(lines, "not in the model: ", differences.unused);
  std::string text = "weights: '" + path.string() + "' and the model of the recipe differ in " +
                     pluralize(static_cast<int64_t>(lines.size()), "tensor") + ":";
  for (const std::string& line : joined_blocks(lines)) text += line;
  text += sizes + recipe_advice(path) + vocabulary_advice(source, differences, wishes);
  if (!wishes.partial && differences.leaves_adapter)
    text += "\n  " + advice_on_adapter(path);
  else if (!wishes.partial && differences.unfit.empty())
    text += "\n  model.init_partial = true loads the tensors that both have";
  return Error(text, ExitCode::bad_recipe);
}

}  // namespace exprun
