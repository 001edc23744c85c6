// The three kinds of failure, and how a mistake in a recipe is shown: texts and
// places in them, diagnostics, exit codes.
// std::logic_error is the third kind: a bug of ours. All are caught in main() only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace exprun {

// A recipe, a parent, or one override ("<override 2>" with the text "optimizer.lr=abc").
struct SourceFile {
  // Diagnostics are shown in this order. Overrides that are stored with a run, or that a command
  // adds or finds out, are not the user's words of now.
  enum class Kind { file, typed_override, other_override };

  std::string name;
  std::string text;
  Kind kind = Kind::file;
};

// Lines and columns count from 1, columns and lengths in code points (a tab is one).
// A span without a file means "no place": a default, or a value from a stored run.
struct SourceSpan {
  std::shared_ptr<const SourceFile> file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 0;

  explicit operator bool() const { return file != nullptr; }
};

// The place of `size` bytes from the byte `begin` on; one code point long at least.
SourceSpan span_of(const std::shared_ptr<const SourceFile>& file, size_t begin, size_t size);

// What the programs tell the shell. Scripts rely on these: do not change the values.
enum class ExitCode : int {
  done = 0,
  failed = 1,
  bad_recipe = 2,  // also wrong usage
  diverged = 3,
  no_such_run = 4,
  store_error = 5,
  failed_trials = 6,       // a sweep ended, with failed trials
  lost_ranks = 74,         // between a rank and its launcher only, which answers 1
  preempted = 75,          // saved, or not begun; run me again (EX_TEMPFAIL)
  interrupted_int = 130,   // saved after SIGINT
  interrupted_term = 143,  // saved after SIGTERM
};

enum class Severity { error, warning };

struct Diagnostic {
  SourceSpan where;
  std::string message;                // "unknown key 'weigth_decay' in [optimizer]"
  std::string help = {};              // shown after the caret: "did you mean 'weight_decay'?"
  std::vector<SourceSpan> also = {};  // the chain of `extends` that led to `where`, nearest first
  Severity severity = Severity::error;
  bool is_lack = false;  // this machine lacks something that another may have: no mistake
};

Diagnostic warning(SourceSpan where, std::string message, std::string help = "");
Diagnostic lack(SourceSpan where, std::string message, std::string help = "");

// Collects; nothing throws on the first problem.
using Diagnostics = std::vector<Diagnostic>;

// "file:line:col: error: message", the source line, a caret line with the help. Ends with '\n'.
std::string render(const Diagnostic& diagnostic);

// By file (the recipe first, its parents, then overrides) and place.
Diagnostics sorted(Diagnostics diagnostics);

// Of a text that is no recipe there is no end: so many are shown, sorted, and how many there are
// more.
inline constexpr size_t kMostDiagnostics = 200;
Diagnostics first_of(Diagnostics diagnostics);

// All of them, sorted.
std::string render(const Diagnostics& diagnostics);

bool has_errors(const Diagnostics& diagnostics);

// Without those that were `told` before: the same message at the same place.
Diagnostics not_told(Diagnostics diagnostics, const Diagnostics& told);

// The user's text is wrong. Exit code 2. what() is the rendered text.
class RecipeError : public std::runtime_error {
 public:
  explicit RecipeError(Diagnostics diagnostics);
  // One mistake at one place.
  RecipeError(SourceSpan where, std::string message, std::string help = "");

  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  Diagnostics diagnostics_;
};

// The same, where the text is right and this machine lacks what it names.
RecipeError as_lack(const RecipeError& error);

// The world is wrong: I/O, SQLite, a device, another rank. The message begins with its
// component ("store: ..."), says what was tried and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitCode code = ExitCode::failed)
      : std::runtime_error(message), code_(code) {}

  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// For scripts and editors, and from one program of ours to the other:
// an array of {severity, message, help, where: {file, line, column, length}, also: [where...]}; a
// place that is none is null.
nlohmann::ordered_json to_json(const Diagnostics& diagnostics);

// Back from that form. Places in one of `files`, by name, can be shown with their line.
Diagnostics diagnostics_from_json(const nlohmann::ordered_json& json,
                                  const std::vector<std::shared_ptr<const SourceFile>>& files);

}  // namespace exprun
