"""Interactive shells in a terminal of their own, in which exprun's completion is loaded."""
import contextlib
import os
import pathlib
import pty
import select
import signal
import time

# Each writes the line as it stands into the file `line`, when Ctrl-X Ctrl-P is typed.
SET_UP = {
    "bash": ("bashrc", """\
PS1='$ '
source <(exprun completion bash)
show() { printf '%s' "$READLINE_LINE" > line.new; mv line.new line; }
bind -x '"\\C-x\\C-p": show'
bind 'set bell-style none'
"""),
    "zsh": (".zshrc", """\
PS1='$ '
autoload -U compinit
compinit -u -D
source <(exprun completion zsh)
show() { print -rn -- "$BUFFER" > line.new; mv line.new line }
zle -N show
bindkey -e '^X^P' show
"""),
    "fish": ("setup.fish", """\
exprun completion fish | source
function show; commandline > line.new; mv line.new line; end
bind \\cx\\cp show
"""),
}
START = {"bash": ["bash", "--noprofile", "--rcfile", "bashrc", "-i"], "zsh": ["zsh", "-i"],
         "fish": ["fish", "--no-config", "-i", "-C", "source setup.fish"]}
TIMEOUT = 300


def has_terminals():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:  # a chroot without /dev/pts
        return False
    return True


class Shell:
    """Close it, or use it in a `with`."""

    def __init__(self, name, folder, programs):
        self.folder = pathlib.Path(folder)
        file, text = SET_UP[name]
        (self.folder / file).write_text(text)
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder), "ZDOTDIR": str(folder), "TERM": "xterm",
                       "XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_DATA_HOME": str(self.folder / "data_home"),
                       "LC_ALL": "C.UTF-8"}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(name, START[name], environment)

    def completed(self, typed):
        """The line after a TAB that follows what was typed."""
        line = self.folder / "line"
        line.unlink(missing_ok=True)
        os.write(self.terminal, f"{typed}\t".encode() + b"\x18\x10")
        late = time.monotonic() + TIMEOUT
        while not line.exists():
            self.read_away()
            if time.monotonic() > late:
                raise TimeoutError(f"the shell did not answer to {typed!r}")
        os.write(self.terminal, b"\x05\x15")  # to the end, and all of it away
        return line.read_text().removesuffix("\n")

    def read_away(self):
        """What a shell shows must be read, or it waits."""
        if select.select([self.terminal], [], [], 0.01)[0]:
            with contextlib.suppress(OSError):
                os.read(self.terminal, 65536)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)
