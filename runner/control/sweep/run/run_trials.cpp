#include "control/sweep/run/run_trials.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <deque>
#include <list>
#include <map>
#include <set>

#include "base/diagnostic.h"
#include "base/machine/network.h"
#include "base/terminal/terminal.h"
#include "control/launch/process/trainer_end.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/run/which_run.h"
#include "control/sweep/outcomes.h"
#include "control/sweep/run/forecast.h"
#include "control/sweep/run/live_table.h"
#include "control/sweep/run/slots.h"
#include "control/sweep/run/trial_messages.h"
#include "control/sweep/run/trial_process.h"
#include "control/sweep/run/trial_pruner.h"
#include "control/sweep/sweep_processes.h"
#include "store/run_state.h"

namespace exprun {
namespace {

// A trial's end and a signal are seen at once; what needs a look at the store is seen within these.
constexpr timespec kLook{0, 100'000'000}, kRareLook{1, 0};
constexpr std::chrono::milliseconds kRedraw{250};
constexpr size_t kOutputLines = 10;  // in which a launcher says why it could not begin

using Clock = std::chrono::steady_clock;

// The first signal says how the sweep ends.
int exit_code_after(int signal) {
  switch (signal) {
    case SIGINT:
      return static_cast<int>(ExitCode::interrupted_int);
    case SIGUSR2:
      return static_cast<int>(ExitCode::preempted);
    default:
      return static_cast<int>(ExitCode::interrupted_term);
  }
}

bool is_running(const WhichRun& which) {
  return which.run && which.run->state == RunState::running;
}

std::vector<AxisValues> points_of(const SweepPlan& plan) {
  std::vector<AxisValues> points;
  for (const Trial& trial : plan.trials) points.push_back(axis_values(label(trial)));
  return points;
}

class Scheduler {
 public:
  Scheduler(Store& store, const StoreFolder& folder, const SweepPlan& plan,
            const SweepOptions& options, int64_t sweep)
      : store_(store),
        folder_(folder),
        plan_(plan),
        options_(options),
        sweep_(sweep),
        slots_(slot_machine(), options.jobs, folder.path / ("cores." + host_name() + ".lock")),
        pruner_(store, folder, plan),
        messages_(folder, plan),
        live_(store, plan),
        axes_(points_of(plan)) {
    for (const Trial& trial : plan.trials) waiting_.push_back(&trial);
    if (pruner_.has_rule())
      for (const Trial* trial : waiting_) pruner_.look_at(*trial);
    for (const TrialRow& row : store.trials(sweep))
      if (row.run) linked_[row.trial] = *row.run;
  }

  SweepEnd run() {
    for (;;) {
      start_what_fits();
      if (running_.empty() && (stop_ || waiting_.empty()) && !look_at_others_again()) break;
      if (has_progress_line() && Clock::now() >= next_redraw_) show();
      wait();
      take_ends();
      if (pruner_.has_rule() && !stop_) prune();
    }
    show_progress_lines({});
    end_.sweep = sweep_;
    end_.pruned = pruner_.count();
    if (!end_.stopped && !end_.failed) end_.stopped = stopped_alone_;
    return end_;
  }

 private:
  struct Running {
    const Trial* trial;
    WhichRun before;
    Slot slot;
    TrialProcess process;
    bool was_told_to_stop = false;  // early
  };

  // Whether a trial's end is something new to the user.
  enum class News { yes, no };

  void start_what_fits() {
    while (!stop_ && running_.size() < options_.jobs) {
      promote();
      if (waiting_.empty()) return;
      const Trial& trial = *waiting_.front();
      const WhichRun which = standing(store_, folder_, trial);
      if (!is_to_run(trial, which)) {
        waiting_.pop_front();
        account(trial, which, News::no);
        continue;
      }
      if (pruner_.has_rule() && pruner_.prune_interrupted(trial, which)) {
        waiting_.pop_front();
        account(trial, standing(store_, folder_, trial), News::yes);
        continue;
      }
      const RecipeText text = text_in_slot(trial, options_.jobs);
      const SlotNeeds needs = needs_of(trial, text, continued_folder(which));
      auto slot = slots_.take(needs.gpus, needs.threads);
      if (!slot) {
        if (running_.empty()) say_that_it_waits(trial, needs.gpus);
        return withdraw_promotion();
      }
      waiting_.pop_front();
      start(trial, text, which, std::move(*slot));
    }
  }

