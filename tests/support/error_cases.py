"""The cases of tests/errors, for the Python programs that run or read them; tests/errors/README.md has their form."""
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "errors"
ONE_LINE = {"facts": "facts.json", "machine": "machine.json", "exit code": "exit_code"}
BLOCKS = {"commands": "commands", "expected": "expected.txt"}
ESCAPE = re.compile(rb"\\(?:x([0-9a-f]{2})|(.))")
ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}


def unescaped(lines):
    return ESCAPE.sub(lambda m: bytes.fromhex(m[1].decode()) if m[1] else ESCAPED[m[2]], b"".join(lines))


def changed(recipe, change):
    """The recipe with one change: lines to find begin with '-' or ' ', lines to put there with '+' or ' '."""
    old = b"".join(line[1:] + b"\n" for line in change if line[:1] in b"- ")
    new = b"".join(line[1:] + b"\n" for line in change if line[:1] in b"+ ")
    if not old:
        return recipe + new
    at = (b"\n" + recipe).count(b"\n" + old)
    assert at == 1, f"{old} stands {at} times in the recipe"
    return (b"\n" + recipe).replace(b"\n" + old, b"\n" + new, 1)[1:]


def sections(lines):
    """The (key, text after it, indented lines) of a case."""
    found = []
    for line in lines:
        if line.startswith(b"    "):
            found[-1][2].append(line[4:])
        elif line:
            key, _, value = line.partition(b":")
            found.append((key.decode(), value.strip(), []))
        elif found:
            found[-1][2].append(b"")
    for *_, block in found:
        while block and not block[-1]:
            block.pop()
    return found


def files_of(base, lines):
    """{path: content} of a case's folder."""
    files, recipe = {}, (FOLDER / f"recipes/{base}.toml").read_bytes() if base != "none" else None
    for key, value, block in sections(lines):
        whole = b"".join(line + b"\n" for line in block)
        name, _, escaped = key.partition(" escaped")
        if key == "change":
            recipe = changed(recipe, block)
        elif key == "override":
            files["overrides"] = files.get("overrides", b"") + value + b"\n"
        elif key in ONE_LINE:
            files[ONE_LINE[key]] = value + b"\n"
        else:
            path = BLOCKS.get(name) or name.removeprefix("file ")
            files[path] = unescaped(block) if key.endswith(" escaped") else whole
    return files if recipe is None else {"recipe.toml": recipe} | files


def cases():
    """{name: {path: content}} of all cases."""
    found = {}
    for table in sorted(FOLDER.glob("*.txt")):
        for part in re.split(rb"^== ", table.read_bytes(), flags=re.M)[1:]:
            head, *lines = part.split(b"\n")
            name, _, base = head.decode().partition(" on ")
            assert name not in found, f"{table}: {name} stands there twice"
            found[name] = files_of(base or "gpt", lines)
    return found


def unpack(files, folder):
    """Writes a case's files into a folder."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def update(name, text, code):
    """Writes a case's expected text and exit code anew: the last entries of its case."""
    for table in FOLDER.glob("*.txt"):
        parts = re.split(r"^(?=== )", table.read_text(), flags=re.M)
        for i, part in enumerate(parts):
            if re.match(rf"== {name}( on .*)?\n", part):
                kept = re.sub(r"^exit code: .*\n", "", part[:part.index("\nexpected:\n") + 1], flags=re.M)
                lines = "".join(f"    {line}\n" if line else "\n" for line in text.split("\n")[:-1])
                exit_code = "" if code == 2 else f"exit code: {code}\n"
                end = "" if i == len(parts) - 1 else "\n"
                parts[i] = f"{kept}{exit_code}expected:\n{lines}{end}"
                table.write_text("".join(parts))
