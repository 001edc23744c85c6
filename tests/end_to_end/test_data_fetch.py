"""`exprun data fetch` against a server that fails in many ways: what is kept, continued and begun again."""
import json
import signal
import socket
import subprocess
import time
import unittest

from fetching import ADDRESS, ALPACA, FetchTest, small_shard
from support import BUILD, TIMEOUT, fixture

VOCABULARY_HASH = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
CHANGED = "if the file has changed at its source and you trust it, --no-checksum takes it as it is"
ONE = ("gpt2_tokenizer", "--parallel", "1")  # two files with size and SHA-256, one after the other


def elsewhere(file):
    return f"set EXPRUN_MIRROR to the address of a mirror, or put the file at 'data/{file}' yourself"


ELSEWHERE = elsewhere("alpaca_data.json")


class Fetch(FetchTest):
    def vocabulary(self):
        """Both files of GPT-2's, on the server. Returns the path of the first, and what it is."""
        for name in "vocab.bpe", "encoder.json":
            self.server.files["/gpt-2/encodings/main/" + name] = fixture(self, "data/" + name).read_bytes()
        path = "/gpt-2/encodings/main/vocab.bpe"
        return path, self.server.files[path]

    def ranges(self):
        return [ranged for _, ranged in self.server.requests]

    def names(self, folder="data"):
        return sorted(file.name for file in (self.folder / folder).iterdir())

    def test_a_file_arrives_once(self):
        self.assertEqual(self.fetch("alpaca").stdout, "data/alpaca_data.json\n")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)
        self.fetch("alpaca")
        self.assertEqual(len(self.server.requests), 1)
        self.assertEqual(self.names(), ["alpaca_data.json"])

    def test_a_dropped_connection_is_continued_where_the_whole_can_be_checked(self):
        _, whole = self.vocabulary()
        self.server.faults = [("drop", 100_000), 503, ("drop", 1)]
        self.fetch(*ONE)
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)
        self.assertEqual(self.ranges(), [None, "bytes=100000-", "bytes=100000-", "bytes=100001-", None])

    def test_another_call_continues(self):
        _, whole = self.vocabulary()
        self.server.faults = [("drop", 100_000)]
        said = self.fetch(*ONE, "--retries", "0", code=1).stderr
        self.assertIn(" bytes remaining to read, after one attempt; run the command again to continue, or " + elsewhere("gpt2_tokenizer/vocab.bpe") + "\n",
                      said)
        self.fetch(*ONE)
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)
        self.assertEqual(self.ranges(), [None, "bytes=100000-", None])

    def test_without_size_and_checksum_a_part_is_begun_again(self):
        self.server.faults = [("drop", 100_000)] * 2
        said = self.fetch("alpaca", "--retries", "0", code=1).stderr
        self.assertIn(" bytes remaining to read, after one attempt; run the command again, or " + ELSEWHERE + "\n", said)
        self.assertEqual(self.names(), [])
        self.fetch("alpaca")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)
        self.assertEqual(self.ranges(), [None, None, None])

    def test_a_server_without_ranges_begins_again(self):
        _, whole = self.vocabulary()
        self.server.ranges = False
        self.server.faults = [("drop", 100_000)]
        self.fetch(*ONE, "--retries", "1")
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)
        self.assertEqual(self.ranges(), [None, "bytes=100000-", None, None])

    def test_another_part_than_the_one_asked_for_is_not_taken(self):
        _, whole = self.vocabulary()
        self.server.faults = [("drop", 100_000), "shifted"]
        self.fetch(*ONE)
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)
        self.assertEqual(self.ranges(), [None, "bytes=100000-", None, None])

    def test_a_part_longer_than_the_file_begins_again(self):
        _, whole = self.vocabulary()
        (self.folder / "data/gpt2_tokenizer").mkdir(parents=True)
        (self.folder / "data/gpt2_tokenizer/vocab.bpe.part").write_bytes(whole + b"more")
        self.fetch(*ONE)
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)

    def test_attempts_that_gain_do_not_use_up_the_retries(self):
        _, whole = self.vocabulary()
        self.server.faults = [("drop", 100_000)] * 3
        self.fetch(*ONE, "--retries", "1")
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)

    def test_without_a_gain_the_retries_end(self):
        self.server.faults = [503] * 3
        self.refused("The requested URL returned error: 503, after 2 attempts; run the command again, or " + ELSEWHERE, "--retries", "1")
        self.assertEqual(len(self.server.requests), 2)

    def test_a_server_that_is_not_there_is_named_in_the_words_of_curl(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and nobody listens
            for mirror, problem in ((f"http://127.0.0.1:{taken.getsockname()[1]}", "Failed to connect to 127.0.0.1"),
                                    ("http://nowhere.invalid", "Could not resolve host: nowhere.invalid")):
                said = self.fetch("alpaca", "--retries", "1", code=1, EXPRUN_MIRROR=mirror).stderr
                self.assertIn(f"': {problem}", said)
                self.assertTrue(said.endswith(f", after 2 attempts; run the command again, or {ELSEWHERE}\n"), said)

    def test_a_refusal_is_an_error_at_once(self):
        for status in 401, 403, 404:
            self.server.faults = [status]
            self.refused(f"The requested URL returned error: {status}; {ELSEWHERE}")
        self.assertEqual(len(self.server.requests), 3)
        self.assertEqual(self.names(), [])
        (self.folder / "data/alpaca_data.json").write_bytes(ALPACA)
        self.fetch("alpaca")
        self.assertEqual(len(self.server.requests), 3)

    def test_a_web_page_is_not_taken_for_the_file(self):
        self.server.faults = ["page"]
        self.refused("the server sends a web page instead of the file; " + ELSEWHERE)
        self.assertEqual(self.names(), [])

    def test_a_part_is_kept_from_a_page(self):
        self.vocabulary()
        self.server.faults = [("drop", 100_000), "page"]
        self.fetch(*ONE, code=1)
        self.fetch(*ONE)
        self.assertEqual(self.ranges()[-2], "bytes=100000-")

    def test_what_is_wrong_without_a_checksum_too_is_not_kept(self):
        for body, problem in ((b"", "is empty"), (ALPACA[:-1], "is not JSON, or not all of it")):
            self.server.files[ADDRESS] = body
            self.refused(f"what arrived {problem}, after one attempt; run the command again, or {ELSEWHERE}", "--retries", "0")
            self.refused(f"what arrived {problem}, twice; {ELSEWHERE}")
            self.assertEqual(self.names(), [])

    def test_wrong_bytes_are_never_kept(self):
        path, whole = self.vocabulary()
        self.server.faults = ["spoilt"]
        self.fetch(*ONE)
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)
        (self.folder / "data/gpt2_tokenizer/vocab.bpe").unlink()
        self.server.files[path] = b"X" + whole[1:]
        where = f"exprun: error: data fetch: '{self.server.address}{path}': "
        self.assertEqual(self.fetch(*ONE, code=1).stderr,
                         where + f"what arrived has a different SHA-256 than {VOCABULARY_HASH}, twice; {CHANGED}\n")
        self.server.files[path] = whole + b"X"
        self.assertEqual(self.fetch(*ONE, code=1).stderr,
                         where + f"what arrived has 456319 bytes instead of 456318, twice; {CHANGED}\n")
        self.assertEqual(self.names("data/gpt2_tokenizer"), ["encoder.json"])

    def test_without_checksums_a_file_is_taken_as_it_is(self):
        path, whole = self.vocabulary()
        self.server.files[path] = b"X" + whole
        self.fetch(*ONE, "--no-checksum")
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), b"X" + whole)
        self.server.files[path] = whole
        self.fetch(*ONE)  # again with them
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)
        self.server.requests.clear()
        self.fetch(*ONE, "--no-checksum")
        self.assertEqual(self.server.requests, [])

    def test_a_damaged_shard_is_noticed(self):
        path = "/datasets/kjj0/fineweb10B-gpt2/resolve/main/fineweb_val_000000.bin"
        self.server.files[path] = small_shard()
        words = "fineweb10b", "--shards", "1", "--parallel", "1"
        where = f"exprun: error: data fetch: '{self.server.address}{path}': what arrived "
        self.assertEqual(self.fetch(*words, code=1).stderr, where + f"has 1030 bytes instead of 200001024, twice; {CHANGED}\n")
        self.server.files[path] = small_shard()[:-1]
        self.assertEqual(self.fetch(*words, "--no-checksum", code=1).stderr,
                         where + f"is not a whole token shard, twice; {elsewhere('fineweb10b/fineweb_val_000000.bin')}\n")

    def test_of_two_at_once_one_fetches(self):
        self.server.faults = ["held"]
        first = self.begin("alpaca")
        self.assertTrue(self.server.half_sent.wait(TIMEOUT))
        second = self.begin("alpaca")
        self.assertEqual(second.stderr.readline(),
                         "exprun: another process fetches 'data/alpaca_data.json': waiting for it\n")
        self.server.go.set()
        for process in first, second:
            self.assertEqual((process.communicate(timeout=TIMEOUT)[1], process.returncode), ("", 0))
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)
        self.assertEqual(len(self.server.requests), 1)
        self.assertEqual(self.names(), ["alpaca_data.json"])

    def test_files_come_side_by_side(self):
        self.vocabulary()
        self.server.faults = ["together", "together"]
        self.fetch("gpt2_tokenizer", "--retries", "0")
        self.assertEqual(sorted(path for path, _ in self.server.requests),
                         ["/gpt-2/encodings/main/encoder.json", "/gpt-2/encodings/main/vocab.bpe"])

    def test_interrupted_it_continues(self):
        _, whole = self.vocabulary()
        self.server.faults = ["held"]
        process = self.begin(*ONE)
        self.assertTrue(self.server.half_sent.wait(TIMEOUT))
        part = self.folder / "data/gpt2_tokenizer/vocab.bpe.part"
        while part.stat().st_size == 0 and process.poll() is None:  # sent, and not yet written
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        begun = part.stat().st_size
        self.assertGreater(begun, 0)
        self.fetch(*ONE)
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)
        self.assertEqual(self.ranges()[1], f"bytes={begun}-")

    def test_redirections_are_followed(self):
        other = self.serve()
        for address, server in ("/blobs/1", self.server), ("../../../blobs/1", self.server), (other.address + "/blobs/1", other):
            server.files["/blobs/1"] = ALPACA
            self.server.moved = {ADDRESS: address}
            self.fetch("alpaca")
            file = self.folder / "data/alpaca_data.json"
            self.assertEqual(file.read_bytes(), ALPACA)
            file.unlink()

    def test_redirections_without_an_end_are_an_error_at_once(self):
        self.server.moved = {ADDRESS: "/blobs/1", "/blobs/1": ADDRESS}
        self.refused("Maximum (10) redirects followed; " + ELSEWHERE)
        self.assertEqual(len(self.server.requests), 11)

    def test_redirections_do_not_leave_http(self):
        (self.folder / "secret").write_text("[]")
        other = self.serve()
        for scheme, address in (("file", f"file://{self.folder}/secret"), ("ftp", other.address.replace("http", "ftp") + ADDRESS)):
            self.server.moved = {ADDRESS: address}
            self.refused(f'Protocol "{scheme}" not supported or disabled in libcurl; {ELSEWHERE}')
        self.assertEqual((len(self.server.requests), other.requests), (2, []))

    def test_a_proxy_and_a_folder_are_taken(self):
        self.fetch("alpaca", "--to", "there", EXPRUN_MIRROR="http://nowhere.invalid/", http_proxy=self.server.address)
        self.assertEqual((self.folder / "there/alpaca_data.json").read_bytes(), ALPACA)
        self.assertEqual(self.server.requests[0][0], "http://nowhere.invalid" + ADDRESS)

    def test_shards_are_counted_where_there_are_some(self):
        for words, problem in ((("fineweb10b", "--shards", "104"), "fineweb10b has 1 to 103 training shards, not 104"),
                               (("fineweb_edu10b", "--shards", "0"), "fineweb_edu10b has 1 to 99 training shards, not 0"),
                               (("gpt2", "--shards", "3"), "gpt2 is not in shards; leave out --shards")):
            self.assertEqual(self.fetch(*words, code=2).stderr, f"exprun: error: data fetch: {problem}\n")
        self.assertEqual(self.server.requests, [])

    def test_options_that_would_do_nothing_are_refused(self):
        for option, *value in (("--dry-run",), ("--shards", "3"), ("--no-checksum",), ("--to", "there"), ("--parallel", "2"),
                               ("--retries", "2")):
            result = self.fetch(option, *value, code=2)
            self.assertEqual((result.stdout, result.stderr), ("", f"exprun: error: data fetch: {option} needs a NAME\n"))
        result = self.fetch("alpaca", "--json", "--csv", code=2)
        self.assertEqual(result.stderr, "exprun: error: command line: give one of --json, --csv, --markdown and --latex\n")
        for number in "0", "65":
            self.assertEqual(self.fetch("alpaca", "--parallel", number, code=2).stderr,
                             f"exprun: error: data fetch: --parallel takes 1 to 64, not {number}\n")
        self.assertEqual(self.server.requests, [])
        self.fetch("alpaca", "--parallel", "64")

    def test_what_was_fetched_is_told_in_every_form(self):
        self.vocabulary()
        plain = self.fetch("gpt2_tokenizer").stdout
        self.assertEqual(plain, "data/gpt2_tokenizer/vocab.bpe\ndata/gpt2_tokenizer/encoder.json\n")
        for form in "--json", "--csv", "--markdown":
            self.assertEqual(self.fetch("gpt2_tokenizer", form).stdout, self.fetch("gpt2_tokenizer", "--dry-run", form).stdout)
        self.assertEqual([row["file"] for row in json.loads(self.fetch("gpt2_tokenizer", "--json").stdout)], plain.splitlines())

    def test_an_unknown_name_has_a_suggestion(self):
        self.assertEqual(self.fetch("alpacca", code=2).stderr,
                         "exprun: error: data fetch: 'alpacca' is not in the catalogue; did you mean 'alpaca'?\n")

    def test_no_other_command_loads_libcurl(self):
        libraries = subprocess.run(["ldd", BUILD / "exprun"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("curl", libraries)


if __name__ == "__main__":
    unittest.main()
