// exprun note RUN TEXT
#include "control/command/arguments.h"
#include "control/command/stored_runs.h"

namespace exprun {

int run_note(const Words& words, const Globals& globals) {
  std::string reference, text;
  Arguments arguments("note RUN TEXT", "Adds a note to a run; exprun show RUN prints it.");
  arguments.run_word(reference)
      .word("TEXT", text, "the note")
      .exit_codes(kFindsRuns)
      .example("exprun note @last 'loss spikes at step 2000'", "about the newest run");
  if (!arguments.parse(words)) return 0;
  Store store = open_store_to_change(globals.store);
  store.add_note(find_run(store, globals.store, reference).id, text);
  return 0;
}

}  // namespace exprun
