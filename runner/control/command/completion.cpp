// exprun completion bash|zsh|fish
#include "base/diagnostic.h"
#include "control/command/arguments.h"
#include "control/command/candidates.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

struct Shell {
  const char* name;
  const char* script;
};

// bash breaks words at '=': what stands before it is on the line already.
constexpr const char* kBash = R"(_exprun() {
  local line=${COMP_LINE:0:COMP_POINT} typed current candidate
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  typed=${words[-1]}
  current=${COMP_WORDS[COMP_CWORD]}
  [[ $current == "=" ]] && current=
  COMPREPLY=()
  while IFS= read -r candidate; do
    [[ $candidate == "$typed"* ]] && COMPREPLY+=("${candidate#"${typed%"$current"}"}")
  done < <("${words[0]}" completion candidates -- "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o bashdefault -o default -F _exprun exprun
)";

constexpr const char* kZsh = R"(#compdef exprun
_exprun() {
  local -a all open
  all=("${(@f)$("${words[1]}" completion candidates -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  open=("${(@M)all:#*[=/]}")
  compadd -Q -S '' -a open
  all=("${(@)all:#*[=/]}")
  compadd -Q -a all
}
(( $+functions[compdef] )) && compdef _exprun exprun
)";

constexpr const char* kFish = R"(function __exprun_candidates
  set -l words (commandline -opc) (commandline -ct)
  $words[1] completion candidates -- $words[2..-1] 2>/dev/null
end
complete -c exprun -f -a '(__exprun_candidates)'
)";

constexpr Shell kShells[] = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};

constexpr const char* kCandidates = "candidates";

const char* script_of(const std::string& name) {
  for (const Shell& shell : kShells)
    if (name == shell.name) return shell.script;
  throw Error("completion: there are scripts for bash, zsh and fish, not for '" + name + "'",
              ExitCode::bad_recipe);
}

int print_candidates(const Words& words) {
  std::string text;
  for (const std::string& candidate : candidates({words.begin() + 2, words.end()}))
    text += candidate + '\n';
  print(text);
  return 0;
}

}  // namespace

int run_completion(const Words& words, const Globals&) {
  if (words.size() >= 2 && words[0] == kCandidates && words[1] == "--")
    return print_candidates(words);
  std::string shell;
  Arguments arguments("completion bash|zsh|fish",
                      "Prints what completes commands, recipes, runs, keys and their values in a "
                      "shell.");
  arguments.word("bash|zsh|fish", shell, "the shell")
      .form("", "in ~/.bashrc: source <(exprun completion bash)")
      .form("", "in ~/.zshrc: source <(exprun completion zsh)")
      .form("", "in ~/.config/fish/config.fish: exprun completion fish | source")
      .exit_codes({ExitCode::done, ExitCode::bad_recipe})
      .example("exprun completion bash", "the script, to look at");
  if (!arguments.parse(words)) return 0;
  print(script_of(shell));
  return 0;
}

}  // namespace exprun
