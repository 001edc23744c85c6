// The three kinds of failure (design: errors) and how a mistake in a recipe is shown.
// std::logic_error is the third kind: a bug of ours. All are caught in main() only.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "base/source_file.h"

namespace exprun {

enum class Severity { error, warning };

struct Diagnostic {
  SourceSpan where;
  std::string message;                // "unknown key 'weigth_decay' in [optimizer]"
  std::string help = {};              // shown behind the caret: "did you mean 'weight_decay'?"
  std::vector<SourceSpan> also = {};  // the chain of `extends` that led to `where`, nearest first
  Severity severity = Severity::error;
  bool tolerable = false;  // nothing that could not be trained with: a run begun with it may go on
};

// The same as an error of this kind.
Diagnostic tolerable(Diagnostic diagnostic);

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

}  // namespace exprun
