// exprun logs RUN [-f] [-n LINES] [--rank K]
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/present_folder.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

constexpr auto kLogInterval = std::chrono::milliseconds(100);

// What the attempts of a run have written, one after another, as it grows.
class RunLog {
 public:
  RunLog(RunFolder folder, int rank) : folder_(std::move(folder)), rank_(rank) {}

  // What there is more since the last time, of the attempts up to this one.
  std::string more(int64_t attempts) {
    std::string text = rest_of_file();
    while (opened_ < attempts) {
      const auto file = folder_.log(++opened_, rank_);
      UniqueFd next(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
      if (!next) {
        if (opened_ == attempts) return --opened_, text;  // it may come
        continue;
      }
      file_ = std::move(next);
      if (has_any_) text += "==> attempt " + std::to_string(opened_) + " <==\n";
      has_any_ = true;
      text += rest_of_file();
    }
    return text;
  }

  bool has_any() const { return has_any_; }

 private:
  std::string rest_of_file() {
    std::string text;
    std::array<char, 16384> buffer{};
    for (ssize_t size = 0; file_ && (size = ::read(file_.get(), buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<size_t>(size));
    return text;
  }

  RunFolder folder_;
  int rank_;
  int64_t opened_ = 0;
  UniqueFd file_;  // of the newest attempt that has one
  bool has_any_ = false;
};

std::string last_of(const std::string& text, int64_t lines) {
  size_t begin = text.size();
  if (begin > 0 && text.back() == '\n') --begin;
  for (; lines > 0 && begin != std::string::npos; --lines)
    begin = begin == 0 ? std::string::npos : text.rfind('\n', begin - 1);
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

// A run's end is recorded after its last word.
void follow(const Store& store, const StoreFolder& folder, RunLog& log, RunRow run) {
  for (;;) {
    run = observed(store, folder, store.run(run.id).value_or(run));
    print_foreign(log.more(run.attempt));
    std::fflush(stdout);
    if (run.state != RunState::running || std::ferror(stdout)) return;
    std::this_thread::sleep_for(kLogInterval);
  }
}

}  // namespace

int run_logs(const Words& words, const Globals& globals) {
  std::string reference;
  bool follows = false;
  std::optional<int64_t> lines;
  int64_t rank = 0;
  Arguments arguments("logs RUN [-f]", "Prints the log of all attempts of a run.");
  arguments.run_word(reference)
      .flag("-f,--follow", follows, "keep printing until the run ends")
      .number("-n,--lines", lines, "only the last N lines", 1)
      .number("--rank", rank, "the log of this rank (default: 0, which logs for all ranks)")
      .exit_codes(kReadsRuns)
      .example("exprun logs @last -n 20", "its last 20 lines")
      .example("exprun logs @last -f", "as it is written");
  if (!arguments.parse(words)) return 0;
  const Store store = open_store(globals.store);
  const RunRow run = find_run_for_folder(store, globals.store, reference);
  require_run_folder(globals.store, run, "logs");
  const RunFolder folder = globals.store.run(run.folder);
  RunLog log(folder, static_cast<int>(rank));
  const std::string text = log.more(run.attempt);
  if (!log.has_any() && !(follows && run.state == RunState::running))
    throw Error("logs: there is no " + folder.log(run.attempt, static_cast<int>(rank)).string() +
                (rank == 0 ? "" : "; a rank above 0 has one on the machine that it runs on"));
  print_foreign(lines ? last_of(text, *lines) : text);
  if (follows) follow(store, globals.store, log, run);
  return 0;
}

}  // namespace exprun
