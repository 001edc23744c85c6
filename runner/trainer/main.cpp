// exprun-trainer: trains one run, or says what a recipe would need. The one place that catches.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>

#include "base/diagnostic.h"
#include "base/files/file_lock.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/machine/processor.h"
#include "base/process/emergency_reserve.h"
#include "base/process/program.h"
#include "base/process/signals.h"
#include "base/terminal/console.h"
#include "engine/attempt/attempt.h"
#include "engine/autotune/autotune.h"
#include "engine/describe.h"
#include "engine/device/gpu.h"
#include "engine/device/numeric_environment.h"
#include "engine/device/torch_error.h"
#include "engine/inference/answer_prompts.h"
#include "engine/inference/evaluate_run.h"
#include "engine/weights/export.h"
#include "options.h"

namespace exprun {
namespace {

ExitCode print_version() {
  use_threads(own_cores().count());
  const NumericEnvironment environment = numeric_environment();
  const nlohmann::json json{{"exprun", version()},
                            {"libtorch", environment.libtorch},
                            {"blas", environment.blas},
                            {"onednn", environment.onednn},
                            {"threads", environment.threads},
                            {"instruction_set", environment.instruction_set},
                            {"cuda", cuda_version()}};
  std::cout << json_text(json) << std::endl;
  return ExitCode::done;
}

// A recipe that the components refuse is an answer too: its diagnostics, for who asked.
ExitCode print_description() try {
  const std::string request{std::istreambuf_iterator<char>(std::cin), {}};
  std::cout << json_text(describe(request)) << std::endl;
  return ExitCode::done;
} catch (const RecipeError& error) {
  std::cout << json_text(nlohmann::ordered_json{{"diagnostics", to_json(error.diagnostics())}})
            << std::endl;
  return ExitCode::bad_recipe;
}

ExitCode print_evaluations(const TrainerOptions& options) {
  watch_stop_signals();
  const std::string request{std::istreambuf_iterator<char>(std::cin), {}};
  const LoadedModel loaded(LoadedModel::Purpose::evaluation, parse_json<nlohmann::json>(request),
                           options.run.folder, options.checkpoint);
  std::cout << json_text(evaluate_run(loaded)) << std::endl;
  autotune::save();  // what was measured, for the next time
  return ExitCode::done;
}

ExitCode print_texts(const TrainerOptions& options) {
  watch_stop_signals();
  const auto next_line = []() -> std::optional<nlohmann::json> {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return parse_json<nlohmann::json>(line);
  };
  const auto request = next_line();
  if (!request) throw Error("sample: there is no request");
  const LoadedModel loaded(LoadedModel::Purpose::generation, *request, options.run.folder,
                           options.checkpoint);
  const auto next_prompt = [&]() -> std::optional<std::string> {
    const auto prompt = next_line();
    return prompt ? std::optional(prompt->get<std::string>()) : std::nullopt;
  };
  const Answering answering{request->at("is_interactive"), request->at("shows_progress")};
  answer_prompts(loaded, answering, next_prompt,
                 [](const nlohmann::json& said) { std::cout << json_text(said) << std::endl; });
  autotune::save();  // what was measured, for the next time
  return ExitCode::done;
}

ExitCode write_exported_weights(const TrainerOptions& options) {
  const std::string request{std::istreambuf_iterator<char>(std::cin), {}};
  std::cout << json_text(export_weights(options.run.folder, *options.checkpoint, request))
            << std::endl;
  return ExitCode::done;
}

// Children must not keep it.
std::optional<FileLock> adopt_lock(std::optional<int> fd) {
  if (!fd) return std::nullopt;
  ::fcntl(*fd, F_SETFD, FD_CLOEXEC);
  return FileLock::adopt(*fd);
}

// As long as this process lives: whoever has it next finds the end recorded.
std::optional<FileLock> lock_of_run;

ExitCode train(const TrainerOptions& options) {
  watch_stop_signals();
  lock_of_run = adopt_lock(options.lock_fd);
  return run_attempt(options.run, options.checkpoint, options.checkpoint_recipe, options.place,
                     adopt_lock(options.weights_fd));
}

ExitCode follow(const TrainerOptions& options) {
  end_when_preempted();
  return follow_attempt(options.place, options.recipe_hash, adopt_lock(options.weights_fd));
}

// An external launcher shows it to people and scripts, as exprun would show its own.
ExitCode for_launcher(const TrainerOptions& options, ExitCode code) {
  return options.place.external_launcher && code == ExitCode::lost_ranks ? ExitCode::failed : code;
}

ExitCode perform(const TrainerOptions& options) {
  switch (options.task) {
    case TrainerOptions::Task::describe:
      return print_description();
    case TrainerOptions::Task::evaluate:
      return print_evaluations(options);
    case TrainerOptions::Task::sample:
      return print_texts(options);
    case TrainerOptions::Task::export_weights:
      return write_exported_weights(options);
    case TrainerOptions::Task::follow:
      return follow(options);
    case TrainerOptions::Task::shut_down_others:
      shut_down_others(options.place, options.shutdown_notice);
      return options.shutdown_notice.code;
    case TrainerOptions::Task::version:
      return print_version();
    case TrainerOptions::Task::help:
      std::cout << kTrainerUsage << std::endl;
      return ExitCode::done;
    default:
      return train(options);
  }
}

const pid_t launcher = ::getppid();

// For the run's row: why it failed, which the launcher reads, and all else where that was killed.
// The store may be what failed.
void record(const TrainerOptions& options, ExitCode code, const std::string& message) {
  if (options.task != TrainerOptions::Task::train || options.run.store.empty()) return;
  try {
    if (::getppid() != launcher)
      record_end(options.run, code, message);
    else if (!message.empty())
      record_failure(options.run, message);
  } catch (const std::exception& error) {
    log(LogLevel::error, error.what());
  }
}

// By who asked something, in whose hands the message is.
bool is_asked(const TrainerOptions& options) {
  return options.task == TrainerOptions::Task::describe ||
         options.task == TrainerOptions::Task::version;
}

ExitCode fail(const TrainerOptions& options, ExitCode code, const std::string& message) {
  if (is_asked(options)) {
    std::cout << json_text(nlohmann::json{{"error", message}}) << std::endl;
    return code;
  }
  log(LogLevel::error, message);
  write_error_file(message);
  record(options, code, message);
  return code;
}

// Only from within a handler.
ExitCode explain(const TrainerOptions& options) {
  try {
    throw;
  } catch (const RecipeError& error) {
    show_diagnostics(error.diagnostics());
    write_error_file(error.what());
    record(options, ExitCode::bad_recipe, error.what());
    return ExitCode::bad_recipe;
  } catch (const Error& error) {
    return fail(options, error.code(), error.what());
  } catch (const std::exception& error) {
    return fail(options, ExitCode::failed, explain_failure(error));
  }
}

}  // namespace

}  // namespace exprun

// A thread may have been left behind in a library's call that hangs: what static destructors take
// away it would miss, and die by a signal.
[[noreturn]] static void end(exprun::ExitCode code) {
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}

int main(int argc, char** argv) {
  using namespace exprun;
  std::signal(SIGPIPE, SIG_IGN);  // Gloo writes to ranks that may be gone: an error, no end
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes (ulimit -f) is an error of its write
  EmergencyReserve reserve(size_t{256} << 20);
  TrainerOptions options;
  try {
    options = parse_trainer_options(argc, argv);
    set_log_level(options.log_level);
    set_library_log(options.log_level);
    const ExitCode code = perform(options);
    record(options, code, "");
    end(for_launcher(options, code));
  } catch (...) {
    reserve.release();
    end(for_launcher(options, explain(options)));
  }
}
