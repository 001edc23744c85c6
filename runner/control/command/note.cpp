// exprun note RUN [TEXT]
#include "control/command/line/arguments.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/report/standard_output.h"

namespace exprun {

int run_note(const Words& words, const Globals& globals) {
  std::string reference, text;
  Arguments arguments("note RUN [TEXT]", "Adds a note to a run; exprun show RUN prints its notes.");
  arguments.run_word(reference)
      .optional_word("TEXT", text, "the note (default: print the run's notes)")
      .advice_on_more_words("put the text in quotes")
      .exit_codes(kFindsRuns)
      .example("exprun note @last 'loss spikes at step 2000'", "about the newest run");
  if (!arguments.parse(words)) return 0;
  if (text.empty()) {
    const Store store = open_store(globals.store);
    const RunRow run = find_run_and_say_which(store, globals.store, reference);
    for (const NoteRow& note : store.notes(run.id)) print(note.text + '\n');
    return 0;
  }
  Store store = open_store_to_change(globals.store);
  store.add_note(find_run_and_say_which(store, globals.store, reference).id, text);
  return 0;
}

}  // namespace exprun
