#include "dist/membership.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/json_text.h"
#include "dist/heartbeat.h"
#include "dist/liveness.h"
#include "dist/process_ring.h"

namespace exprun {
namespace {

using nlohmann::json;

// All in one value, a line each: hundreds of ranks ask for them at once, and the store serves one
// after another.
constexpr const char* kAnswers = "answers-to-roll-call";

std::string listed(const std::vector<int>& ranks, const char* of_one, const char* of_several) {
  std::string text = ranks.size() == 1 ? "; rank " : "; ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text + (ranks.size() == 1 ? of_one : of_several);
}

}  // namespace

bool MembershipReplies::settle_it() const {
  return silent.empty() && (working.empty() || !reason.empty());
}

std::string MembershipReplies::sentence() const {
  if (!reason.empty()) return "; " + reason;
  if (!silent.empty())
    return listed(silent, " does not respond: it hangs or is no longer running",
                  " do not respond: they hang or are no longer running");
  if (working.empty()) return "";
  return listed(working, " is running, but has not joined the exchange",
                " are running, but have not joined the exchange");
}

void answer_for(c10d::Store& store, int rank, const std::string& text) {
  const std::string line = json_text(json{rank, text}, -1, NotUtf8::replaced) + "\n";
  store.append(kAnswers, {line.begin(), line.end()});
}

MembershipReplies answers_so_far(c10d::Store& store, int world_size) {
  std::map<int, std::string> last;
  if (store.check({kAnswers})) {
    const auto bytes = store.get(kAnswers);
    std::istringstream lines(std::string(bytes.begin(), bytes.end()));
    for (std::string line; std::getline(lines, line);) {
      const json answer = parse_json<json>(line);
      last[answer.at(0)] = answer.at(1);
    }
  }
  MembershipReplies answers;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto found = last.find(rank);
    (found == last.end() ? answers.silent : answers.answered).push_back(rank);
    if (found == last.end()) continue;
    const std::string& text = found->second;
    if (text == answer::kWorks) answers.working.push_back(rank);
    if (text.starts_with(answer::kReason) && answers.reason.empty())
      answers.reason = "rank " + std::to_string(rank) + ": " +
                       text.substr(std::string_view(answer::kReason).size());
  }
  return answers;
}

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{250};            // for the call
constexpr milliseconds kBriefLook{50};        // for the answers
constexpr milliseconds kPatience{2000};       // with them, from the call or the newest of them on
constexpr milliseconds kLimit{5000};          // of that, from the call on
constexpr milliseconds kWorkerRelease{2000};  // of who serves the rendezvous, until the others know
constexpr milliseconds kSilence{6000};        // of a rendezvous that hangs, at least
constexpr milliseconds kDelay{500};           // of the thread, before it is taken to hang
constexpr std::chrono::hours kNoLimit{24};    // time-outs are the exchanges': all may be paused

constexpr const char* kCall = "roll-call";  // why it is called

std::string known_key(int rank) {
  return "answers-known/" + std::to_string(rank);
}

void set(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

bool serves_rendezvous(const RankPlace& place) {
  return place.rank == 0 && !place.store_is_served;
}

// Where the rendezvous does not answer: it is who serves it, if that is another rank.
std::string without_answers(const RankPlace& place) {
  if (place.rank == 0 || place.store_is_served) return "; the rank that caused this is unknown";
  MembershipReplies answers;
  answers.silent = {0};
  return answers.sentence();
}

}  // namespace

// What the thread and the others share.
struct Membership::State {
  State(c10::intrusive_ptr<c10d::Store> store, const RankPlace& rank)
      : first_store(std::move(store)), place(rank), processes(rank) {}

  const c10::intrusive_ptr<c10d::Store> first_store;
  const RankPlace place;

