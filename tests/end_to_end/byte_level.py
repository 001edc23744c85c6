"""A small tokenizer.json of the kind ByteLevel, for tests that need one of their own."""
import json

# The characters that stand for bytes in such vocabularies: printable ones for themselves.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
ALPHABET_BYTES = [*PRINTABLE, *(byte for byte in range(256) if byte not in PRINTABLE)]
ALPHABET = [*map(chr, PRINTABLE), *(chr(256 + number) for number in range(256 - len(PRINTABLE)))]


def tokenizer_json(more=None, merges=()):
    """A token for every byte, and `more` with their ids."""
    vocabulary = {text: number for number, text in enumerate(ALPHABET)} | (more or {})
    return json.dumps({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "added_tokens": [],
                       "model": {"vocab": vocabulary, "merges": list(merges)}})