  // With none of its own running, a sweep waits for another one.
  void say_that_it_waits(const Trial& trial, size_t gpus) {
    if (!std::exchange(has_said_that_it_waits_, true))
      messages_.say(trial, "waits for " + (gpus == 1 ? "a GPU" : std::to_string(gpus) + " GPUs") +
                               ", which other sweeps use");
  }

  bool is_to_run(const Trial& trial, const WhichRun& which) const {
    if (is_pruned(which)) return &trial == promoted_;
    return may_start(which, options_.retry_failed && !tried_.contains(trial.number));
  }

  void start(const Trial& trial, const RecipeText& text, const WhichRun& which, Slot slot) {
    tried_.insert(trial.number);
    // A terminal shows it in the table.
    if (!has_progress_line()) messages_.say(trial, continues(which) ? "continued" : "started");
    if (slot.trials > 1 && continues(which))
      messages_.say(trial, "uses as many threads as before, so fewer trials run beside it");
    TrialRequest request{text, sweep_, trial.number,  options_.command_line,
                         {},   false,  options_.level};
    request.continues_pruned = is_pruned(which) && continues(which);
    if (which.run && !continues(which)) request.instead_of = which.run->id;
    try {
      TrialProcess process(request, slot, folder_, signals_);
      running_.push_back({&trial, which, std::move(slot), std::move(process)});
    } catch (const Error& error) {
      slots_.give_back(slot);
      fail_to_begin(trial, error.what());
    }
  }

  static bool is_pruned(const WhichRun& which) {
    return which.run && which.run->state == RunState::pruned;
  }

  // Where its trial starts: one that was stopped early is promoted then. What another store has the
  // checkpoints of begins anew here.
  bool continues(const WhichRun& which) const {
    return (which.decision == Decision::continue_run || is_pruned(which)) &&
           has_folder(folder_, which.run->folder);
  }

  std::optional<RunFolder> continued_folder(const WhichRun& which) const {
    return continues(which) ? std::optional(folder_.run(which.run->folder)) : std::nullopt;
  }

  // Trials that are no longer worth going on with are told to save and end.
  void prune() {
    pruner_.look_at_others(elsewhere_.size() + waiting_.size(),
                           [&](size_t index) -> const Trial& { return other(index); });
    for (const Running& running : running_) pruner_.look_at(*running.trial);
    for (Running& running : running_) {
      if (running.was_told_to_stop) continue;
      const WhichRun which = standing(store_, folder_, *running.trial);
      if (!is_running(which) || which.run->pid != running.process.pid()) continue;
      if (!pruner_.prune(*running.trial, *which.run)) continue;
      running.process.send(SIGUSR1);
      running.was_told_to_stop = true;
    }
  }

  // Of those that this process does not run.
  const Trial& other(size_t index) const {
    return index < elsewhere_.size() ? *elsewhere_[index] : *waiting_[index - elsewhere_.size()];
  }

  void show() {
    next_redraw_ = Clock::now() + kRedraw;
    std::vector<LiveTrial> trials;
    double begun = 0;  // of the trials that run, in trials
    for (const Running& running : running_) {
      const WhichRun now = standing(store_, folder_, *running.trial);
      trials.push_back(live_.look(*running.trial, is_running(now) ? now.run : std::nullopt,
                                  stop_ || running.was_told_to_stop));
      if (trials.back().steps)
        begun += static_cast<double>(trials.back().step) / static_cast<double>(trials.back().steps);
    }
    LiveSweep sweep{plan_.trials.size(),
                    end_.finished,
                    end_.failed - end_.cut_off,
                    pruner_.count(),
                    end_.interrupted + end_.cut_off,
                    plan_.metric,
                    {}};
    const double done = static_cast<double>(ended_here_) + begun;
    const double left = static_cast<double>(waiting_.size() + running_.size()) - begun;
    const std::chrono::duration<double> taken = Clock::now() - began_;
    if (done > 0 && !stop_) sweep.seconds_left = taken.count() / done * left;
    show_progress_lines(live_lines(trials, sweep, axes_, columns_of(STDERR_FILENO) - 1));
  }

  // Before those that wait: one that was stopped early and is worth going on with after all.
  void promote() {
    promoted_ = pruner_.has_rule() ? pruner_.promote() : nullptr;
    if (promoted_) waiting_.push_front(promoted_);
  }