  mutable std::mutex mutex;
  std::condition_variable changed;
  enum class Phase { preparing, exchanging, parted } phase = Phase::preparing;
  ProcessRing processes;
  milliseconds silence = kSilence;  // of the rendezvous, before it is taken to hang
  bool ended = false;               // nobody here wants to know any more
  bool calls = false;               // this rank asks all to report
  bool answered = false;            // for this rank
  bool done = false;                // the thread has found what it can, and all know who can
  int waiting = 0;
  std::string reason;  // why this rank failed by itself
  std::string trouble;
  std::optional<std::string> cause;  // once found

  int64_t looks = 0;  // of the thread, each with an answer of the rendezvous
  struct {
    int64_t looks = 0;
    Clock::time_point since = Clock::now(), asked = Clock::now();
  } seen;  // by those who ask for trouble

  void run();
  bool is_called(c10d::Store& store);
  void take_part(c10d::Store& store);
  void answer(c10d::Store& store, std::string& answered_so_far);
  MembershipReplies all_answers(c10d::Store& store);
  void stay_for(c10d::Store& store, const std::vector<int>& ranks);

  std::string own_answer() const;
  void find_trouble(const std::string& what);
  void conclude(const std::string& sentence);
  bool waits_in_vain(milliseconds time);  // for the end: false when it has come
  bool rendezvous_hangs();
  bool rendezvous_listens();
  std::string the_rendezvous() const;
};

// On a connection of its own: a call that hangs would hold whoever shares it.
void Membership::State::run() {
  try {
    const auto store = first_store->clone();
    store->setTimeout(kNoLimit);
    if (is_called(*store)) take_part(*store);
  } catch (const std::exception&) {
    find_trouble(the_rendezvous() + " is lost");
    conclude(without_answers(place));
  }
  const std::lock_guard<std::mutex> lock(mutex);
  done = true;
  changed.notify_all();
}

// By this rank or another, before the end.
bool Membership::State::is_called(c10d::Store& store) {
  Heartbeat signs(place);
  while (!store.check({kCall})) {
    std::unique_lock<std::mutex> lock(mutex);
    ++looks;
    changed.wait_for(lock, kLook, [this] { return ended || calls; });
    const bool this_one_calls = calls, this_one_failed = !reason.empty(), waits = waiting > 0;
    const bool leaves = ended && !calls;
    const Phase now = phase;
    lock.unlock();
    if (leaves || now == Phase::parted) processes.leave(store);
    if (leaves) return false;
    const bool watches = !this_one_calls && now != Phase::parted;
    const bool next_is_gone = watches && processes.next_is_gone(store);
    if (this_one_calls)
      set(store, kCall,
          this_one_failed ? "another rank has failed" : "an exchange on another rank has failed");
    else if (now != Phase::preparing)
      signs.end(store);
    else if (signs.next_is_silent(store))
      set(store, kCall, "a rank has sent no heartbeat for several seconds");
    if (now == Phase::exchanging && waits && next_is_gone)
      set(store, kCall, "the process of another rank has ended");
  }
  const std::lock_guard<std::mutex> lock(mutex);
  return calls || !ended;
}

void Membership::State::take_part(c10d::Store& store) {
  const auto what = store.get(kCall);
  find_trouble({what.begin(), what.end()});
  const MembershipReplies answers = all_answers(store);
  conclude(answers.sentence());
  set(store, known_key(place.rank), "");
  if (serves_rendezvous(place)) stay_for(store, answers.answered);
}

MembershipReplies Membership::State::all_answers(c10d::Store& store) {
  const auto limit = Clock::now() + kLimit;
  auto late = Clock::now() + kPatience;
  std::string said;
  for (size_t known = 0;;) {
    answer(store, said);
    MembershipReplies answers = answers_so_far(store, place.world_size);
    const size_t answered = answers.answered.size();
    if (answered > known) late = std::min(Clock::now() + kPatience, limit);  // a busy machine
    known = answered;
    if (answers.settle_it() || Clock::now() > late || !waits_in_vain(kBriefLook)) return answers;
  }
}

