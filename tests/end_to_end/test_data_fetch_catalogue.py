"""What `exprun data fetch` has, where it comes from, and that every file is asked for there."""
import csv
import json
import unittest

from fetching import FetchTest, small_shard

RAW, HUGGINGFACE = "https://raw.githubusercontent.com/", "https://huggingface.co/"
SHARD = 1024 + 2 * 100_000_000


def numbered(start, first, last):
    return [f"{start}{number:06}.bin" for number in range(first, last + 1)]


# name: (address, file, bytes, SHA-256), as the table of public data in reference/systems.md has them.
FILES = {
    "tinyshakespeare": [(RAW + "karpathy/char-rnn/master/data/tinyshakespeare/input.txt", "tinyshakespeare.txt", 1_115_394,
                         "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed")],
    "hellaswag": [(RAW + "rowanz/hellaswag/master/data/hellaswag_val.jsonl", "hellaswag/hellaswag_val.jsonl", None,
                   "0aa3b88843990f3f10a97b9575c94d7b71fb2205240ba04ae4884d9e9c992588")],
    "alpaca": [(RAW + "tatsu-lab/stanford_alpaca/main/alpaca_data.json", "alpaca_data.json", None, None)],
    "fineweb10b": [
        (HUGGINGFACE + "datasets/kjj0/fineweb10B-gpt2/resolve/main/" + name, "fineweb10b/" + name,
         None if "103" in name else SHARD, None)
        for name in numbered("fineweb_val_", 0, 0) + numbered("fineweb_train_", 1, 103)],
    "fineweb_edu10b": [
        (HUGGINGFACE + "datasets/kjj0/finewebedu10B-gpt2/resolve/main/" + name, "fineweb_edu10b/" + name,
         1024 + 2 * 53_989_344 if "000099" in name else SHARD, None)
        for name in numbered("finewebedu_val_", 0, 0) + numbered("finewebedu_train_", 1, 99)],
    "gpt2_tokenizer": [
        ("https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/" + name, "gpt2_tokenizer/" + name, size, sha256)
        for name, size, sha256 in (
            ("vocab.bpe", 456_318, "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"),
            ("encoder.json", 1_042_301, "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"))],
    "gpt2": [
        ("https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/" + name, "gpt2/" + file, size, sha256)
        for name, file, size, sha256 in (
            ("vocab.bpe", "merges.txt", 456_318, "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"),
            ("encoder.json", "vocab.json", 1_042_301, "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"))
    ] + [
        (HUGGINGFACE + "openai-community/gpt2/resolve/main/" + name, "gpt2/" + name, size, sha256)
        for name, size, sha256 in (
            ("config.json", 665, "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4"),
            ("model.safetensors", 548_105_171, "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707"))],
}


def small(path):
    """What is as good as the real file but for its size and checksum."""
    return small_shard() if path.endswith(".bin") else b"{}"


class Catalogue(FetchTest):
    maxDiff = None

    def listed(self, *words):
        rows = json.loads(self.fetch(*words, "--dry-run", "--json", EXPRUN_MIRROR="").stdout)
        return [(row["address"], row["file"], row["bytes"], row["sha256"]) for row in rows]

    def test_the_list_in_every_form(self):
        rows = json.loads(self.fetch("--json").stdout)
        self.assertEqual([row["name"] for row in rows], [line.split()[0] for line in self.fetch().stdout.splitlines()])
        self.assertEqual([row["shards"] for row in rows], [None, 103, 99, None, None, None, None])
        self.assertTrue(all(row["what"] and row["licence"] for row in rows))
        read = list(csv.DictReader(self.fetch("--csv").stdout.splitlines()))
        self.assertEqual(read, [{key: str(value or "") for key, value in row.items()} for row in rows])
        self.assertIn("\n| tinyshakespeare | ", self.fetch("--markdown").stdout)

    def test_every_address_size_and_checksum(self):
        self.assertEqual([line.split()[0] for line in self.fetch().stdout.splitlines()], [
            "tinyshakespeare", "fineweb10b", "fineweb_edu10b", "hellaswag", "alpaca", "gpt2_tokenizer", "gpt2"])
        for name, files in FILES.items():
            with self.subTest(name=name):
                self.assertEqual(self.listed(name), [(address, "data/" + file, *facts) for address, file, *facts in files])
        self.assertEqual(self.listed("fineweb10b", "--shards", "2", "--to", "there"),
                         [(address, "there/" + file, *facts) for address, file, *facts in FILES["fineweb10b"][:3]])
        self.assertEqual([path.name for path in self.folder.iterdir()], [])

    def test_every_file_is_asked_for_where_it_is_listed(self):
        for name, files in FILES.items():
            with self.subTest(name=name):
                paths = ["/" + address.split("/", 3)[3] for address, *_ in files]
                self.server.files = {path: small(path) for path in paths}
                self.server.requests.clear()
                listed = self.fetch(name, "--dry-run").stdout
                self.assertEqual(self.server.requests, [])
                said = self.fetch(name, "--no-checksum").stdout
                self.assertEqual(sorted(path for path, _ in self.server.requests), sorted(paths))
                self.assertEqual(said.splitlines(), ["data/" + file for _, file, *_ in files])
                for path, (_, file, *_) in zip(paths, files):
                    self.assertEqual((self.folder / "data" / file).read_bytes(), small(path))
                    self.assertRegex(listed, rf"(?m)^{self.server.address}{path} .* data/{file}( |$)")


if __name__ == "__main__":
    unittest.main()
