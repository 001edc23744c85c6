// exprun completion bash|zsh|fish
#include "base/diagnostic.h"
#include "control/command/line/arguments.h"
#include "control/command/line/offer.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

struct Shell {
  const char* name;
  const char* script;
};

// Words are handed to exprun without their quotes, and come back whole. Where exprun has nothing to
// offer, files are: a path that begins with '~', what a command takes as it is.

// Readline replaces what stands after the last of its breaks ('=', ':', but '@' too) or an open
// quote.
constexpr const char* kBash =
    R"(_exprun_words() {  # words, kept: of the last one what stays; quote: which is open
  local line=${COMP_LINE:0:COMP_POINT} char i word= begun=
  words=() kept= quote=
  for ((i = 0; i < ${#line}; i++)); do
    char=${line:i:1}
    if [[ -n $quote && $char == "$quote" ]]; then
      quote=
    elif [[ $char == '\' && $quote != "'" ]]; then
      word+=${line:(++i):1} begun=1
    elif [[ -z $quote && $char == [\"\'] ]]; then
      quote=$char kept=$word begun=1
    elif [[ -z $quote && $char == [[:space:]] ]]; then
      [[ -n $begun ]] && words+=("$word")
      word= kept= begun=
    else
      word+=$char begun=1
      [[ -z $quote && $COMP_WORDBREAKS == *"$char"* ]] && kept=${word%@}
    fi
  done
  words+=("$word")
}
_exprun() {
  local -a words
  local kept quote candidate rest
  _exprun_words
  COMPREPLY=()
  while IFS= read -r candidate; do
    [[ $candidate == "${words[-1]}"* ]] || continue
    rest=${candidate#"$kept"}
    if [[ -z $quote ]]; then
      printf -v rest %q "$rest"
      COMPREPLY+=("${rest//\\,/,}")
    else  # Readline itself quotes files, and closes the quote behind what is no folder.
      COMPREPLY+=("${rest%/}")
      compopt -o filenames 2>/dev/null
    fi
  done < <("${words[0]}" completion candidates -- "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o bashdefault -o default -F _exprun exprun
)";

// A word that begins with '~' is a home folder to zsh, whatever the command: that is asked for
// where exprun has nothing to offer.
constexpr const char* kZsh = R"(#compdef exprun
_exprun_offered() {
  local -a all open
  all=("${(@f)$("${(Q)words[1]}" completion candidates -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  [[ -n "$all" ]] || return
  open=("${(@M)all:#*[=/]}")
  compadd -S '' -a open
  all=("${(@)all:#*[=/]}")
  compadd -a all
  return 0
}
_exprun() {
  _exprun_offered || _files
}
_exprun_after_tilde() {
  local PREFIX="~$PREFIX" IPREFIX=${IPREFIX%\~}
  _exprun_offered
  (( compstate[nmatches] ))
}
_exprun_tilde() {
  [[ ${${(Q)words[1]}:t} == exprun ]] && _exprun_after_tilde || $_exprun_home
}
if (( $+functions[compdef] )); then
  compdef _exprun exprun
  [[ $_comps[-tilde-] == _exprun_tilde ]] || _exprun_home=$_comps[-tilde-]
  compdef _exprun_tilde -tilde-
fi
)";

constexpr const char* kFish = R"(function __exprun_candidates
  set -l words (commandline -opc)
  set -l last (commandline -ct)
  set -l plain (string unescape -- "$last"; or echo "$last")
  $words[1] completion candidates -- $words[2..-1] "$plain" 2>/dev/null
end
complete -c exprun -n 'count (__exprun_candidates) >/dev/null' -f -a '(__exprun_candidates)'
)";

constexpr Shell kShells[] = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};

constexpr const char* kAsked = "candidates";

const char* script_of(const std::string& name) {
  for (const Shell& shell : kShells)
    if (name == shell.name) return shell.script;
  throw Error("completion: there are scripts for bash, zsh and fish, not for '" + name + "'",
              ExitCode::bad_recipe);
}

}  // namespace

int run_completion(const Words& words, const Globals&) {
  if (words.size() >= 2 && words[0] == kAsked && words[1] == "--") {
    complete({words.begin() + 2, words.end()});
    return 0;
  }
  std::string shell;
  Arguments arguments(
      "completion bash|zsh|fish",
      "Prints a script that completes commands, recipes, runs, keys and values in a shell.");
  arguments
      .word("bash|zsh|fish", shell, "the shell; to load the script in every session, write",
            offer::one_of({"bash", "zsh", "fish"}))
      .form("", "in ~/.bashrc: source <(exprun completion bash)")
      .form("", "in ~/.zshrc: source <(exprun completion zsh)")
      .form("", "in config.fish: exprun completion fish | source")
      .exit_codes({ExitCode::done, ExitCode::bad_recipe})
      .example("exprun completion bash", "print the script");
  if (!arguments.parse(words)) return 0;
  print(script_of(shell));
  return 0;
}

}  // namespace exprun