void Membership::State::answer(c10d::Store& store, std::string& said) {
  const std::string answer = own_answer();
  if (answer == said) return;
  said = answer;
  answer_for(store, place.rank, answer);
  const std::lock_guard<std::mutex> lock(mutex);
  answered = true;
  changed.notify_all();
}

std::string Membership::State::own_answer() const {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!reason.empty()) return answer::kReason + reason;
  return waiting > 0 || calls ? answer::kWaits : answer::kWorks;
}

void Membership::State::stay_for(c10d::Store& store, const std::vector<int>& ranks) {
  std::vector<std::string> keys;
  for (const int rank : ranks) keys.push_back(known_key(rank));
  const auto late = Clock::now() + kWorkerRelease;
  while (!store.check(keys) && Clock::now() < late && waits_in_vain(kBriefLook)) continue;
}

void Membership::State::find_trouble(const std::string& what) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (trouble.empty()) trouble = what;
}

void Membership::State::conclude(const std::string& sentence) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!cause) cause = sentence;
  changed.notify_all();
}

bool Membership::State::waits_in_vain(milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex);
  return !changed.wait_for(lock, time, [this] { return ended; });
}

std::string Membership::State::the_rendezvous() const {
  return "the rendezvous at " + place.address + ":" + std::to_string(place.port);
}

// Nobody asks while all are paused: that time does not count.
bool Membership::State::rendezvous_hangs() {
  const auto now = Clock::now();
  const bool was_paused = now - seen.asked > std::chrono::seconds(2);
  seen.asked = now;
  if (was_paused || done || looks != seen.looks) seen.since = now;
  seen.looks = looks;
  if (now - seen.since <= silence) return false;
  if (phase != Phase::exchanging || !rendezvous_listens()) return true;
  seen.since = now;
  return false;
}

// A rank 0 that is stopped may go on: one whose machine is lost does not.
bool Membership::State::rendezvous_listens() {
  return Liveness(place.address, place.port).is_there();
}

Membership::Membership(c10::intrusive_ptr<c10d::Store> store, const RankPlace& place)
    : state_(std::make_shared<State>(std::move(store), place)) {
  std::thread([state = state_] { state->run(); }).detach();
}

// The thread may hang in a call, and is then left behind.
Membership::~Membership() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->ended = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kDelay, [this] { return state_->done; });
}

void Membership::all_exchange(std::chrono::milliseconds silence) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->phase = State::Phase::exchanging;
  state_->silence = std::max(silence, kSilence);
}

void Membership::all_part(std::chrono::milliseconds silence) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->phase = State::Phase::parted;
  state_->silence = std::max(silence, kSilence);
}

std::string Membership::trouble() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->trouble.empty() && state_->rendezvous_hangs())
    state_->trouble = state_->the_rendezvous() + " does not respond";
  return state_->trouble;
}

void Membership::require_no_trouble(const std::string& what) const {
  const std::string found = trouble();
  if (!found.empty()) throw Error("dist: " + what + ": " + found, ExitCode::lost_ranks);
}

std::string Membership::cause() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->calls = true;
  state_->changed.notify_all();
  const auto worker_release = serves_rendezvous(state_->place) ? kWorkerRelease : milliseconds(0);
  state_->changed.wait_for(lock, kLimit + kDelay + worker_release, [this] { return state_->done; });
  if (!state_->cause) state_->cause = without_answers(state_->place);
  return *state_->cause;
}

void Membership::say_why(const std::string& reason) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->reason = reason;
  state_->calls = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kDelay, [this] { return state_->answered || state_->done; });
}

Membership::Waiting::Waiting(Membership& membership) : membership_(membership) {
  const std::lock_guard<std::mutex> lock(membership_.state_->mutex);
  ++membership_.state_->waiting;
}

Membership::Waiting::~Waiting() {
  const std::lock_guard<std::mutex> lock(membership_.state_->mutex);
  --membership_.state_->waiting;
}

}  // namespace exprun
