"""Models of llm.c, read by `init_from` and written by `exprun export --llmc`, beside a writer of the format of our own."""
import array
import hashlib
import json
import struct
import unittest

from support import ExprunTest, fixture
from test_huggingface_models import SMALL, tensors

# Nothing is learned at a rate of almost 0, but for zeros.
STILL = ("optimizer.frozen=['blocks.*', 'final_norm.*', 'token_embedding.*']", "steps=1", "batch.sequences=1", "tokenizer=byte", "warmup=0 steps", "lr=1e-30", "weight_decay=0.0",
         "evaluation.val_loss.tokens=8", "evaluation.sample.tokens=1")
# In the file's order: llm.c's name is GPT-2's here, and whether GPT-2 keeps the matrix as (in, out).
OF_A_BLOCK = (("ln_1.weight", False), ("ln_1.bias", False), ("attn.c_attn.weight", True), ("attn.c_attn.bias", False),
              ("attn.c_proj.weight", True), ("attn.c_proj.bias", False), ("ln_2.weight", False), ("ln_2.bias", False),
              ("mlp.c_fc.weight", True), ("mlp.c_fc.bias", False), ("mlp.c_proj.weight", True), ("mlp.c_proj.bias", False))


# Of the files that llm.c's own write_model (train_gpt2.py, commit f1e2ace) makes of parity/hf_gpt2, by their version.
OF_LLMC = {3: "659ec0b98d4395d827875c26634d1b725569213f39b2e9da3eb8031df46557b7",
           5: "15a4e3778d1b4d6d465d7607db830c4b90cddfbca6081a10f769adbf6cc4d875"}


def transposed(data, rows):
    values = array.array("f", data)
    columns = len(values) // rows
    return array.array("f", (values[row * columns + column] for column in range(columns) for row in range(rows))).tobytes()


def bf16(data):
    """Rounded to the nearest, halves to even; of numbers that are finite."""
    bits = (struct.unpack("<I", data[i:i + 4])[0] for i in range(0, len(data), 4))
    return b"".join(struct.pack("<H", (each + 0x7fff + (each >> 16 & 1)) >> 16) for each in bits)


def llmc_file(folder, encode=lambda data: data, version=3):
    """The bytes of llm.c's file of a GPT-2 in a folder of transformers."""
    config, of = json.loads((folder / "config.json").read_text()), tensors(folder / "model.safetensors")
    width, vocabulary = config["n_embd"], config["vocab_size"]
    padded = -(-vocabulary // 128) * 128
    header = (20240326, version, config["n_positions"], vocabulary, config["n_layer"], config["n_head"], width, padded)
    parts = [struct.pack("<256i", *header, *[0] * (256 - len(header)))]
    parts.append(encode(of["transformer.wte.weight"] + bytes(4 * width * (padded - vocabulary))))
    parts.append(encode(of["transformer.wpe.weight"]))
    for name, turned in OF_A_BLOCK:
        for block in range(config["n_layer"]):
            data = of[f"transformer.h.{block}.{name}"]
            rows = 4 * width if name == "mlp.c_proj.weight" else width
            parts.append(encode(transposed(data, rows) if turned else data))
    return b"".join([*parts, encode(of["transformer.ln_f.weight"]), encode(of["transformer.ln_f.bias"])])


class Llmc(ExprunTest):
    def setUp(self):
        super().setUp()
        self.source = fixture(self, "parity/hf_gpt2/model")
        self.exprun("new", "tuned", "--from", self.source, "--path", "text.txt")
        self.file = self.folder / "model.bin"

    def test_the_writer_of_these_tests_writes_what_llmc_does(self):
        for version, encode in (3, lambda data: data), (5, bf16):
            self.assertEqual(hashlib.sha256(llmc_file(self.source, encode, version)).hexdigest(), OF_LLMC[version])

    def test_a_model_comes_in_and_goes_out_to_the_bit(self):
        self.file.write_bytes(llmc_file(self.source))
        said = self.exprun("tuned.toml", "model.init_from=model.bin", *STILL).err
        self.assertIn("loaded 40 tensors from 'model.bin' (llm.c)", said)
        self.assertNotIn("warning: the weights were trained", said)
        self.exprun("export", "tuned", "--huggingface", "again")
        self.assertEqual(tensors(self.folder / "again/model.safetensors"), tensors(self.source / "model.safetensors"))
        said = self.exprun("export", "tuned", "--llmc", "out/again.bin").err
        self.assertEqual(said, "exprun: wrote the model of step 1 to out/again.bin (llm.c, fp32)\n")
        self.assertEqual((self.folder / "out/again.bin").read_bytes(), self.file.read_bytes())
        self.assertEqual([each.name for each in (self.folder / "out").iterdir()], ["again.bin"])

    def test_bf16_both_ways(self):
        theirs = llmc_file(self.source, bf16, 5)
        self.exprun("tuned.toml", *STILL)
        self.exprun("export", "tuned", "--llmc", "model.bin", "--dtype", "bf16")
        self.assertEqual(self.file.read_bytes(), theirs)
        self.exprun("tuned.toml", "model.init_from=model.bin", "name=second", *STILL)
        self.exprun("export", "second", "--llmc", "second.bin", "--dtype", "bf16")
        self.assertEqual((self.folder / "second.bin").read_bytes(), theirs)

    def test_what_is_damaged_is_refused(self):
        whole = llmc_file(self.source)
        first = list(struct.unpack("<8i", whole[:32]))

        def told(data, code=2):
            self.file.write_bytes(data)
            return self.exprun("tuned.toml", "model.init_from=model.bin", *SMALL, code=code).err

        def changed(place, value):
            return struct.pack("<8i", *first[:place], value, *first[place + 1:]) + whole[32:]

        self.assertIn(f"it has {len(whole) - 4} bytes, and its header asks for {len(whole)}", told(whole[:-4]))
        self.assertIn("it ends within its header", told(whole[:100]))
        self.assertIn("has version 1 of the format; exprun reads versions 3 (fp32) and 5 (bf16)", told(changed(1, 1)))
        self.assertIn("its number of layers is -1", told(changed(4, -1)))
        self.assertIn(f"is padded to {first[3]}, not to", told(changed(7, first[3])))
        self.assertIn("the weights were trained with num_heads = 1, the recipe has", told(changed(5, 1), code=0))

    def test_what_llmc_has_not_is_not_written(self):
        self.exprun("tiny.toml", "steps=1", "tokenizer=byte")
        self.write("there.bin", "")
        for words, message in (
                (("tiny", "--llmc", "new.bin"), "export: llm.c has no such model because of activation = \"gelu\", not "
                                                "\"gelu_tanh\""),
                (("tiny", "--llmc", "there.bin"), "export: there.bin already exists; give another name"),
                (("tiny", "--llmc", "new.bin", "--dtype", "fp16"), "export: llm.c has no fp16; use --dtype fp32 or bf16"),
                (("tiny", "--llmc", "new.bin", "--huggingface", "new"), "export: give --huggingface or --llmc")):
            self.assertIn(message, self.exprun("export", *words, code=2).err)
        self.assertEqual(list(self.folder.glob("new*")), [])


if __name__ == "__main__":
    unittest.main()
