#include "control/report/run_comments.h"

#include "base/humane.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

// A value of several lines goes on below itself.
std::string comment_line(const std::string& name, std::string text) {
  if (text.empty()) return "";
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 15)
    text.replace(at, 1, "\n#             ");
  return "# " + name + std::string(12 - name.size(), ' ') + text + '\n';
}

std::string text_at(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string code(const RunRow& run) {
  std::string text = run.version.empty() ? "" : "exprun " + run.version;
  if (run.git_commit) text += ", git " + *run.git_commit;
  if (run.git_dirty.value_or(false)) text += " with changes (--git-diff prints them)";
  return text;
}

std::string machine(const RunRow& run, const ordered_json& environment) {
  if (environment.empty()) return run.host;
  return run.host + ", " + text_at(environment, "cpu") + ", " + text_at(environment, "cpus") +
         " CPUs, " + binary_bytes(environment.value("memory_bytes", 0.0)) + ", " +
         text_at(environment, "system");
}

std::string gpus(const ordered_json& environment) {
  std::string text;
  for (const auto& gpu : environment.value("gpus", ordered_json::array()))
    text += (text.empty() ? "" : "\n") + text_at(gpu, "name") + ' ' + text_at(gpu, "uuid") +
            (gpu.value("hidden", false) ? ", hidden from the run" : "");
  const std::string driver = text_at(environment, "driver");
  return driver.empty() ? text : text + "\ndriver " + driver;
}

// The whole configuration is for scripts.
std::string pairs(const ordered_json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    if (name == "config") continue;
    text += (text.empty() ? "" : ", ") + name + ' ' + text_at(object, name.c_str());
  }
  return text;
}

std::string standing(const RunRow& run) {
  std::string text = std::string(to_string(run.state)) + " at step " +
                     std::to_string(run.last_step) + " of " + std::to_string(run.steps);
  if (run.exit_code) text += ", exit code " + std::to_string(*run.exit_code);
  return text;
}

std::string times(const RunRow& run) {
  return utc_time(run.started_ms) + ", " + duration(run.seconds) + " in " +
         std::to_string(run.attempt) + (run.attempt == 1 ? " attempt" : " attempts");
}

std::string notes(const std::vector<NoteRow>& rows) {
  std::string text;
  for (const NoteRow& note : rows)
    text += (text.empty() ? "" : "\n") + utc_time(note.time_ms) + ": " + note.text;
  return text;
}

}  // namespace

std::string details_as_comments(const RunDetails& details) {
  const RunRow& run = details.run;
  return comment_line("run",
                      run.folder + " (id " + std::to_string(run.id) + ", uid " + run.uid + ")") +
         comment_line("state", standing(run)) + comment_line("because", run.message) +
         comment_line("began", times(run)) + comment_line("command", run.command_line) +
         comment_line("in", run.working_directory) + comment_line("folder", details.folder) +
         comment_line("code", code(run)) +
         comment_line("machine", machine(run, details.environment)) +
         comment_line("gpus", gpus(details.environment)) +
         comment_line("libraries", pairs(details.libraries)) +
         comment_line("variables",
                      pairs(details.environment.value("environment", ordered_json::object()))) +
         comment_line("data", run.data_fingerprint) + comment_line("recipe", run.recipe_hash) +
         comment_line("tags", run.tags) + comment_line("notes", notes(details.notes));
}

}  // namespace exprun
