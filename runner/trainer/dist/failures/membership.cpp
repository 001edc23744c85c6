#include "dist/failures/membership.h"

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
#include "dist/failures/heartbeat.h"
#include "dist/failures/liveness.h"
#include "dist/failures/process_ring.h"

namespace exprun {
namespace {

using nlohmann::json;

// All in one value, one line for each: hundreds of ranks ask for them at once, and the store serves
// one request after another.
constexpr const char* kReports = "reports";

std::string listed(const std::vector<int>& ranks, const char* of_one, const char* of_several) {
  std::string text = ranks.size() == 1 ? "; rank " : "; ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text + (ranks.size() == 1 ? of_one : of_several);
}

void send_report(c10d::Store& store, int rank, const std::string& text) {
  const std::string line = json_text(json{rank, text}, -1, NotUtf8::replaced) + "\n";
  store.append(kReports, {line.begin(), line.end()});
}

}  // namespace

bool MembershipReports::is_conclusive() const {
  return silent.empty() && (working.empty() || !reason.empty());
}

std::string MembershipReports::sentence() const {
  if (!reason.empty()) return "; " + reason;
  if (!silent.empty())
    return listed(silent, " does not respond: it hangs or is no longer running",
                  " do not respond: they hang or are no longer running");
  if (working.empty()) return "";
  return listed(working, " is running, but has not joined the exchange",
                " are running, but have not joined the exchange");
}

MembershipReports reports_so_far(c10d::Store& store, int world_size) {
  std::map<int, std::string> last;
  if (store.check({kReports})) {
    const auto bytes = store.get(kReports);
    std::istringstream lines(std::string(bytes.begin(), bytes.end()));
    for (std::string line; std::getline(lines, line);) {
      const json report = parse_json<json>(line);
      last[report.at(0)] = report.at(1);
    }
  }
  MembershipReports reports;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto found = last.find(rank);
    (found == last.end() ? reports.silent : reports.reported).push_back(rank);
    if (found == last.end()) continue;
    const std::string& text = found->second;
    if (text == report::kWorks) reports.working.push_back(rank);
    if (text.starts_with(report::kReason) && reports.reason.empty())
      reports.reason = "rank " + std::to_string(rank) + ": " +
                       text.substr(std::string_view(report::kReason).size());
  }
  return reports;
}

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{250};            // for the request
constexpr milliseconds kBriefLook{50};        // for the reports
constexpr milliseconds kPatience{2000};       // with them, from the request or the newest report on
constexpr milliseconds kLimit{5000};          // of that, from the request on
constexpr milliseconds kWorkerRelease{2000};  // of the serving rank: the others learn the cause
constexpr milliseconds kSilence{6000};        // of a rendezvous that hangs, at least
constexpr milliseconds kDelay{500};           // of the thread, before it is taken to hang
constexpr std::chrono::hours kNoLimit{24};    // time-outs are the exchanges': all may be paused

constexpr const char* kRequest = "report-request";  // its reason

std::string known_key(int rank) {
  return "reports-known/" + std::to_string(rank);
}

