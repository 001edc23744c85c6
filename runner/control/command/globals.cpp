#include "control/command/globals.h"

#include <algorithm>
#include <cstdlib>

#include "base/diagnostic.h"
#include "base/shell_quoted.h"

namespace exprun {
namespace {

constexpr const char* kStoreOption = "--store";

std::string store_from_environment() {
  const char* const folder = std::getenv("EXPRUN_STORE");
  return folder && *folder ? folder : "runs";
}

std::string joined(const Words& words) {
  std::string line = "exprun";
  for (const std::string& word : words) line += ' ' + shell_quoted(word);
  return line;
}

// Where the system would find it: ".." behind a symbolic link is not the folder of the link.
std::filesystem::path found_at(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(folder, error);
  if (error)
    throw Error("command line: the working directory cannot be found (" + error.message() +
                "); go to one that is there");
  if (std::find(path.begin(), path.end(), "..") == path.end()) return path.lexically_normal();
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target;
}

}  // namespace

Globals take_globals(Words& words) {
  Globals globals;
  globals.command_line = joined(words);
  std::string store = store_from_environment();
  Words rest;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (word == "-q" || word == "--quiet") {
      globals.level = LogLevel::warning;
    } else if (word == "-v" || word == "--verbose") {
      globals.level = LogLevel::debug;
    } else if (word.starts_with(std::string(kStoreOption) + '=')) {
      store = word.substr(std::string(kStoreOption).size() + 1);
    } else if (word == kStoreOption) {
      store = i + 1 < words.size() ? words[++i] : "";
    } else {
      rest.push_back(word);
    }
  }
  if (store.empty()) throw Error("command line: --store needs a folder", ExitCode::bad_recipe);
  globals.store = {found_at(store), store};
  words = std::move(rest);
  return globals;
}

}  // namespace exprun
