#include "options.h"

#include <charconv>
#include <functional>
#include <map>
#include <string_view>

#include "base/diagnostic.h"

namespace exprun {

namespace {

Error wrong_usage(const std::string& what) {
  return Error("exprun-trainer: " + what + "\n" + kTrainerUsage, ExitCode::bad_recipe);
}

int64_t number(const std::string& option, const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end)
    throw wrong_usage(option + " takes a number, not '" + text + "'");
  return value;
}

int small(const std::string& option, const std::string& text) {
  return static_cast<int>(number(option, text));
}

void set_rendezvous(RankPlace& place, const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw wrong_usage("--rendezvous takes HOST:PORT");
  place.address = text.substr(0, colon);
  place.port = static_cast<uint16_t>(number("--rendezvous", text.substr(colon + 1)));
}

using Options = TrainerOptions;
using Setter = std::function<void(Options&, const std::string&)>;

const std::map<std::string, Setter, std::less<>>& flags() {
  static const std::map<std::string, Setter, std::less<>> table{
      {"--follow", [](Options& o, auto&) { o.task = Options::Task::follow; }},
      {"--rendezvous-served", [](Options& o, auto&) { o.place.store_is_served = true; }},
      {"--describe", [](Options& o, auto&) { o.task = Options::Task::describe; }},
      {"--evaluate", [](Options& o, auto&) { o.task = Options::Task::evaluate; }},
      {"--version", [](Options& o, auto&) { o.task = Options::Task::version; }},
      {"--help", [](Options& o, auto&) { o.task = Options::Task::help; }},
      {"--quiet", [](Options& o, auto&) { o.log_level = LogLevel::warning; }},
      {"--verbose", [](Options& o, auto&) { o.log_level = LogLevel::debug; }},
  };
  return table;
}

const std::map<std::string, Setter, std::less<>>& valued() {
  static const std::map<std::string, Setter, std::less<>> table{
      {"--run-folder", [](Options& o, auto& text) { o.run.folder.path = text; }},
      {"--store", [](Options& o, auto& text) { o.run.store = text; }},
      {"--run-id", [](Options& o, auto& text) { o.run.id = number("--run-id", text); }},
      {"--attempt", [](Options& o, auto& text) { o.run.attempt = number("--attempt", text); }},
      {"--lock-fd", [](Options& o, auto& text) { o.lock_fd = small("--lock-fd", text); }},
      {"--resume-from", [](Options& o, auto& text) { o.checkpoint = text; }},
      {"--rank", [](Options& o, auto& text) { o.place.rank = small("--rank", text); }},
      {"--world-size",
       [](Options& o, auto& text) { o.place.world_size = small("--world-size", text); }},
      {"--local-rank",
       [](Options& o, auto& text) { o.place.local_rank = small("--local-rank", text); }},
      {"--rendezvous", [](Options& o, auto& text) { set_rendezvous(o.place, text); }},
      {"--recipe-hash", [](Options& o, auto& text) { o.recipe_hash = text; }},
      {"--restarts", [](Options& o, auto& text) { o.place.restarts = small("--restarts", text); }},
      {"--restarts-fd",
       [](Options& o, auto& text) { o.place.restarts_fd = small("--restarts-fd", text); }},
      {"--meeting-seconds",
       [](Options& o, auto& text) {
         o.place.meeting_timeout = std::chrono::seconds(number("--meeting-seconds", text));
       }},
      {"--absence-seconds",
       [](Options& o, auto& text) {
         o.place.absence_timeout = std::chrono::seconds(number("--absence-seconds", text));
       }},
      {"--ranks-here",
       [](Options& o, auto& text) { o.place.ranks_here = small("--ranks-here", text); }},
      {"--dismiss",
       [](Options& o, auto& text) {
         o.task = Options::Task::dismiss;
         o.dismissed_with = static_cast<ExitCode>(number("--dismiss", text));
       }},
      {"--rendezvous-fd",
       [](Options& o, auto& text) { o.place.listening_fd = small("--rendezvous-fd", text); }},
  };
  return table;
}

void check_complete(const Options& options) {
  if (options.task == Options::Task::evaluate &&
      (options.run.folder.path.empty() || !options.checkpoint))
    throw wrong_usage("--run-folder and --resume-from are needed");
  if (options.task != Options::Task::train) return;
  if (options.run.folder.path.empty() || options.run.store.empty() || options.run.id == 0 ||
      options.run.attempt == 0)
    throw wrong_usage("--run-folder, --store, --run-id and --attempt are needed");
}

}  // namespace

const char* const kTrainerUsage =
    "usage: exprun-trainer --run-folder DIR --store FILE --run-id N --attempt N\n"
    "                      [--lock-fd FD] [--resume-from CHECKPOINT_DIR] [--quiet|--verbose]\n"
    "                      [PLACE --rendezvous-fd FD]\n"
    "       exprun-trainer --follow PLACE [--recipe-hash HASH] [--restarts-fd FD]   (any rank but "
    "0)\n"
    "       exprun-trainer --dismiss EXIT_CODE PLACE   (rank 0, when it does not train; ends so "
    "itself)\n"
    "       exprun-trainer --describe   (a recipe as JSON on standard input; its plan as JSON)\n"
    "       exprun-trainer --evaluate --run-folder DIR --resume-from CHECKPOINT_DIR\n"
    "                      (a request as JSON on standard input; its results as JSON)\n"
    "       exprun-trainer --version\n"
    "PLACE: --rank N --world-size N --rendezvous HOST:PORT [--local-rank N] [--restarts N]\n"
    "       [--rendezvous-served] [--meeting-seconds N] [--absence-seconds N] [--ranks-here N]\n"
    "It is started by exprun, which takes the lock, prepares the data and records the run.";

TrainerOptions parse_trainer_options(int count, char** arguments) {
  TrainerOptions options;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (const auto flag = flags().find(name); flag != flags().end()) {
      flag->second(options, name);
    } else if (const auto option = valued().find(name); option == valued().end()) {
      throw wrong_usage("unknown option '" + name + "'");
    } else if (++i == count) {
      throw wrong_usage(name + " needs a value");
    } else {
      option->second(options, arguments[i]);
    }
  }
  check_complete(options);
  return options;
}

}  // namespace exprun
