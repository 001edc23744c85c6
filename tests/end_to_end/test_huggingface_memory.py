"""Weights of a HuggingFace folder are read through a memory map: a trainer takes memory for its own copy of them, and
little more."""
import json
import os
import struct
import unittest

from byte_level import write_chat_tokenizer
from support import ExprunTest

ELEMENT_BYTES = {"BF16": 2, "F32": 4}
MEBIBYTE = 2**20


LAYERS, VOCABULARY = 3, 300


def shapes(width):
    """Of a Llama."""
    found = {"model.norm.weight": (width,)}
    for name in "model.embed_tokens", "lm_head":
        found[f"{name}.weight"] = VOCABULARY, width
    for layer in range(LAYERS):
        block = f"model.layers.{layer}."
        for name in "input", "post_attention":
            found[f"{block}{name}_layernorm.weight"] = (width,)
        for name in "qkvo":
            found[f"{block}self_attn.{name}_proj.weight"] = width, width
        for name in "gate", "up":
            found[f"{block}mlp.{name}_proj.weight"] = 4 * width, width
        found[f"{block}mlp.down_proj.weight"] = width, 4 * width
    return found


def random_floats(count, dtype):
    """Some thousandths, of which all bits after the first 8 are random."""
    size = ELEMENT_BYTES[dtype]
    data = bytearray(os.urandom(count * size))
    data[size - 1::size] = b"\x3b" * count
    return data


class Memory(ExprunTest):
    def folder_of(self, name, dtype, width):
        """Returns how many bytes its weights have, as fp32."""
        folder = self.folder / name
        folder.mkdir()
        write_chat_tokenizer(folder)
        config = {"model_type": "llama", "hidden_size": width, "num_hidden_layers": LAYERS, "num_attention_heads": 8,
                  "intermediate_size": 4 * width, "max_position_embeddings": 32, "vocab_size": VOCABULARY,
                  "torch_dtype": {"BF16": "bfloat16", "F32": "float32"}[dtype]}
        (folder / "config.json").write_text(json.dumps(config))
        header, end = {}, 0
        for tensor, shape in shapes(width).items():
            begin, end = end, end + shape[0] * (shape[1] if len(shape) > 1 else 1) * ELEMENT_BYTES[dtype]
            header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
        text = json.dumps(header).encode()
        with (folder / "model.safetensors").open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for entry in header.values():
                begin, end = entry["data_offsets"]
                file.write(random_floats((end - begin) // ELEMENT_BYTES[dtype], dtype))
        return end // ELEMENT_BYTES[dtype] * 4

    def peak(self, *words):
        """The resident bytes, at most, of the trainer, which has far more than exprun itself."""
        process = self.start(*words)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, process.communicate())
        return usage.ru_maxrss * 1024

    def test_a_trainer_takes_memory_for_one_copy_of_the_weights(self):
        words = ("--prompt=a", "tokens=2", "temperature=0", "--dtype", "fp32")
        self.folder_of("small", "F32", 64)
        base = self.peak("sample", "small", *words)
        for dtype in ELEMENT_BYTES:
            with self.subTest(dtype=dtype):
                weights = self.folder_of(dtype, dtype, 1024)
                more = self.peak("sample", dtype, *words) - base
                print(f"{dtype}: {more / MEBIBYTE:.0f} MiB more for {weights / MEBIBYTE:.0f} MiB of weights in fp32")
                self.assertLess(more, 1.3 * weights)


if __name__ == "__main__":
    unittest.main()
