// exprun watch [RUN|SWEEP]
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/terminal/full_screen.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/recorded_criterion.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/command/sweep.h"
#include "control/launch/process/trainer_end.h"
#include "control/launch/run/observed_run.h"
#include "control/report/plot/run_curves.h"
#include "control/report/standard_output.h"
#include "control/report/watch/dashboard.h"
#include "control/report/watch/run_facts.h"

namespace exprun {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kInterval(1000);
constexpr int kMostOfACore = 50;  // looking takes at most one part in so many of the time
constexpr size_t kMostTrialCurves = 6;
constexpr size_t kLogLines = 8;
constexpr DashboardSize kSizeWithoutTerminal{100, 40, false, false};

struct AskedWatch {
  std::string what, sweep;
  Words metrics;
  bool once = false;
};

// A run or a sweep.
struct Watched {
  int64_t run = 0, sweep = 0;  // one of them
};

// The newest that runs, or else the newest; of a trial its sweep.
Watched newest(const Store& store, const StoreFolder& folder) {
  const auto runs = store.runs();
  if (runs.empty()) throw Error("watch: there are no runs yet", ExitCode::no_such_run);
  const auto is_running = [&](const RunRow& run) {
    return run.state == RunState::running &&
           observed(store, folder, run).state == RunState::running;
  };
  const auto found = std::find_if(runs.begin(), runs.end(), is_running);
  const RunRow& run = found == runs.end() ? runs.front() : *found;
  return run.sweep_id ? Watched{0, *run.sweep_id} : Watched{run.id, 0};
}

Watched watched(const Store& store, const StoreFolder& folder, const AskedWatch& asked) {
  if (!asked.what.empty() && !asked.sweep.empty())
    throw Error("watch: give a run or --sweep", ExitCode::bad_recipe);
  if (!asked.sweep.empty()) return {0, store.find_sweep(asked.sweep).id};
  if (asked.what.empty()) return newest(store, folder);
  try {
    // A sweep has the name of its trials.
    if (const RunRow named = find_run(store, folder, asked.what);
        named.sweep_id && named.name == asked.what) {
      log_info("watch: sweep " + std::to_string(*named.sweep_id) +
               "; for its newest trial alone, use " + named.folder);
      return {0, *named.sweep_id};
    }
    const RunRow run = find_run_and_say_which(store, folder, asked.what);
    if (const auto number = parse_number<int64_t>(asked.what); number && store.sweep(*number))
      log_info("watch: " + run.folder + " is run " + asked.what + "; for the sweep, use --sweep " +
               asked.what);
    return {run.id, 0};
  } catch (const Error& no_run) {
    try {
      return {0, store.find_sweep(asked.what).id};
    } catch (const Error&) {
      throw no_run;
    }
  }
}

std::string elapsed(const RunRow& run) {
  const bool running = run.state == RunState::running;
  const double since = static_cast<double>(now_ms() - run.started_ms) / 1e3;
  return time_span(running && run.attempt == 1 ? since : run.seconds);
}

double part(int64_t done, int64_t all) {
  return all > 0 ? static_cast<double>(done) / static_cast<double>(all) : 0;
}

// Looks at a store again and again.
class Watch {
 public:
  Watch(const Store& store, const StoreFolder& folder, Watched what, Words metrics)
      : store_(store), folder_(folder), what_(what), metrics_(std::move(metrics)) {}

  Dashboard look() { return what_.run ? look_at_run() : look_at_sweep(); }

  // Throws Error where a series that is to be plotted is nobody's, and none will get it: `once`, or
  // since nothing is left to train.
  void require_series(bool once) const {
    std::vector<PlottedRun> runs;
    bool goes_on = false;
    const auto add = [&](const RunRow& run) {
      runs.push_back({run, ""});
      goes_on |= run.state == RunState::running;
    };
    if (what_.run) add(observed(store_, folder_, *store_.run(what_.run)));
    if (what_.sweep) {
      const StoredSweep sweep = stored_sweep(store_, folder_, *store_.sweep(what_.sweep));
      goes_on = may_train(sweep);
      for (const StoredTrial& trial : sweep.trials)
        if (trial.run) add(*trial.run);
    }
    if (once || !goes_on) exprun::require_series(store_, runs, metrics_, "watch");
  }

 private:
  Dashboard look_at_run() {
    const auto row = store_.run(what_.run);
    if (!row) throw Error("watch: the run is no longer in the store", ExitCode::no_such_run);
    const RunRow run = observed(store_, folder_, *row);
    forget_what_was_replaced({run});
    const auto series = store_.series(run.id);
    Dashboard seen;
    seen.title =
        run.folder + ": " + state_text(run) + (run.message.empty() ? "" : ": " + run.message);
    seen.fraction = part(run.last_step, run.steps);
    seen.progress = {{"step " + std::to_string(run.last_step) + "/" + std::to_string(run.steps)},
                     {elapsed(run), 1}};
    if (const SeriesRow* const loss = series_with_values(series, "train/loss"))
      if (const auto seconds = seconds_left(run, cache_.values(store_, loss->id)))
        seen.progress.push_back({"ETA " + time_span(*seconds), 2});
    if (!criterion_) criterion_ = recorded_criterion(store_, run);
    const Criterion& criterion = *criterion_;
    seen.facts = {metric_facts(series, metrics_, criterion), system_facts(series)};
    add_missing(seen, {run}, run.state == RunState::running);
    seen.log = last_lines(folder_.run(run.folder).log(run.attempt, 0), kLogLines);
    Words usual = {"train/loss", "val/loss"};
    if (std::find(usual.begin(), usual.end(), criterion.series) == usual.end())
      usual.push_back(criterion.series);
    seen.panels = panels({run}, metrics_.empty() ? usual : metrics_);
    return seen;
  }

