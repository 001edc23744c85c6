"""A small tokenizer.json of the kind ByteLevel, for tests that need one of their own."""
import json

# The characters that stand for bytes in such vocabularies: printable ones for themselves.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
ALPHABET_BYTES = [*PRINTABLE, *(byte for byte in range(256) if byte not in PRINTABLE)]
ALPHABET = [*map(chr, PRINTABLE), *(chr(256 + number) for number in range(256 - len(PRINTABLE)))]


CHAT_TOKENS = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|pad|>")


def chat_tokenizer(normalizer=None):
    """Llama 3's special tokens after a token for every byte, and a text that begins with the first of them: an object."""
    added = [{"id": 256 + number, "content": text, "special": True, "normalized": False, "single_word": False,
              "lstrip": False, "rstrip": False} for number, text in enumerate(CHAT_TOKENS)]
    begin = {"SpecialToken": {"id": CHAT_TOKENS[0], "type_id": 0}}
    template = {"type": "TemplateProcessing", "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [begin, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {CHAT_TOKENS[0]: {"id": CHAT_TOKENS[0], "ids": [256], "tokens": [CHAT_TOKENS[0]]}}}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "merges": [],
             "vocab": {text: number for number, text in enumerate(ALPHABET)}}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer,
            "pre_tokenizer": level, "post_processor": {"type": "Sequence", "processors": [level, template]}, "decoder": level,
            "model": model}


def write_chat_tokenizer(folder, normalizer=None):
    """As in the folder of an instruct model, with what stands beside its vocabulary."""
    begin, end, *_, turn, pad = CHAT_TOKENS
    files = {"tokenizer.json": chat_tokenizer(normalizer),
             "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": begin, "eos_token": turn,
                                       "pad_token": pad, "clean_up_tokenization_spaces": False, "model_max_length": 64,
                                       "auto_map": {"AutoTokenizer": ["code.Tokenizer", None]}},
             "special_tokens_map.json": {"bos_token": begin, "eos_token": turn, "pad_token": pad},
             "generation_config.json": {"bos_token_id": 256, "eos_token_id": [257, 260], "pad_token_id": 261,
                                        "do_sample": True, "temperature": 0.6, "top_p": 0.9}}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE)


CHAT_TEMPLATE = ("{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
                 "{{ message['content'] }}<|eot_id|>{% endfor %}")


def tokenizer_json(more=None, merges=()):
    """A token for every byte, and `more` with their ids."""
    vocabulary = {text: number for number, text in enumerate(ALPHABET)} | (more or {})
    return json.dumps({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "added_tokens": [],
                       "model": {"vocab": vocabulary, "merges": list(merges)}})
