#include "control/command/data.h"

#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/data/read/byte_stream.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

// exprun data COMMAND

constexpr Command kDataCommands[] = {
    {"prepare", "turn text or JSON into token shards", run_data_prepare},
    {"fetch", "download a public dataset, tokenizer or model", run_data_fetch},
    {"info", "describe token shards", run_data_info},
    {"verify", "read every token and compare checksums", run_data_verify},
    {"head", "print the first tokens as text", run_data_head},
};

void print_help() {
  Arguments arguments("data COMMAND ...", "Prepares, downloads and inspects data.");
  for (const Command& command : kDataCommands) arguments.form(command.name, command.help);
  arguments.note("'exprun data COMMAND --help' explains a command.")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data fetch", "list what can be downloaded")
      .example("exprun data prepare path=notes.txt --out data/notes",
               "token shards from a text file")
      .parse({"--help"});
}

}  // namespace

std::span<const Command> data_commands() {
  return kDataCommands;
}

int run_data(const Words& words, const Globals& globals) {
  if (words.empty() || words[0] == "-h" || words[0] == "--help") {
    print_help();
    return 0;
  }
  if (const Command* command = find_command(kDataCommands, words[0]))
    return command->run({words.begin() + 1, words.end()}, globals);
  throw Error("data: there is no command '" + words[0] + "'" +
                  meant_command(kDataCommands, words[0], "exprun data --help"),
              ExitCode::bad_recipe);
}

namespace {

using nlohmann::json;

constexpr int64_t kMostNamed = 3;  // of each split

std::string line_of(const std::string& title, const std::string& text) {
  return "  " + title + std::string(12 - title.size(), ' ') + text + '\n';
}

std::string line_of_split(const char* split, const std::vector<TokenShard>& shards) {
  return line_of(split, with_thousands(token_count(shards)) + " tokens in " +
                            std::to_string(shards.size()) +
                            (shards.size() == 1 ? " shard" : " shards"));
}

// How many there were; the description lists the first of them.
int64_t number_of_files(const json& from) {
  const auto count = from.at("number_of_files").get<int64_t>();
  const auto listed = static_cast<int64_t>(from.at("files").get_ref<const json::array_t&>().size());
  if (listed == 0 || count < listed)
    throw Error("it lists " + pluralize(listed, "file") + " of " + with_thousands(count));
  return count;
}

std::string source_lines(const json& from) {
  const int64_t count = number_of_files(from);
  std::string names;
  int64_t named = 0, named_for_validation = 0;
  bool is_relative = false;
  for (const json& file : from.at("files")) {
    const auto path = file.at("path").get<std::string>();
    if (path == kStandardInput)  // the only source then, and of no size before it is read
      return line_of("sources",
                     "standard input, " + pluralize(file.at("bytes").get<int64_t>(), "byte"));
    is_relative |= std::filesystem::path(path).is_relative();
    const bool is_validation = file.value("split", "") == "validation";
    int64_t& of_split = is_validation ? named_for_validation : named;
    if (of_split == kMostNamed) continue;
    ++of_split;
    names +=
        (names.empty() ? "" : ", ") + in_one_line(path) + (is_validation ? " (validation)" : "");
  }
  if (const int64_t more = count - named - named_for_validation; more > 0)
    names += " and " + with_thousands(more) + " more";
  const std::string bytes = pluralize(from.at("source_bytes").get<int64_t>(), "byte");
  const std::string lines =
      line_of("sources", pluralize(count, "file") + ", " + bytes + ": " + names);
  return is_relative ? lines + line_of("below",
                                       in_one_line(from.at("working_directory").get<std::string>()))
                     : lines;
}

// Those that change something: zeros, empty texts and "auto" say that nothing is asked for.
std::string chosen_options(const json& options) {
  std::string chosen;
  for (const auto& [key, value] : options.items()) {
    const bool is_default = value == 0 || value == false || value == "" || value == "auto" ||
                            (key == "template" && value == "{text}");
    if (is_default || key == "tokenizer") continue;
    chosen += (chosen.empty() ? "" : ", ") + key + " = " + json_text(value);
  }
  return chosen;
}

Error unsaid(const std::filesystem::path& description, const std::string& problem) {
  return Error("prepared data: '" + description.string() +
               "' does not say what the data was made from (" + problem + ")");
}

}  // namespace

std::string split_lines(const PreparedData& data) {
  return line_of_split("train", data.train) + line_of_split("validation", data.validation);
}

std::string set_lines(const PreparedData& data, const std::filesystem::path& description) try {
  const json& from = data.made_from;
  std::string lines;
  if (!data.tokenizer.is_null()) {
    const std::string name = from.is_null() ? data.tokenizer.at("type").get<std::string>()
                                            : from.at("options").at("tokenizer").get<std::string>();
    lines +=
        line_of("tokenizer",
                in_one_line(name) +
                    (data.vocab_size ? ", vocabulary of " + with_thousands(*data.vocab_size) : ""));
  }
  lines += split_lines(data);
  if (from.is_null()) return lines;
  return lines + source_lines(from) +
         line_of("text", pluralize(from.at("documents").get<int64_t>(), "document") + ", " +
                             pluralize(from.at("text_bytes").get<int64_t>(), "byte")) +
         line_of("options", chosen_options(from.at("options")));
} catch (const json::exception& error) {
  throw unsaid(description, json_problem(error));
} catch (const Error& error) {
  throw unsaid(description, error.what());
}

}  // namespace exprun
