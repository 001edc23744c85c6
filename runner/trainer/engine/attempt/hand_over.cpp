#include "engine/attempt/hand_over.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/error_file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/machine/host_name.h"
#include "dist/presence.h"
#include "dist/within.h"
#include "engine/attempt/evidence.h"
#include "engine/device/device.h"
#include "text/data_facts.h"

namespace exprun {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kKey = "hand-over";

// A problem, which is empty where all can take part, or a dismissal.
constexpr const char* kVerdict = "verdict";

constexpr const char* kCpu = "cpu";  // a device of HandOver

constexpr std::chrono::milliseconds kLook{10};
constexpr std::chrono::seconds kHearing{5};
constexpr std::chrono::seconds kGrace{1};  // for ranks of which nothing is known

std::string answer_key(int rank) {
  return "answer/" + std::to_string(rank);
}

std::string heard_key(int rank) {
  return "heard/" + std::to_string(rank);
}

json to_json(const Dismissal& dismissal) {
  return {{"dismissed", static_cast<int>(dismissal.code)}, {"why", dismissal.why}};
}

std::optional<Dismissal> dismissal_in(const json& message) {
  if (!message.contains("dismissed")) return std::nullopt;
  return Dismissal{static_cast<ExitCode>(message["dismissed"].get<int>()), message.at("why")};
}

void say(Rendezvous& rendezvous, const char* key, json message) {
  message["job"] = rendezvous.place().job;
  rendezvous.set(key, json_text(message, -1, NotUtf8::replaced));
}

// Rank 0 serves the rendezvous: it must not leave before they have heard.
void wait_until_heard(Rendezvous& rendezvous, const std::vector<int>& ranks,
                      std::chrono::milliseconds patience) {
  const auto late = Clock::now() + patience;
  for (const int rank : ranks)
    while (!rendezvous.has(heard_key(rank))) {
      if (Clock::now() > late)
        throw Error("dist: rank " + std::to_string(rank) + " has not come within " +
                    std::to_string(patience.count() / 1000) + " s");
      std::this_thread::sleep_for(kLook);
    }
}

std::vector<int> ranks_from(int first, const Rendezvous& rendezvous) {
  std::vector<int> ranks;
  for (int rank = first; rank < rendezvous.place().world_size; ++rank) ranks.push_back(rank);
  return ranks;
}

// The ranks above 0 that have answered, or those that have not.
std::vector<int> ranks_who(bool have_answered, Rendezvous& rendezvous) {
  std::vector<int> ranks = ranks_from(1, rendezvous);
  std::erase_if(ranks, [&](int rank) { return rendezvous.has(answer_key(rank)) != have_answered; });
  return ranks;
}

// When none begins. A rank may be gone already; why none begins is more worth saying.
void tell_if_there(Rendezvous& rendezvous, const std::vector<int>& ranks,
                   std::chrono::milliseconds patience) {
  try {
    wait_until_heard(rendezvous, ranks, patience);
  } catch (const Error&) {
    log(LogLevel::debug, "a rank has not heard that none begins");
  }
}

[[noreturn]] void refuse(Rendezvous& rendezvous, const std::string& problem) {
  say(rendezvous, kVerdict, {{"problem", problem}});
  tell_if_there(rendezvous, ranks_from(1, rendezvous), kHearing);
  throw Error(problem, ExitCode::lost_ranks);
}

// Those beside rank 0 come for certain, those who have answered wait, others may be on their way.
void call_off(Rendezvous& rendezvous, const Dismissal& dismissal) {
  say(rendezvous, kKey, to_json(dismissal));
  say(rendezvous, kVerdict, to_json(dismissal));
  tell_if_there(rendezvous, ranks_from(1, rendezvous), kGrace);
  std::vector<int> certain = ranks_who(true, rendezvous);
  for (int rank = 1; rank < rendezvous.place().ranks_here; ++rank) certain.push_back(rank);
  tell_if_there(rendezvous, certain, kHearing);
}

// A launcher that starts all has failed; people who start machines may be late.
[[noreturn]] void give_up(Rendezvous& rendezvous) {
  const RankPlace& place = rendezvous.place();
  const std::vector<int> missing = ranks_who(false, rendezvous);
  std::string text = "dist: rank 0 of " + std::to_string(place.world_size) +
                     " cannot meet the others at " + place.address + ":" +
                     std::to_string(place.port) + ": after " +
                     std::to_string(place.meeting_timeout.count() / 1000) + " s there is no";
  for (const int rank : missing)
    text += (rank == missing[0] ? " rank " : ", ") + std::to_string(rank);
  const bool by_people = !place.joined && place.ranks_here < place.world_size;
  const ExitCode code = by_people ? ExitCode::preempted : ExitCode::lost_ranks;
  call_off(rendezvous, {code, text});
  throw Error(text, code);
}

struct Answers {
  StopRequest stop = StopRequest::none;  // came before the last of them
  std::string problem;                   // why the first rank cannot take part that cannot
  std::vector<GpuClaim> gpus;            // of all ranks
};

Answers answers_of_all(Rendezvous& rendezvous, GpuClaim own) {
  const auto late = Clock::now() + rendezvous.place().meeting_timeout;
  std::vector<GpuClaim> gpus{std::move(own)};
  for (int rank = 1; rank < rendezvous.place().world_size; ++rank) {
    while (!rendezvous.has(answer_key(rank))) {
      if (const auto stop = stop_requested(); stop != StopRequest::none) return {stop, "", {}};
      if (Clock::now() > late) give_up(rendezvous);
      std::this_thread::sleep_for(kLook);
    }
    const json answer = parse_json<json>(rendezvous.get(answer_key(rank)));
    if (const std::string problem = answer.at("problem"); !problem.empty())
      return {StopRequest::none, problem, {}};
    gpus.push_back(answer.at("gpu"));
  }
  return {StopRequest::none, "", std::move(gpus)};
}

// Without a GPU for each rank none computes on one, unless the recipe insists.
void settle_device(HandOver& hand_over, Answers& answers) {
  if (hand_over.device == kCpu) return;
  const std::string problem = gpu_problem(answers.gpus);
  if (problem.empty()) {
    answers.problem = program_problem(answers.gpus);
    return;
  }
  if (hand_over.wants_gpus()) {
    answers.problem = problem;
  } else {
    log_warning(problem + ": the run trains on the CPU");
    hand_over.device = kCpu;
  }
}

GpuClaim claim(const HandOver& hand_over, const RankPlace& place, const OwnGpu& own) {
  return hand_over.device == kCpu ? GpuClaim{} : claim_of(place, own);
}

std::string here(const RankPlace& place) {
  return "dist: rank " + std::to_string(place.rank) + " on " + host_name() + ": ";
}

// Its paths are relative to where rank 0 works.
HandOver read_message(const json& message) {
  const auto directory = message.at("working_directory").get<std::string>();
  std::error_code error;
  std::filesystem::current_path(directory, error);
  if (error)
    throw Error("cannot enter " + directory + ", where rank 0 works (" + error.message() +
                "): the ranks need a folder that all machines share");
  HandOver hand_over{{message.at("folder").get<std::string>()},
                     message.at("recipe"),
                     PreparedData::from_json(message.at("data")),
                     std::nullopt,
                     message.at("device")};
  if (message.contains("checkpoint"))
    hand_over.checkpoint = message["checkpoint"].get<std::string>();
  return hand_over;
}

// As its launcher reads it.
void report_restarts(const RankPlace& place, const std::string& text) {
  if (!place.restarts_fd) return;
  if (::ftruncate(*place.restarts_fd, 0) != 0 ||
      ::pwrite(*place.restarts_fd, text.data(), text.size(), 0) < 0)
    log_warning("this rank's launcher cannot be told about restarts");
}

// Once on each machine that has not heard rank 0 itself.
void show_why(const RankPlace& place, const std::string& why) {
  if (place.local_rank == 0) log(LogLevel::error, "rank 0 says: " + why.substr(0, why.find('\n')));
}

ExitCode leave(Rendezvous& rendezvous, const Dismissal& dismissal) {
  if (!dismissal.why.empty()) {
    write_error_file(dismissal.why);
    show_why(rendezvous.place(), dismissal.why);
  }
  report_restarts(rendezvous.place(), "");
  rendezvous.set(heard_key(rendezvous.place().rank), "");
  return dismissal.code;
}

// Who has the problem is the cause; the others end because of it. A dismissal, if that is what
// comes of it, or the device to train on.
std::variant<std::string, ExitCode> answer(Rendezvous& rendezvous, const std::string& problem,
                                           const GpuClaim& gpu) {
  const int rank = rendezvous.place().rank;
  rendezvous.set(answer_key(rank), json_text(json{{"problem", problem}, {"gpu", gpu}}));
  const json verdict = parse_json<json>(rendezvous.get(kVerdict));
  if (const auto dismissal = dismissal_in(verdict)) return leave(rendezvous, *dismissal);
  rendezvous.set(heard_key(rank), "");
  if (!problem.empty()) throw Error(problem);
  const std::string problem_of_other = verdict.at("problem");
  if (!problem_of_other.empty()) throw Error(problem_of_other, ExitCode::lost_ranks);
  return verdict.at("device").get<std::string>();
}

// A store in which this rank has answered already belongs to its former life.
void require_new_life(Rendezvous& rendezvous) {
  const RankPlace& place = rendezvous.place();
  if (rendezvous.has(answer_key(place.rank)))
    throw Error("dist: there is a rank " + std::to_string(place.rank) + " at " + place.address +
                    ":" + std::to_string(place.port) + " already: each rank is started once",
                ExitCode::lost_ranks);
}

// That of another job may have had the port first.
void require_own_job(Rendezvous& rendezvous) {
  const RankPlace& place = rendezvous.place();
  const std::string job = parse_json<json>(rendezvous.get(kKey)).value("job", "");
  if (job != place.job)
    throw Error("dist: rank 0 at " + place.address + ":" + std::to_string(place.port) +
                    " is of job '" + job + "', and this rank of job '" + place.job +
                    "': give the ranks of each job a MASTER_PORT of their own",
                ExitCode::lost_ranks);
}

std::unique_ptr<Rendezvous> met_rank_0(const RankPlace& place) {
  auto rendezvous = std::make_unique<Rendezvous>(place);
  rendezvous->get(kKey);
  require_new_life(*rendezvous);
  return rendezvous;
}

// Ranks that were started anew may find rank 0 of their former life, which is just ending.
std::unique_ptr<Rendezvous> met_in_some_life(RankPlace at) {
  const auto late = Clock::now() + at.meeting_timeout;
  for (;;) {
    try {
      return met_rank_0(at);
    } catch (const Error& error) {
      if (Clock::now() >= late) throw;
      log(LogLevel::debug, error.what());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto left = std::chrono::ceil<std::chrono::seconds>(late - Clock::now());
    at.meeting_timeout = std::max(left, std::chrono::seconds(1));  // enough to connect
  }
}

// How long nobody has listened where rank 0's launcher would.
class Absence {
 public:
  explicit Absence(const RankPlace& place)
      : presence_(place.address, place.port), patience_(*place.absence_timeout) {}

  bool is_too_long() {
    if (presence_.is_there()) since_ = Clock::now();
    return Clock::now() - since_ > patience_;
  }

 private:
  Presence presence_;
  std::chrono::milliseconds patience_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace

ResolvedRecipe HandOver::resolved() const {
  return resolve(RecipeText::from_json(recipe), facts_of(data));
}

HandOver read_hand_over(const RunFolder& folder,
                        const std::optional<std::filesystem::path>& checkpoint) {
  HandOver hand_over{folder, read_file(folder.recipe()),
                     PreparedData::from_json(read_file(folder.data())), checkpoint};
  hand_over.device =
      c10::DeviceTypeName(chosen_device(hand_over.resolved().section("run")), /*lower_case=*/true);
  return hand_over;
}

bool HandOver::wants_gpus() const {
  return resolved().section("run").get<std::string>("device") == "cuda";
}

StopRequest tell(Rendezvous& rendezvous, HandOver& hand_over, const OwnGpu& own) {
  const auto most = hand_over.resolved().section("parallelism").get<int64_t>("max_restarts");
  json message{{"evidence", to_json(evidence(hand_over.resolved().hash(), hand_over.data,
                                             hand_over.checkpoint))},
               {"working_directory", std::filesystem::current_path().string()},
               {"folder", hand_over.folder.path.string()},
               {"recipe", hand_over.recipe},
               {"data", hand_over.data.to_json()},
               {"device", hand_over.device},
               {"restarts", rendezvous.place().restarts},
               {"max_restarts", most}};
  if (hand_over.checkpoint) message["checkpoint"] = hand_over.checkpoint->string();
  say(rendezvous, kKey, message);
  Answers answers = answers_of_all(rendezvous, claim(hand_over, rendezvous.place(), own));
  if (answers.stop == StopRequest::none && answers.problem.empty())
    settle_device(hand_over, answers);
  if (!answers.problem.empty()) refuse(rendezvous, answers.problem);
  if (answers.stop == StopRequest::none)
    say(rendezvous, kVerdict, {{"problem", ""}, {"device", hand_over.device}});
  else
    call_off(rendezvous, {exit_code_of(answers.stop), ""});
  return answers.stop;
}

namespace {

std::unique_ptr<Rendezvous> met_unless_absent(const RankPlace& place) {
  Absence absence(place);
  auto met = within(
      place.meeting_timeout + kHearing, [place] { return met_in_some_life(place); },
      [&] { return absence.is_too_long(); });
  if (met) return std::move(*met);
  throw Error("dist: rank " + std::to_string(place.rank) + " of " +
              std::to_string(place.world_size) + " cannot meet the others at " + place.address +
              ":" + std::to_string(place.port) + ": nobody has been there for " +
              std::to_string(place.absence_timeout->count() / 1000) +
              (place.joined ? " s; rank 0 has said why if it has failed, and MASTER_ADDR and "
                              "MASTER_PORT must lead to its machine"
                            : " s; give the command to the machine with --node-rank=0, and to "
                              "this one again"));
}

}  // namespace

std::unique_ptr<Rendezvous> meet_rank_0(const RankPlace& place) {
  auto met = place.store_is_served   ? met_rank_0(place)
             : place.absence_timeout ? met_unless_absent(place)
                                     : met_in_some_life(place);
  require_own_job(*met);
  return met;
}

Heard hear(Rendezvous& rendezvous, const std::optional<std::string>& recipe_hash,
           const OwnGpu& own) {
  const json message = parse_json<json>(rendezvous.get(kKey));
  if (const auto dismissal = dismissal_in(message)) return leave(rendezvous, *dismissal);
  report_restarts(rendezvous.place(), std::to_string(message.at("restarts").get<int>()) + ' ' +
                                          std::to_string(message.at("max_restarts").get<int>()));
  HandOver hand_over;
  std::string problem;
  GpuClaim gpu;
  try {
    hand_over = read_message(message);
    problem =
        difference_from_rank_0(evidence(recipe_hash ? *recipe_hash : hand_over.resolved().hash(),
                                        hand_over.data, hand_over.checkpoint),
                               message.at("evidence"));
    gpu = claim(hand_over, rendezvous.place(), own);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) problem = here(rendezvous.place()) + problem;
  const auto answered = answer(rendezvous, problem, gpu);
  if (const auto* code = std::get_if<ExitCode>(&answered)) return *code;
  hand_over.device = std::get<std::string>(answered);
  return hand_over;
}

void dismiss(Rendezvous& rendezvous, const Dismissal& dismissal) {
  const RankPlace& place = rendezvous.place();
  say(rendezvous, kKey, to_json(dismissal));
  // Its launcher has started none beside it.
  wait_until_heard(rendezvous, ranks_from(place.ranks_here, rendezvous), place.meeting_timeout);
}

}  // namespace exprun