  // There is no slot for it; the next look promotes again.
  void withdraw_promotion() {
    if (!promoted_) return;
    waiting_.pop_front();
    pruner_.add(*promoted_);
  }

  // For a signal, the end of a child, or some time: what other processes do is in the store only.
  void wait() {
    const bool looks_often = pruner_.has_rule() || has_progress_line() || stop_ || running_.empty();
    const int signal = ::sigtimedwait(&signals_.set(), nullptr, looks_often ? &kLook : &kRareLook);
    if (signal > 0 && signal != SIGCHLD) pass_on(signal);
  }

  void pass_on(int signal) {
    if (signal == SIGTSTP) {
      send(SIGTSTP);
      suspend_self();
      send(SIGCONT);
      return;
    }
    // A second copy must not end us before the trials' ends are seen (child_group.cpp).
    ::signal(signal, SIG_IGN);
    if (!stop_) log_info("stopping: the trials save their state");
    if (!stop_) end_.stopped = exit_code_after(signal);
    stop_ = true;
    send(signal == SIGHUP ? SIGTERM : signal);
  }

  void send(int signal) const {
    for (const Running& running : running_) running.process.send(signal);
  }

  void take_ends() {
    for (auto running = running_.begin(); running != running_.end();) {
      if (!running->process.has_ended() || is_saving(*running)) {
        ++running;
        continue;
      }
      slots_.give_back(running->slot);
      ++ended_here_;
      next_redraw_ = {};
      const Running ended = std::move(*running);
      running = running_.erase(running);
      settle(ended);
    }
  }

  // Its launcher was killed; the trainers save and end without it.
  bool is_saving(const Running& running) const {
    const WhichRun now = standing(store_, folder_, *running.trial);
    return is_running(now) && now.run->pid == running.process.pid() && !on_another_host(*now.run);
  }

  void settle(const Running& ended) {
    const Trial& trial = *ended.trial;
    const WhichRun now = standing(store_, folder_, trial);
    const bool began = !(now == ended.before);
    if (began ||
        (now.run && !needs_a_trainer(now.decision) && now.decision != Decision::refuse_ended))
      return account(trial, now, News::yes, ended.process.end().signal.has_value());
    if (stop_) {  // before its run was begun
      ++end_.interrupted;
      return;
    }
    const auto lines = ended.process.last_output(kOutputLines);
    const std::string by_signal = signal_message(ended.process.end());
    fail_to_begin(trial, by_signal.empty() ? error_in(lines) : by_signal);
  }

  // Another `exprun sweep` or a plain run has it: at the end we look again.
  // One whose launcher died of a signal has been stopped by nobody, though its trainer saved.
  void account(const Trial& trial, const WhichRun& which, News news, bool was_killed = false) {
    if (is_running(which)) {
      elsewhere_.push_back(&trial);
      return;
    }
    const RunRow& run = *which.run;
    link(trial, run);
    add_new_tags(store_, run, trial.resolved);
    if (pruner_.has_rule()) pruner_.look_at(trial, run);
    if (run.state == RunState::finished)
      ++end_.finished;
    else if (run.state == RunState::pruned)
      pruner_.add(trial);
    else if (stop_ || (is_stopped(run) && !was_killed))
      ++end_.interrupted;
    else
      return count_failed(trial, which);
    if (news == News::yes) messages_.say(trial, outcome_text(store_, plan_, run));
    if (is_stopped(run) && !stop_) stop_with(trial, run);
  }

  static bool is_stopped(const RunRow& run) {
    return run.state == RunState::interrupted || run.state == RunState::preempted;
  }

  // Who stops a trial wants no other in its place.
  void stop_with(const Trial& trial, const RunRow& run) {
    stopped_alone_ = run.exit_code.value_or(static_cast<int>(ExitCode::failed));
    stop_all("stopping, since trial " + std::to_string(trial.number) + " was " +
             to_string(run.state));
  }

  // Some may have been told already: SIGUSR1 is no second request for them (child_group.cpp).
  void stop_all(const std::string& why) {
    log_info(why + (running_.empty() ? "" : "; the other trials save their state"));
    stop_ = true;
    send(SIGUSR1);
  }