void set(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

bool serves_rendezvous(const RankPlace& place) {
  return place.rank == 0 && !place.store_is_served;
}

// Where the rendezvous does not answer: the rank that serves it, if that is another one.
std::string cause_without_rendezvous(const RankPlace& place) {
  if (place.rank == 0 || place.store_is_served) return "; the rank that caused this is unknown";
  MembershipReports reports;
  reports.silent = {0};
  return reports.sentence();
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
  bool ended = false;               // this rank does not need to know any more
  bool requests_reports = false;    // this rank asks all to report
  bool reported = false;            // this rank has
  bool done = false;                // the thread has found what it can, and told those it could
  int waiting = 0;
  std::string reason;  // why this rank failed by itself
  std::string trouble;
  std::optional<std::string> cause;  // once found

  int64_t looks = 0;  // of the thread, each with an answer of the rendezvous
  struct {
    int64_t looks = 0;
    Clock::time_point since = Clock::now(), asked = Clock::now();
  } seen;  // by the callers of trouble()

  void run();
  bool is_requested(c10d::Store& store);
  void exchange_reports(c10d::Store& store);
  void report(c10d::Store& store, std::string& last_sent);
  MembershipReports collect_reports(c10d::Store& store);
  void wait_until_known(c10d::Store& store, const std::vector<int>& ranks);

  std::string own_report() const;
  void note_trouble(const std::string& what);
  void conclude(const std::string& sentence);
  bool sleeps(milliseconds time);  // false where the end came first
  bool rendezvous_hangs();
  bool rendezvous_listens();
  std::string the_rendezvous() const;
};

// On a connection of its own: a call that hangs would block every user of it.
void Membership::State::run() {
  try {
    const auto store = first_store->clone();
    store->setTimeout(kNoLimit);
    if (is_requested(*store)) exchange_reports(*store);
  } catch (const std::exception&) {
    note_trouble(the_rendezvous() + " is lost");
    conclude(cause_without_rendezvous(place));
  }
  const std::lock_guard<std::mutex> lock(mutex);
  done = true;
  changed.notify_all();
}

// Waits until this rank or another requests reports; false where the end comes first.
bool Membership::State::is_requested(c10d::Store& store) {
  Heartbeat heartbeat(place);
  while (!store.check({kRequest})) {
    std::unique_lock<std::mutex> lock(mutex);
    ++looks;
    changed.wait_for(lock, kLook, [this] { return ended || requests_reports; });
    const bool requests = requests_reports, this_one_failed = !reason.empty(), waits = waiting > 0;
    const bool leaves = ended && !requests_reports;
    const Phase now = phase;
    lock.unlock();
    if (leaves || now == Phase::parted) processes.leave(store);
    if (leaves) return false;
    const bool watches = !requests && now != Phase::parted;
    const bool next_is_gone = watches && processes.next_is_gone(store);
    if (requests)
      set(store, kRequest,
          this_one_failed ? "another rank has failed" : "an exchange on another rank has failed");
    else if (now != Phase::preparing)
      heartbeat.end(store);
    else if (heartbeat.next_is_silent(store))
      set(store, kRequest, "a rank has sent no heartbeat for several seconds");
    if (now == Phase::exchanging && waits && next_is_gone)
      set(store, kRequest, "the process of another rank has ended");
  }
  const std::lock_guard<std::mutex> lock(mutex);
  return requests_reports || !ended;
}

void Membership::State::exchange_reports(c10d::Store& store) {
  const auto what = store.get(kRequest);
  note_trouble({what.begin(), what.end()});
  const MembershipReports reports = collect_reports(store);
  conclude(reports.sentence());
  set(store, known_key(place.rank), "");
  if (serves_rendezvous(place)) wait_until_known(store, reports.reported);
}

MembershipReports Membership::State::collect_reports(c10d::Store& store) {
  const auto limit = Clock::now() + kLimit;
  auto late = Clock::now() + kPatience;
  std::string last_sent;
  for (size_t known = 0;;) {
    report(store, last_sent);
    MembershipReports reports = reports_so_far(store, place.world_size);
    const size_t reported = reports.reported.size();
    if (reported > known) late = std::min(Clock::now() + kPatience, limit);  // a busy machine
    known = reported;
    if (reports.is_conclusive() || Clock::now() > late || !sleeps(kBriefLook)) return reports;
  }
}

void Membership::State::report(c10d::Store& store, std::string& last_sent) {
  const std::string own = own_report();
  if (own == last_sent) return;
  last_sent = own;
  send_report(store, place.rank, own);
  const std::lock_guard<std::mutex> lock(mutex);
  reported = true;
  changed.notify_all();
}

std::string Membership::State::own_report() const {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!reason.empty()) return report::kReason + reason;
  return waiting > 0 || requests_reports ? report::kWaits : report::kWorks;
}

void Membership::State::wait_until_known(c10d::Store& store, const std::vector<int>& ranks) {
  std::vector<std::string> keys;
  for (const int rank : ranks) keys.push_back(known_key(rank));
  const auto late = Clock::now() + kWorkerRelease;
  while (!store.check(keys) && Clock::now() < late && sleeps(kBriefLook)) continue;
}

void Membership::State::note_trouble(const std::string& what) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (trouble.empty()) trouble = what;
}

void Membership::State::conclude(const std::string& sentence) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!cause) cause = sentence;
  changed.notify_all();
}

bool Membership::State::sleeps(milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex);
  return !changed.wait_for(lock, time, [this] { return ended; });
}

std::string Membership::State::the_rendezvous() const {
  return "the rendezvous at " + place.address + ":" + std::to_string(place.port);
}

// While all ranks are paused none calls this: that time does not count.
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
  state_->requests_reports = true;
  state_->changed.notify_all();
  const auto worker_release = serves_rendezvous(state_->place) ? kWorkerRelease : milliseconds(0);
  state_->changed.wait_for(lock, kLimit + kDelay + worker_release, [this] { return state_->done; });
  if (!state_->cause) state_->cause = cause_without_rendezvous(state_->place);
  return *state_->cause;
}

void Membership::report_failure(const std::string& reason) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->reason = reason;
  state_->requests_reports = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kDelay, [this] { return state_->reported || state_->done; });
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
