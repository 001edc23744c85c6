// exprun tag RUN [WORD...]
#include "base/diagnostic.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

void require_tag(const std::string& tag) {
  const size_t wrong = tag.find_first_of(",\n");
  if (!tag.empty() && wrong == std::string::npos) return;
  throw Error("tag: " + (tag.empty() ? "a tag cannot be empty"
                                     : "'" + tag + "' cannot be a tag: it has a " +
                                           (tag[wrong] == ',' ? "comma" : "line break")),
              ExitCode::bad_recipe);
}

}  // namespace

int run_tag(const Words& words, const Globals& globals) {
  std::string reference;
  Words tags;
  bool remove = false;
  Arguments arguments(
      "tag RUN [WORD...]",
      "Tags a run with words, so that exprun ls --tag WORD finds it. Recipes can set "
      "tags too: run.tags.");
  arguments.run_word(reference)
      .words("WORD...", tags, "the tags (default: print the run's tags)", offer::tags)
      .flag("--remove", remove, "remove the tags instead")
      .exit_codes(kFindsRuns)
      .example("exprun tag @last baseline", "the newest run")
      .example("exprun tag @last baseline --remove", "remove the tag");
  if (!arguments.parse(words)) return 0;
  if (remove && tags.empty())
    throw Error("tag: say which tags to remove; exprun tag " + shell_quoted(reference) +
                    " prints those of the run",
                ExitCode::bad_recipe);
  for (const std::string& tag : tags) require_tag(tag);
  Store store = open_store_to_change(globals.store);
  const RunRow run = find_run_and_say_which(store, globals.store, reference);
  for (const std::string& tag : tags) {
    if (!remove) store.add_tag(run.id, tag);
    if (remove && !store.remove_tag(run.id, tag))
      log_warning("tag: " + run.folder + " had no tag '" + tag + "'");
  }
  for (const std::string& tag : store.tags(run.id)) print(tag + '\n');
  return 0;
}

}  // namespace exprun
