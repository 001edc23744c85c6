#include "control/launch/trainer_program.h"

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/process/program.h"
#include "control/launch/plan_cache.h"
#include "control/launch/process/child_process.h"
#include "control/launch/process/piped_child.h"
#include "control/launch/run_device.h"
#include "recipe/quantities.h"
#include "recipe/resolved.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

// Null if it is none. Throws Error with what the trainer says of its own failure.
ordered_json answer_of(const Captured& captured) {
  ordered_json answer = parse_json_or_discard<ordered_json>(captured.output);
  if (!answer.is_object()) return nullptr;
  if (answer.contains("error")) throw Error(answer["error"].get<std::string>());
  return answer;
}

ordered_json parse(const Captured& captured, const std::string& what) {
  ordered_json answer = answer_of(captured);
  if (captured.status == 0 && !answer.is_null()) return answer;
  throw Error("launch: exprun-trainer " + what + " failed (exit code " +
              std::to_string(captured.status) + "); rebuild it with tools/exprun");
}

Diagnostics refusals(const Captured& captured, const RecipeText& text) {
  const ordered_json answer = answer_of(captured);
  if (answer.contains("diagnostics"))
    return diagnostics_from_json(answer["diagnostics"], text.sources());
  throw Error("launch: exprun-trainer --describe refused the recipe and did not say why");
}

ordered_json question(const RecipeText& text, const ResolvedRecipe& recipe,
                      const DatasetInfo& dataset_info) {
  ordered_json known = ordered_json::object();
  if (dataset_info.vocab_size) known["vocab_size"] = *dataset_info.vocab_size;
  if (dataset_info.train_tokens) known["train_tokens"] = *dataset_info.train_tokens;
  if (dataset_info.validation_tokens) known["validation_tokens"] = *dataset_info.validation_tokens;
  const Table& root = recipe.root();
  const auto length = sequence_length(root);
  if (dataset_info.train_sequences && length)
    known["train_sequences"] = dataset_info.train_sequences(*length, truncates_examples(root));
  return ordered_json{{"recipe", parse_json<ordered_json>(text.to_json())}, {"facts", known}};
}

ordered_json question(const RecipeText& text, const DatasetInfo& dataset_info) {
  return question(text, try_resolve(text, dataset_info).recipe, dataset_info);
}

std::filesystem::path file_of(TrainerKind kind) {
  const auto self = own_program();
  if (self.empty()) throw Error("launch: /proc/self/exe cannot be read: is /proc mounted?");
  return self.parent_path() /
         (kind == TrainerKind::cuda ? "exprun-trainer-cuda" : "exprun-trainer");
}

}  // namespace

std::filesystem::path trainer_program(TrainerKind kind) {
  const auto program = file_of(kind);
  std::error_code error;
  if (std::filesystem::exists(program, error)) return program;
  throw Error("launch: " + program.string() + " is missing: tools/exprun builds it, beside exprun");
}

bool has_cuda_trainer() {
  std::error_code error;
  return std::filesystem::exists(file_of(TrainerKind::cuda), error);
}

const char* needed_cuda() {
  return EXPRUN_CUDA_VERSION;
}

std::filesystem::path able_trainer_program() {
  return trainer_program(gpu_offer().is_usable() ? TrainerKind::cuda : TrainerKind::cpu);
}

