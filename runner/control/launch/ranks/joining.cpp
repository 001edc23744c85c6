#include "control/launch/ranks/joining.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "base/diagnostic.h"
#include "base/error_file.h"
#include "base/listening_socket.h"
#include "base/machine/host_addresses.h"
#include "base/signals.h"
#include "control/launch/explain.h"
#include "control/launch/ranks/farewell.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/run_device.h"

namespace exprun {
namespace {

using Perform = std::function<Performed(const std::optional<JoinedRank>&)>;

// Before all else: a mistake in it shows itself at once, on every rank, and the others see that
// rank 0 will come.
JoinedRank with_meeting_point(JoinedRank joined) {
  if (joined.store_is_served) return joined;
  try {
    addresses_of(joined.address);
    if (joined.rank == 0)
      joined.meeting_point =
          std::make_shared<ListeningSocket>(listen_on_all_interfaces(joined.port));
    return joined;
  } catch (const Error& error) {
    write_error_file(error.what());
    throw;
  }
}

int perform_as_rank_0(const JoinedRank& joined, const Perform& perform) {
  dismiss_others_when_stopped(joined);
  try {
    const Performed performed = perform(joined);
    leave_signals_to_trainer();
    if (!performed.trained) dismiss_others(joined, performed.exit_code, performed.why);
    if (performed.others_wait) dismiss_restarted(joined, performed.exit_code, performed.why);
    return performed.exit_code;
  } catch (const std::exception& error) {
    leave_signals_to_trainer();
    write_error_file(error.what());
    const int code = explain(error);
    dismiss_others(joined, code, error.what());
    return code;
  }
}

}  // namespace

Performed performed(const Launch& launched) {
  return {*launched.exit_code, true, launched.others_wait, launched.run.message};
}

std::optional<JoinedRank> joined_here() {
  return joined_rank([](const char* name) { return std::getenv(name); });
}

void require_no_other_launcher(const std::string& command) {
  if (const auto joined = joined_here())
    throw Error(command + ": another launcher has started this command " +
                    std::to_string(joined->world_size) +
                    " times, once a rank; start it once, without torchrun or mpirun or with srun "
                    "-n1, and let parallelism.world_size say how many ranks each run has",
                ExitCode::bad_recipe);
}

int perform_among_ranks(LogLevel level,
                        const std::function<Performed(const std::optional<JoinedRank>&)>& perform) {
  return perform_among_ranks(level, joined_here(), perform);
}

int perform_among_ranks(LogLevel level, const std::optional<JoinedRank>& joined,
                        const std::function<Performed(const std::optional<JoinedRank>&)>& perform) {
  return perform_among_ranks(
      level, joined, [](const auto&) { return OwnHash(); }, perform);
}

int perform_among_ranks(LogLevel level, const std::optional<JoinedRank>& joined,
                        const OwnRecipeReader& own_recipe,
                        const std::function<Performed(const std::optional<JoinedRank>&)>& perform) {
  end_when_preempted();
  if (!joined) return perform(joined).exit_code;
  const JoinedRank met = with_meeting_point(*joined);
  if (met.rank > 0 && met.restarts_here) return follow_with_all(met, own_recipe(met), level);
  if (met.rank > 0) follow(met, own_recipe(met), level);
  return perform_as_rank_0(met, perform);
}

RecipeText with_world_size_of(const std::optional<JoinedRank>& joined, RecipeText text) {
  return joined ? with_world_size(std::move(text), joined->world_size)
                : with_a_rank_a_gpu(std::move(text), gpu_offer());
}

void await_former_life(bool restarted, const std::function<bool()>& run_is_free) {
  constexpr std::chrono::seconds kPatience{40};
  const auto late = std::chrono::steady_clock::now() + kPatience;
  while (!run_is_free() && restarted && std::chrono::steady_clock::now() < late)
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

}  // namespace exprun