  void count_failed(const Trial& trial, const WhichRun& which) {
    const RunRow& run = *which.run;
    if (!needs_a_trainer(which.decision))
      ++end_.for_good;
    else if (run.state != RunState::failed)
      ++end_.cut_off;
    const std::string text = outcome_text(store_, plan_, run);
    if (tried_.contains(trial.number))
      messages_.warn_of_failure(trial, run, text);
    else
      messages_.warn(trial, text);
    count_failed(trial);
  }

  void fail_to_begin(const Trial& trial, const std::string& why) {
    const std::string told = by_change(why, trial);
    store_.record_trial_problem(sweep_, trial.number, told);
    messages_.warn(trial, "could not begin: " + told);
    count_failed(trial);
  }

  void count_failed(const Trial& trial) {
    ++end_.failed;
    if (options_.fail_fast && tried_.contains(trial.number) && !stop_)
      stop_all("--fail-fast: stopping");
  }

  void link(const Trial& trial, const RunRow& run) {
    const auto known = linked_.find(trial.number);
    const bool is_own = run.sweep_id == sweep_ && run.trial == trial.number;
    if (is_own || (known != linked_.end() && known->second == run.id)) return;
    store_.record_trial_run(sweep_, trial.number, run.id);
  }

  // Whether there is still something to do: what others ran may have ended, so that one that was
  // stopped early is worth going on with, and what is left of a killed sweep is about to end.
  bool look_at_others_again() {
    if (stop_) {
      end_.elsewhere += static_cast<int>(elsewhere_.size());
      return false;
    }
    const auto former = std::exchange(elsewhere_, {});
    bool is_awaited = false;
    for (const Trial* trial : former) {
      const WhichRun which = standing(store_, folder_, *trial);
      if (!is_running(which) && is_to_run(*trial, which)) {
        waiting_.push_back(trial);
        continue;
      }
      account(*trial, which, News::yes);
      is_awaited |= is_running(which) ? has_lost_launcher(*which.run) : pruner_.has_rule();
    }
    if (!waiting_.empty() || is_awaited) return true;
    end_.elsewhere += static_cast<int>(elsewhere_.size());
    return false;
  }

  Store& store_;
  const StoreFolder& folder_;
  const SweepPlan& plan_;
  const SweepOptions& options_;
  const int64_t sweep_;
  const ForwardedSignals signals_;
  Slots slots_;
  std::deque<const Trial*> waiting_;
  std::list<Running> running_;
  std::vector<const Trial*> elsewhere_;
  TrialPruner pruner_;
  const Trial* promoted_ = nullptr;  // of those that were stopped early, to be continued
  TrialMessages messages_;
  LiveTrials live_;
  const AxisColumns axes_;
  Clock::time_point next_redraw_{};
  const Clock::time_point began_ = Clock::now();
  size_t ended_here_ = 0;              // of the trials that this call has started
  std::set<int64_t> tried_;            // numbers of trials that this call has started
  std::map<int64_t, int64_t> linked_;  // what the store has as a trial's run
  SweepEnd end_;
  std::optional<int> stopped_alone_;  // exit code of a trial that somebody else stopped
  bool stop_ = false;
  bool has_said_that_it_waits_ = false;
};

std::vector<TrialRow> rows_of(const Store& store, const StoreFolder& folder,
                              const SweepPlan& plan) {
  std::vector<TrialRow> rows;
  for (const Trial& trial : plan.trials) {
    const WhichRun which = standing(store, folder, trial);
    rows.push_back({trial.number, trial.resolved.hash(), label(trial),
                    which.run ? std::optional(which.run->id) : std::nullopt});
  }
  return rows;
}

}  // namespace

SweepEnd run_trials(Store& store, const StoreFolder& folder, const SweepPlan& plan,
                    const SweepOptions& options) {
  const auto name = plan.trials.front().resolved.section("run").get<std::string>("name");
  const SweepRow sweep = store.find_or_create_sweep(name, space_json(plan));
  const std::string difference = difference_from_earlier(store, sweep, plan);
  if (!difference.empty()) log_info(difference);
  store.record_trials(sweep.id, rows_of(store, folder, plan));
  const TransientLock process = join_sweep(folder, sweep.uid);
  if (options.begun) options.begun(sweep.id);
  return Scheduler(store, folder, plan, options, sweep.id).run();
}

}  // namespace exprun