EnvironmentVariables trainer_environment() {
  EnvironmentVariables environment{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  // Threads that wait for the next kernel spin for some 0.2 ms: a step has hundreds of kernels, and
  // to wake a thread takes longer than most pauses between them.
  if (!std::getenv("OMP_WAIT_POLICY") && !std::getenv("GOMP_SPINCOUNT"))
    environment.emplace_back("GOMP_SPINCOUNT", "5000");
  return environment;
}

namespace {

// A trainer that answers on its standard output.
Captured asked_trainer(const std::vector<std::string>& words, const std::string& input) {
  return capture(words, input, {.environment = trainer_environment()});
}

}  // namespace

ordered_json trainer_version() {
  return parse(asked_trainer({trainer_program().string(), "--version"}, ""), "--version");
}

Description describe(const RecipeText& text, const DatasetInfo& dataset_info, bool is_kept) {
  const std::filesystem::path program = trainer_program();
  const ResolvedRecipe recipe = try_resolve(text, dataset_info).recipe;
  ordered_json asked_of_device = question(text, recipe, dataset_info);
  asked_of_device["device"] = trains_on_cpu(recipe, gpu_offer()) ? "cpu" : "cuda";
  const std::string asked = json_text(asked_of_device);
  const PlanCache cache(program, asked);
  if (const auto known = is_kept ? cache.find() : std::nullopt)
    return {parse_json<ordered_json>(*known), {}};
  const Captured captured = asked_trainer({program.string(), "--describe"}, asked);
  if (captured.status == static_cast<int>(ExitCode::bad_recipe))
    return {nullptr, refusals(captured, text)};
  ordered_json plan = parse(captured, "--describe");
  if (is_kept) cache.keep(json_text(plan));
  return {std::move(plan), {}};
}

namespace {

ordered_json ask(const RecipeText& text, const ordered_json& asked) {
  const Captured captured =
      asked_trainer({trainer_program().string(), "--describe"}, json_text(asked));
  if (captured.status == static_cast<int>(ExitCode::bad_recipe))
    throw RecipeError(refusals(captured, text));
  return parse(captured, "--describe");
}

}  // namespace

ordered_json describe_schedule(const RecipeText& text, const DatasetInfo& dataset_info) {
  ordered_json asked = question(text, dataset_info);
  asked["only"] = "schedule";
  return ask(text, asked);
}

ordered_json compare_rates(const RecipeText& now, const RecipeText& before, int64_t steps,
                           const DatasetInfo& dataset_info) {
  ordered_json asked = question(now, dataset_info);
  asked.update({{"only", "rates"},
                {"before", parse_json<ordered_json>(before.to_json())},
                {"steps", steps}});
  return ask(now, asked);
}

Diagnostics problems_of_weights(const RecipeText& text, const DatasetInfo& dataset_info) {
  ordered_json asked = question(text, dataset_info);
  asked["only"] = "weights";
  try {
    ask(text, asked);
    return {};
  } catch (const RecipeError& error) {
    return error.diagnostics();
  }
}

ordered_json compare_with_checkpoint(const RecipeText& text,
                                     const std::filesystem::path& checkpoint,
                                     const DatasetInfo& dataset_info) {
  ordered_json asked = question(text, dataset_info);
  asked.update({{"only", "checkpoint"}, {"folder", checkpoint.string()}});
  return ask(text, asked);
}

namespace {

std::vector<std::string> words_for(const char* task, const EvaluatedWeights& weights) {
  std::vector<std::string> words = {able_trainer_program().string(), task};
  if (!weights.run_folder.empty())
    words.insert(words.end(), {"--run-folder", weights.run_folder.string(), "--resume-from",
                               weights.checkpoint.string()});
  return words;
}

ordered_json request(const EvaluatedWeights& weights) {
  return {
      {"recipe", parse_json<ordered_json>(weights.text.to_json())},
      {"tokenizer", ordered_json(weights.tokenizer)},
      {"data", weights.data ? parse_json<ordered_json>(weights.data->to_json()) : ordered_json()}};
}

// Throws Error for a trainer that could not say why it ended.
void require_own_end(const std::string& what, int status) {
  if (status >= 128)
    throw Error(what + ": exprun-trainer was ended by signal " + std::to_string(status - 128));
}

TrainerAnswer answer_to(const std::string& what, const Captured& captured) {
  require_own_end(what, captured.status);
  if (captured.status != 0) return {captured.status};
  ordered_json results = parse_json_or_discard<ordered_json>(captured.output);
  if (!results.is_object()) throw Error(what + ": exprun-trainer has printed no results");
  return {0, std::move(results)};
}

}  // namespace

TrainerAnswer evaluate(const EvaluatedWeights& weights) {
  return answer_to("evaluate",
                   asked_trainer(words_for("--evaluate", weights), json_text(request(weights))));
}

namespace {

volatile std::sig_atomic_t a_text_is_written = 0;

// Ctrl-C reaches the trainer too, which ends the text; between texts it ends this process.
void on_interrupt(int signal) {
  if (a_text_is_written) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int sample(const EvaluatedWeights& weights, const SampleTerminal& terminal) {
  if (terminal.is_interactive) std::signal(SIGINT, on_interrupt);
  PipedChild trainer(words_for("--sample", weights), trainer_environment());
  ordered_json asked = request(weights);
  asked["is_interactive"] = terminal.is_interactive;
  asked["shows_progress"] = terminal.shows_progress;
  trainer.write_line(json_text(asked));
  // Until all texts of a prompt are there. False if the trainer is gone.
  const auto answered = [&] {
    while (const auto line = trainer.read_line()) {
      const auto said = parse_json<ordered_json>(*line);
      if (said.contains("text")) terminal.piece(said["text"].get<std::string>());
      if (said.contains("end")) terminal.text_ended(said["end"].get<std::string>());
      if (said.contains("problem")) terminal.problem(said["problem"].get<std::string>());
      if (said.contains("answered")) return true;
    }
    return false;
  };
  // It first says that it is ready: what it refuses is said before anybody is asked for a prompt.
  bool goes_on = answered();
  while (goes_on) {
    const auto prompt = terminal.next_prompt();
    if (!prompt) break;
    trainer.write_line(json_text(nlohmann::json(*prompt)));
    a_text_is_written = 1;
    goes_on = answered();
    a_text_is_written = 0;
  }
  const int status = trainer.finish();
  require_own_end("sample", status);
  return status;
}

TrainerAnswer export_weights(const StoreFolder& folder, const RunRow& run, const RecipeText& text,
                             const WeightExport& wanted) {
  const ordered_json type =
      wanted.model_type.empty() ? ordered_json() : ordered_json(wanted.model_type);
  const ordered_json asked{{"recipe", parse_json<ordered_json>(text.to_json())},
                           {"folder", wanted.folder.string()},
                           {"dtype", wanted.dtype},
                           {"model_type", type},
                           {"adapter", wanted.adapter_only}};
  const std::vector<std::string> words = {
      trainer_program().string(),           "--export-weights", "--run-folder",
      folder.run(run.folder).path.string(), "--resume-from",    wanted.checkpoint.string()};
  return answer_to("export", asked_trainer(words, json_text(asked)));
}

}  // namespace exprun