  Dashboard look_at_sweep() {
    const auto row = store_.sweep(what_.sweep);
    if (!row) throw Error("watch: the sweep is no longer in the store", ExitCode::no_such_run);
    const StoredSweep sweep = stored_sweep(store_, folder_, *row);
    Dashboard seen;
    seen.title =
        "sweep " + std::to_string(sweep.row.id) + " of " + sweep.row.name + ": " + sweep.state;
    const auto trials = static_cast<int64_t>(sweep.trials.size());
    const int finished = sweep.count("finished"), running = sweep.count("running");
    const int waiting = sweep.count("waiting");
    seen.fraction = done(sweep);
    seen.progress = {{std::to_string(finished) + " of " + std::to_string(trials) + " finished"}};
    for (const auto& [count, word] :
         {std::pair(running, "running"), std::pair(waiting, "waiting"),
          std::pair(sweep.interrupted(), "interrupted"), std::pair(sweep.count("failed"), "failed"),
          std::pair(sweep.count("diverged"), "diverged"),
          std::pair(sweep.count("removed"), "removed"),
          std::pair(sweep.count("pruned"), "stopped early")})
      if (count) seen.progress.push_back({std::to_string(count) + ' ' + word, 1});
    if (const auto best = sweep.best_point()) seen.facts = {{{best_text(sweep, *best)}}};
    seen.table = shown_trials(sweep);
    const std::vector<RunRow> runs = runs_by_interest(sweep);
    add_missing(seen, runs, may_train(sweep));
    const Words names = metrics_.empty() ? Words{sweep.plan.metric} : metrics_;
    seen.panels = panels(plotted(runs, names), names);
    return seen;
  }

  static bool may_train(const StoredSweep& sweep) {
    return sweep.count("waiting") > 0 || sweep.count("running") > 0;
  }

  // A trial that has ended for good is done, another as far as its run has come.
  static double done(const StoredSweep& sweep) {
    double sum = 0;
    for (const StoredTrial& trial : sweep.trials) {
      const bool goes_on = trial.state == "running" || trial.state == "interrupted" ||
                           trial.state == "preempted" || trial.state == "killed" ||
                           trial.state == "crashed";
      if (goes_on && trial.run)
        sum += part(trial.run->last_step, trial.run->steps);
      else if (trial.state != "waiting")
        sum += 1;
    }
    return sweep.trials.empty() ? 0 : sum / static_cast<double>(sweep.trials.size());
  }

  // Those that run first, then those that have ended, the best first.
  static std::vector<size_t> by_interest(const StoredSweep& sweep) {
    std::vector<size_t> order(sweep.trials.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto rank = [&](size_t i) {
      const StoredTrial& trial = sweep.trials[i];
      return trial.state == "running" ? 0 : trial.score ? 1 : trial.state == "waiting" ? 3 : 2;
    };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (rank(a) != rank(b) || rank(a) != 1) return rank(a) < rank(b);
      const double of_a = sweep.trials[a].score->value, of_b = sweep.trials[b].score->value;
      return sweep.plan.maximize ? of_a > of_b : of_a < of_b;
    });
    return order;
  }

  static ResultTable shown_trials(const StoredSweep& sweep) {
    ResultTable all = trials_table(sweep), shown{all.columns, {}};
    for (const size_t i : by_interest(sweep)) shown.rows.push_back(std::move(all.rows[i]));
    return shown;
  }

  static std::vector<RunRow> runs_by_interest(const StoredSweep& sweep) {
    std::vector<RunRow> runs;
    for (const size_t i : by_interest(sweep))
      if (sweep.trials[i].run) runs.push_back(*sweep.trials[i].run);
    return runs;
  }

  // Of these, in their order, as many as curves can be told apart: the first with a value of each
  // series, then others that have one of them.
  std::vector<RunRow> plotted(std::vector<RunRow> runs, const Words& names) const {
    std::set<int64_t> plotted, others;
    for (const std::string& name : names) {
      bool is_first = true;
      for (const RunRow& run : with_values(runs, name))
        (std::exchange(is_first, false) ? plotted : others).insert(run.id);
    }
    for (const RunRow& run : runs)
      if (plotted.size() < kMostTrialCurves && others.contains(run.id)) plotted.insert(run.id);
    std::erase_if(runs, [&](const RunRow& run) { return !plotted.contains(run.id); });
    return runs;
  }

