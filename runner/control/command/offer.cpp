#include "control/command/offer.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/diagnostic.h"
#include "control/command/stored_runs.h"
#include "control/report/table_selection.h"

namespace exprun {

Words offered(const Offer& offer, const Typed& typed) try {
  return offer ? offer(typed) : Words{};
} catch (const Error&) {
  return {};
} catch (const RecipeError&) {
  return {};
}

namespace offer {
namespace {

namespace fs = std::filesystem;

// Folders, and the files that are wanted, beside the unfinished path.
template <class Wanted>
Words beside(const std::string& last, Wanted wanted) {
  const std::string folder = last.substr(0, last.rfind('/') + 1);  // npos + 1 is 0
  const bool hidden = last.substr(folder.size()).starts_with('.');
  Words found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') && !hidden) continue;
    if (entry.is_directory(error))
      found.push_back(folder + name + '/');
    else if (wanted(name))
      found.push_back(folder + name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

template <class Read>
Words stored(const Typed& typed, Read read) {
  const std::set<std::string> words = read(open_store(typed.store));
  return {words.begin(), words.end()};
}

}  // namespace

Words files(const Typed& typed) {
  return beside(typed.last, [](const std::string&) { return true; });
}

Words folders(const Typed& typed) {
  return beside(typed.last, [](const std::string&) { return false; });
}

Words recipes(const Typed& typed) {
  return beside(typed.last, [](const std::string& name) { return name.ends_with(".toml"); });
}

Words runs(const Typed& typed) {
  return stored(typed, [](const Store& store) {
    std::set<std::string> words;
    for (const RunRow& run : store.runs()) words.insert({run.folder, run.name});
    if (!words.empty()) words.insert({"@last", "@best"});
    return words;
  });
}

Words recipes_and_runs(const Typed& typed) {
  Words words = recipes(typed);
  const Words more = offered(runs, typed);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words removed_runs(const Typed& typed) {
  return stored(typed, [](const Store& store) {
    std::set<std::string> words;
    for (const RunRow& run : store.removed_runs()) words.insert(run.folder);
    return words;
  });
}

Words tags(const Typed& typed) {
  return stored(typed, [](const Store& store) {
    std::set<std::string> words;
    for (const RunRow& run : store.runs())
      for (const std::string& tag : words_of_list(run.tags)) words.insert(tag);
    return words;
  });
}

Offer one_of(Words words) {
  return [words = std::move(words)](const Typed&) { return words; };
}

Offer list_of(Words words) {
  return [words = std::move(words)](const Typed& typed) {
    Words lists = words;
    for (std::string& list : lists) list = typed.last.substr(0, typed.last.rfind(',') + 1) + list;
    return lists;
  };
}

}  // namespace offer
}  // namespace exprun
