#include "control/sweep/run/trial_process.h"

#include <signal.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/process/program.h"
#include "base/strings.h"
#include "control/launch/launch.h"
#include "control/launch/process/trainer_end.h"

namespace exprun {
namespace {

using nlohmann::json;

std::string to_json(const TrialRequest& request) {
  return json_text(json{{"recipe", request.text.to_json()},
                        {"sweep", request.sweep},
                        {"trial", request.trial},
                        {"command_line", request.command_line},
                        {"instead_of", request.instead_of.value_or(0)},
                        {"continues_pruned", request.continues_pruned},
                        {"level", static_cast<int>(request.level)}},
                   -1, NotUtf8::replaced);
}

TrialRequest request_from(const json& object) {
  TrialRequest request;
  request.text = RecipeText::from_json(object.at("recipe").get<std::string>());
  request.sweep = object.at("sweep");
  request.trial = object.at("trial");
  request.command_line = object.at("command_line");
  if (const int64_t run = object.at("instead_of")) request.instead_of = run;
  request.continues_pruned = object.at("continues_pruned");
  request.level = static_cast<LogLevel>(object.at("level").get<int>());
  return request;
}

// As the user wrote it, if that means the same from here.
std::string store_word(const StoreFolder& folder) {
  std::error_code error;
  const bool is_same = std::filesystem::equivalent(folder.shown, folder.path, error) && !error;
  return (is_same ? folder.shown : folder.path).string();
}

ChildCommand command_of(const TrialRequest& request, const Slot& slot, const StoreFolder& folder,
                        int output) {
  ChildCommand command;
  command.words = {own_program().string(), "sweep", kRunTrial, "--store", store_word(folder)};
  if (request.level == LogLevel::debug) command.words.push_back("-v");
  command.input = to_json(request);
  if (request.level != LogLevel::debug) command.output = output;
  command.cpus = slot.cpus;
  if (!slot.gpus.empty()) command.overriding = {{"CUDA_VISIBLE_DEVICES", joined(slot.gpus, ",")}};
  return command;
}

}  // namespace

TrialProcess::TrialProcess(const TrialRequest& request, const Slot& slot, const StoreFolder& folder,
                           const ForwardedSignals& signals)
    : output_(::memfd_create("trial", MFD_CLOEXEC)) {
  if (!output_)
    throw Error(std::string("sweep: cannot make a file in memory: ") + std::strerror(errno));
  pid_ = start_child(command_of(request, slot, folder, output_.get()), signals);
}

bool TrialProcess::has_ended() {
  if (!end_) end_ = take_end(pid_);
  return end_.has_value();
}

void TrialProcess::send(int signal) const {
  if (!end_) ::kill(pid_, signal);
}

std::vector<std::string> TrialProcess::last_output(size_t count) const {
  return last_lines("/proc/self/fd/" + std::to_string(output_.get()), count);
}

int run_trial(Store& store, const StoreFolder& folder) {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const TrialRequest asked = request_from(parse_json<json>(text));
  const bool to_file = asked.level != LogLevel::debug;
  const LaunchRequest request{
      asked.text,  resolve(asked.text), asked.command_line,     LogLevel::info, asked.sweep,
      asked.trial, asked.instead_of,    asked.continues_pruned, to_file};
  return launch(store, folder, request, false).exit_code.value_or(0);
}

}  // namespace exprun