  // Those of the runs that have a value of this series.
  std::vector<RunRow> with_values(std::vector<RunRow> runs, const std::string& name) const {
    const auto by_run = store_.series_by_run(name);
    std::erase_if(runs, [&](const RunRow& run) {
      const auto series = by_run.find(run.id);
      return series == by_run.end() || series->second.count == 0;
    });
    return runs;
  }

  // What was asked for and none of the runs has.
  void add_missing(Dashboard& seen, const std::vector<RunRow>& runs, bool may_come) const {
    for (const std::string& name : metrics_)
      if (with_values(runs, name).empty())
        seen.facts.push_back({{"no series '" + name + "'" + (may_come ? " yet" : "")}});
  }

  std::vector<Panel> panels(const std::vector<RunRow>& runs, const Words& names) {
    CurveOptions options;
    for (const std::string& name : names)
      if (!with_values(runs, name).empty()) options.series.push_back(name);
    if (options.series.empty()) return {};
    forget_what_was_replaced(runs);
    std::vector<ReportedRun> reported;
    for (const RunRow& run : runs) reported.push_back({run, {}, {}, {}});
    return panels_of(store_, plotted_runs(store_, reported), options, &cache_);
  }

  // An attempt begins where the one before it had been further, and a rollback is an event.
  void forget_what_was_replaced(const std::vector<RunRow>& runs) {
    for (const RunRow& run : runs) {
      const std::pair now(run.attempt, store_.events(run.id).size());
      const auto [known, is_new] = seen_.emplace(run.id, now);
      if (!is_new && known->second != now) cache_.forget();
      known->second = now;
    }
  }

  const Store& store_;
  const StoreFolder& folder_;
  std::optional<Criterion> criterion_;  // of a run: what its recipe says does not change
  Watched what_;
  Words metrics_;
  MetricCache cache_;
  std::map<int64_t, std::pair<int64_t, size_t>> seen_;  // of each run: its attempt, and events
};

void print_once(Watch& watch) {
  DashboardSize size = kSizeWithoutTerminal;
  if (terminal_width()) size = {terminal_width(), size.lines, stdout_wants_color()};
  const Dashboard seen = watch.look();
  if (seen.table) size.lines += seen.table->rows.size();  // what is printed may be of any length
  for (const std::string& line : lines_of(seen, size)) print(line + '\n');
}

void watch_until_quit(Watch& watch) {
  FullScreen screen;
  const bool colors = stdout_wants_color();
  Dashboard seen;
  milliseconds pause(0);
  for (auto event = FullScreen::Event::none; event != FullScreen::Event::quit;
       event = screen.wait(pause)) {
    const auto begin = Clock::now();
    if (event == FullScreen::Event::none) seen = watch.look();
    const FullScreen::Size room = screen.size();
    auto lines = lines_of(seen, {room.columns, room.lines - 1, colors});
    lines.resize(room.lines - 1);
    lines.push_back(inked("q: quit", Ink::cyan, colors));
    screen.show(lines);
    const auto taken = std::chrono::ceil<milliseconds>(Clock::now() - begin);
    pause = std::max(kInterval, kMostOfACore * taken);
  }
}

}  // namespace

int run_watch(const Words& words, const Globals& globals) {
  AskedWatch asked;
  Arguments arguments("watch [RUN|SWEEP]",
                      "Shows a run or a sweep in the terminal while it runs: progress, key "
                      "numbers, curves, trials, the end of the log. Quit with q.");
  arguments
      .optional_word(
          "RUN|SWEEP", asked.what,
          "a run (its id, uid, folder or name, @last or @best) or a sweep (its number, uid "
          "or name); default: the newest running run, or else the newest; if it is a "
          "trial, its sweep",
          offer::runs)
      .option("--sweep", "SWEEP", asked.sweep, std::string("a sweep: ") + kSweepHelp, offer::sweeps)
      .list("--metric", "A,B", asked.metrics,
            "plot these series (default: the losses and the recipe's metric, or "
            "the sweep's)",
            offer::series)
      .flag("--once", asked.once, "print the current state and exit; needs no terminal")
      .note(
          "Refreshes once a second, or less often if that would take more than 2% of a core. "
          "Watching changes nothing: the run continues after you quit.")
      .exit_codes(kFindsRuns)
      .example("exprun watch", "the newest active run or sweep")
      .example("exprun watch @last --once", "how it looks now, for a script or an email");
  if (!arguments.parse(words)) return 0;
  const Store store = open_store(globals.store);
  Watch watch(store, globals.store, watched(store, globals.store, asked), asked.metrics);
  watch.require_series(asked.once);
  if (asked.once) {
    print_once(watch);
    return 0;
  }
  if (!FullScreen::is_possible())
    throw Error(
        "watch: standard output is not a terminal that can be drawn on; `exprun watch "
        "--once` prints how it stands now",
        ExitCode::bad_recipe);
  watch_until_quit(watch);
  return 0;
}

}  // namespace exprun
