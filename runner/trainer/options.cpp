#include "options.h"

#include <chrono>
#include <functional>
#include <map>
#include <string_view>

#include "base/diagnostic.h"
#include "base/format_units.h"

namespace exprun {
namespace {

Error wrong_usage(const std::string& what) {
  return Error("exprun-trainer: " + what + "\n" + kTrainerUsage, ExitCode::bad_recipe);
}

using Options = TrainerOptions;
using Flag = std::function<void(Options&)>;
using Setter = std::function<void(Options&, const std::string& name, const std::string& text)>;

template <typename Number>
void read_number(Number& into, const std::string& name, std::string_view text) {
  const auto value = parse_number<Number>(text);
  if (!value) throw wrong_usage(name + " takes a number, not '" + std::string(text) + "'");
  into = *value;
}

template <typename Number>
void read_number(std::optional<Number>& into, const std::string& name, std::string_view text) {
  read_number(into.emplace(), name, text);
}

// Each for the value of an Options that `value` returns a reference to.
template <typename Value>
Setter text_into(Value value) {
  return [value](Options& o, auto&, const std::string& text) { value(o) = text; };
}

template <typename Value>
Setter number_into(Value value) {
  return [value](Options& o, auto& name, auto& text) { read_number(value(o), name, text); };
}

template <typename Value>
Setter seconds_into(Value value) {
  return [value](Options& o, auto& name, auto& text) {
    int64_t seconds = 0;
    read_number(seconds, name, text);
    value(o) = std::chrono::seconds(seconds);
  };
}

void set_rendezvous(Options& options, const std::string& name, const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw wrong_usage(name + " takes HOST:PORT");
  options.place.address = text.substr(0, colon);
  read_number(options.place.port, name, std::string_view(text).substr(colon + 1));
}

void set_shutdown_notice(Options& options, const std::string& name, const std::string& text) {
  int code = 0;
  read_number(code, name, text);
  options.task = Options::Task::shut_down_others;
  options.shutdown_notice.code = static_cast<ExitCode>(code);
}

const std::map<std::string, Flag, std::less<>>& flags() {
  static const std::map<std::string, Flag, std::less<>> table{
      {"--follow", [](Options& o) { o.task = Options::Task::follow; }},
      {"--external-launcher", [](Options& o) { o.place.external_launcher = true; }},
      {"--rendezvous-served", [](Options& o) { o.place.store_is_served = true; }},
      {"--describe", [](Options& o) { o.task = Options::Task::describe; }},
      {"--evaluate", [](Options& o) { o.task = Options::Task::evaluate; }},
      {"--sample", [](Options& o) { o.task = Options::Task::sample; }},
      {"--export-weights", [](Options& o) { o.task = Options::Task::export_weights; }},
      {"--version", [](Options& o) { o.task = Options::Task::version; }},
      {"--help", [](Options& o) { o.task = Options::Task::help; }},
      {"--quiet", [](Options& o) { o.log_level = LogLevel::warning; }},
      {"--verbose", [](Options& o) { o.log_level = LogLevel::debug; }},
  };
  return table;
}

const std::map<std::string, Setter, std::less<>>& valued() {
  static const std::map<std::string, Setter, std::less<>> table{
      {"--run-folder", text_into([](Options & o) -> auto& { return o.run.folder.path; })},
      {"--shown-folder", text_into([](Options & o) -> auto& { return o.run.shown.path; })},
      {"--store", text_into([](Options & o) -> auto& { return o.run.store; })},
      {"--run-id", number_into([](Options & o) -> auto& { return o.run.id; })},
      {"--attempt", number_into([](Options & o) -> auto& { return o.run.attempt; })},
      {"--lock-fd", number_into([](Options & o) -> auto& { return o.lock_fd; })},
      {"--weights-fd", number_into([](Options & o) -> auto& { return o.weights_fd; })},
      {"--resume-from", text_into([](Options & o) -> auto& { return o.checkpoint; })},
      {"--recipe-of-checkpoint",
       text_into([](Options & o) -> auto& { return o.checkpoint_recipe; })},
      {"--rank", number_into([](Options & o) -> auto& { return o.place.rank; })},
      {"--world-size", number_into([](Options & o) -> auto& { return o.place.world_size; })},
      {"--local-rank", number_into([](Options & o) -> auto& { return o.place.local_rank; })},
      {"--ranks-here", number_into([](Options & o) -> auto& { return o.place.ranks_here; })},
      {"--rendezvous", set_rendezvous},
      {"--rendezvous-fd", number_into([](Options & o) -> auto& { return o.place.listening_fd; })},
      {"--restarts", number_into([](Options & o) -> auto& { return o.place.restarts; })},
      {"--restarts-fd", number_into([](Options & o) -> auto& { return o.place.restarts_fd; })},
      {"--job", text_into([](Options & o) -> auto& { return o.place.job; })},
      {"--meeting-seconds",
       seconds_into([](Options & o) -> auto& { return o.place.handshake_timeout; })},
      {"--recipe-hash", text_into([](Options & o) -> auto& { return o.recipe_hash; })},
      {"--shut-down-others", set_shutdown_notice},
      {"--because", text_into([](Options & o) -> auto& { return o.shutdown_notice.why; })},
  };
  return table;
}

void check_complete(const Options& options) {
  const bool of_run = !options.run.folder.path.empty(),
             of_checkpoint = options.checkpoint.has_value();
  if (options.task == Options::Task::export_weights && !(of_run && of_checkpoint))
    throw wrong_usage("--run-folder and --resume-from are required");
  const bool looks_at_weights =
      options.task == Options::Task::evaluate || options.task == Options::Task::sample;
  if (looks_at_weights && of_run != of_checkpoint)
    throw wrong_usage("--run-folder and --resume-from go together");
  if (options.task != Options::Task::train) return;
  if (options.run.folder.path.empty() || options.run.shown.path.empty() ||
      options.run.store.empty() || options.run.id == 0 || options.run.attempt == 0)
    throw wrong_usage("--run-folder, --shown-folder, --store, --run-id and --attempt are required");
}

}  // namespace

const char* const kTrainerUsage =
    R"(usage: exprun-trainer --run-folder DIR --shown-folder DIR --store FILE --run-id N
                      --attempt N [--lock-fd FD] [--resume-from CHECKPOINT_DIR [--recipe-of-checkpoint HASH]]
                      [--weights-fd FD] [--quiet|--verbose] [PLACE --rendezvous-fd FD]
       exprun-trainer --follow PLACE [--recipe-hash HASH] [--restarts-fd FD] [--weights-fd FD]
                      (any rank except 0)
       exprun-trainer --shut-down-others EXIT_CODE [--because FAILURE] PLACE
                      (rank 0, when it does not train; exits with that code itself)
       exprun-trainer --describe   (reads a recipe, writes its plan: JSON on stdin and stdout)
       exprun-trainer --evaluate [--run-folder DIR --resume-from CHECKPOINT_DIR]
                      (reads a request, writes its results: JSON on stdin and stdout)
       exprun-trainer --sample [--run-folder DIR --resume-from CHECKPOINT_DIR]
                      (reads a request, then prompts, and writes texts in pieces: a line of JSON each)
       exprun-trainer --export-weights --run-folder DIR --resume-from CHECKPOINT_DIR
                      (reads a request, writes what was exported: JSON on stdin and stdout)
       exprun-trainer --version
PLACE: --rank N --world-size N --rendezvous HOST:PORT [--local-rank N] [--restarts N]
       [--rendezvous-served] [--meeting-seconds N] [--ranks-here N] [--external-launcher [--job ID]]
exprun starts this program: it takes the lock, prepares the data and records the run.)";

TrainerOptions parse_trainer_options(int count, char** arguments) {
  TrainerOptions options;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (const auto flag = flags().find(name); flag != flags().end()) {
      flag->second(options);
    } else if (const auto option = valued().find(name); option == valued().end()) {
      throw wrong_usage("unknown option '" + name + "'");
    } else if (++i == count) {
      throw wrong_usage(name + " needs a value");
    } else {
      option->second(options, name, arguments[i]);
    }
  }
  check_complete(options);
  return options;
}

}  // namespace exprun
