"""`exprun data fetch` against a server that fails in every way: what is kept, gone on with and begun again."""
import json
import os
import signal
import socket
import subprocess
import time
import unittest

from fetching import ADDRESS, ALPACA, FetchTest, small_shard
from support import BUILD, TIMEOUT, fixture

VOCABULARY_HASH = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"

# What else whole answers that are not the published file end with: they may be a newer version.
IF_TRUSTED = "; to take it as it is, only if you trust it, give --no-checksum"


class Fetch(FetchTest):
    def setUp(self):
        super().setUp()
        self.elsewhere = f"name another mirror than '{self.server.address}' (EXPRUN_MIRROR), or none"
        self.sent_so = "the mirror sends it so, or something in between (a proxy, a login page) answers; " + self.elsewhere

    def test_a_file_arrives_once(self):
        result = self.fetch("alpaca")
        self.assertEqual(result.stdout, "data/alpaca_data.json\n")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)
        self.fetch("alpaca")
        self.assertEqual(len(self.server.requests), 1)

    def test_dropped_connections_go_on_where_they_were(self):
        self.server.faults = [("drop", 100_000), 503, ("drop", 1), None]
        self.fetch("alpaca")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)
        self.assertEqual([ranged for _, ranged in self.server.requests],
                         [None, "bytes=100000-", "bytes=100000-", "bytes=100001-"])

    def change(self, **more):
        """The file on the server becomes another one, of the same size."""
        self.server.files[ADDRESS] = ALPACA.replace(b"hello", b"adieu")
        for name, value in more.items():
            setattr(self.server, name, value)

    def goes_on(self, ranged):
        """Another call gets the file as it is now, and asks for a range as said."""
        self.fetch("alpaca")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), self.server.files[ADDRESS])
        self.assertEqual(self.server.requests[-1][1], ranged)
        self.assertEqual([file.name for file in (self.folder / "data").iterdir()], ["alpaca_data.json"])

    def drop(self, size=100_000):
        self.server.faults = [("drop", size)]
        self.fetch("alpaca", "--retries", "0", code=1)

    def test_no_file_is_put_together_from_two_versions(self):
        self.drop()
        self.change(tag='"2"')
        self.goes_on("bytes=100000-")

    def test_a_server_that_ignores_the_condition_is_not_believed(self):
        self.server.conditions = False
        self.drop()
        self.change(tag='"2"')
        self.goes_on(None)

    def test_versions_by_their_times(self):
        self.server.tag, self.server.modified = 'W/"1"', "Sun, 06 Nov 1994 08:49:37 GMT"
        self.drop()
        self.goes_on("bytes=100000-")
        os.remove(self.folder / "data/alpaca_data.json")
        self.drop()
        self.change(modified="Sun, 06 Nov 1994 08:49:38 GMT")
        self.goes_on("bytes=100000-")

    def test_without_versions_only_a_checksum_lets_a_part_be_gone_on_with(self):
        self.server.tag = None
        self.drop()
        self.change()
        self.goes_on(None)
        _, vocabulary = self.vocabulary()
        self.server.faults = [("drop", 100_000)]
        self.fetch("gpt2_tokenizer", "--parallel", "1")
        self.assertEqual([ranged for _, ranged in self.server.requests[-3:]], [None, "bytes=100000-", None])
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), vocabulary)

    def test_a_server_without_ranges_begins_again(self):
        self.server.ranges = False
        self.server.faults = [("drop", 100_000)]
        self.fetch("alpaca")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)
        self.assertEqual([ranged for _, ranged in self.server.requests], [None, "bytes=100000-"])

    def test_another_part_than_the_one_asked_for_is_not_taken(self):
        self.server.faults = [("drop", 100_000), "shifted"]
        self.fetch("alpaca")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)
        self.assertEqual([ranged for _, ranged in self.server.requests], [None, "bytes=100000-", None])

    def test_attempts_that_gain_do_not_use_up_the_retries(self):
        self.server.faults = [("drop", 700_000)] * 3
        self.fetch("alpaca", "--retries", "1")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)

    def test_without_a_gain_the_retries_end(self):
        self.server.ranges = False
        self.server.faults = [("drop", 100_000)] * 3
        self.refused("the answer ended early (curl: Transferred a partial file), after 2 attempts; call again", "--retries", "1")
        self.assertEqual(len(self.server.requests), 2)

    def test_a_gain_is_an_attempt_too(self):
        self.server.faults = [("drop", 700_000)] * 2 + [503]
        self.refused("the server answers 503, after 3 attempts; call again, it goes on where it was", "--retries", "1")

    def test_a_server_that_is_not_there_may_be_the_wrong_one(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and nobody listens
            for mirror, problem in ((f"http://127.0.0.1:{taken.getsockname()[1]}", "the server cannot be reached"),
                                    ("http://nowhere.invalid", "the host is not known")):
                said = self.fetch("alpaca", "--retries", "1", code=1, EXPRUN_MIRROR=mirror).stderr
                self.assertIn(f"': {problem} (curl: ", said)
                self.assertTrue(said.endswith("), after 2 attempts; call again; if it stays so, name another mirror than "
                                              f"'{mirror}' (EXPRUN_MIRROR), or none\n"), said)

    def test_what_is_not_the_whole_file_is_not_kept(self):
        self.server.faults = ["torn"]
        self.refused("the server does not say where the file ends, so that a part of it would look whole; " + self.elsewhere)
        self.server.faults = ["page"]
        self.refused("the server sends a page (text/html), not the file: a login or a proxy may be before it; " + self.elsewhere)
        self.server.faults = [204]
        self.refused("the server answers 204")
        self.assertEqual(len(self.server.requests), 3)
        self.assertEqual(list((self.folder / "data").iterdir()), [])
        for body, problem in ((b"", "is empty"), (ALPACA[:-1], "is no JSON, or not all of it")):
            self.server.files[ADDRESS] = body
            self.refused(f"what arrived {problem}, after one attempt; call again; if it stays so, " + self.sent_so,
                         "--retries", "0")

    def test_only_what_goes_on_is_said_to_go_on(self):
        partial = "the answer ended early (curl: Transferred a partial file), after one attempt; call again"
        self.server.faults = [("drop", 100_000)] * 2
        self.refused(partial + ", it goes on where it was", "--retries", "0")
        (self.folder / "data/alpaca_data.json.part").unlink()
        self.server.tag = None
        self.refused(partial, "--retries", "0")

    def test_a_part_is_kept_from_a_page(self):
        self.server.faults = [("drop", 100_000), "page"]
        self.refused("the server sends a page (text/html), not the file: a login or a proxy may be before it; " + self.elsewhere)
        self.fetch("alpaca")
        self.assertEqual(self.server.requests[-1][1], "bytes=100000-")

    def test_a_file_that_was_left_torn_is_mended(self):
        (self.folder / "data").mkdir()
        (self.folder / "data/alpaca_data.json").write_bytes(ALPACA[:1000])
        self.fetch("alpaca")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)

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
        self.assertEqual([file.name for file in (self.folder / "data").iterdir()], ["alpaca_data.json"])

    def test_a_file_that_became_shorter_begins_again(self):
        (self.folder / "data").mkdir()
        (self.folder / "data/alpaca_data.json.part").write_bytes(b"x" * (len(ALPACA) + 1))
        self.fetch("alpaca")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)

    def test_not_found_is_an_error_at_once(self):
        self.server.files = {}
        self.refused("the server answers 404: it is not there, or no longer; " + self.elsewhere)
        self.assertEqual(len(self.server.requests), 1)
        self.assertEqual(list((self.folder / "data").iterdir()), [])

    def test_what_a_server_does_not_give_may_be_put_there_by_hand(self):
        for status in 401, 403:
            self.server.faults = [status]
            self.refused(f"the server answers {status}: it may want a licence accepted or a token sent, and exprun does neither; "
                         "get the file another way and put it at 'data/alpaca_data.json', or " + self.elsewhere)
        (self.folder / "data/alpaca_data.json").write_bytes(ALPACA)
        self.fetch("alpaca")
        self.assertEqual(len(self.server.requests), 2)

    def vocabulary(self):
        """Both files of GPT-2's, on the server. Returns its path, and what it is."""
        for name in "vocab.bpe", "encoder.json":
            self.server.files["/gpt-2/encodings/main/" + name] = fixture(self, "data/" + name).read_bytes()
        path = "/gpt-2/encodings/main/vocab.bpe"
        return path, self.server.files[path]

    def test_wrong_bytes_are_never_kept(self):
        _, whole = self.vocabulary()
        self.server.faults = ["spoilt"]
        result = self.fetch("gpt2_tokenizer", "--retries", "0", "--parallel", "1", code=1)
        self.assertIn(f"what arrived has another SHA-256 than {VOCABULARY_HASH}, after one attempt; call again; if it stays so, "
                      + self.sent_so + IF_TRUSTED + "\n", result.stderr)
        self.assertFalse((self.folder / "data/gpt2_tokenizer/vocab.bpe").exists())
        self.server.faults = ["spoilt"]
        self.fetch("gpt2_tokenizer", "--retries", "1", "--parallel", "1")
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)
        self.assertEqual(len(self.server.requests), 4)

    def test_a_file_that_has_changed_at_its_source_is_not_fetched_for_ever(self):
        path, whole = self.vocabulary()
        self.server.files[path] = b"X" + whole[1:]
        self.server.faults = ["spoilt"]  # what is wrong in another way proves nothing
        result = self.fetch("gpt2_tokenizer", "--parallel", "1", code=1)
        self.assertEqual(result.stderr, f"exprun: error: data fetch: '{self.server.address}{path}': what arrived has another "
                         f"SHA-256 than {VOCABULARY_HASH}, and twice the same: {self.sent_so}{IF_TRUSTED}\n")
        self.assertEqual(len(self.server.requests), 3)
        self.assertEqual(list((self.folder / "data/gpt2_tokenizer").iterdir()), [])

    def test_without_checksums_files_are_taken_as_they_are(self):
        path, whole = self.vocabulary()
        self.server.files[path] = b"X" + whole
        self.server.faults = [("drop", 100_000)]
        self.fetch("gpt2_tokenizer", "--no-checksum", "--parallel", "1")
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), b"X" + whole)
        self.assertEqual([ranged for _, ranged in self.server.requests], [None, "bytes=100000-", None])
        self.fetch("gpt2_tokenizer", "--no-checksum")
        self.assertEqual(len(self.server.requests), 3)
        self.server.files[path] = whole
        self.fetch("gpt2_tokenizer")  # again with them
        self.assertEqual((self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes(), whole)

    def test_without_checksums_what_lies_there_is_kept_only_where_it_is_the_published_or_was_taken_so(self):
        path = "/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
        self.server.files[path] = b"changed"
        file = self.folder / "data/tinyshakespeare.txt"
        file.parent.mkdir()
        file.write_bytes(b"stale")
        self.assertIn("give --no-checksum\n", self.fetch("tinyshakespeare", code=1).stderr)
        for there in b"stale", b"damaged":
            file.write_bytes(there)
            self.server.requests.clear()
            for _ in range(2):
                self.assertEqual(self.fetch("tinyshakespeare", "--no-checksum").stdout, "data/tinyshakespeare.txt\n")
                self.assertEqual(file.read_bytes(), b"changed")
            self.assertEqual(len(self.server.requests), 1)
        whole = fixture(self, "data/tinyshakespeare.txt").read_bytes()
        self.server.files[path] = whole
        self.fetch("tinyshakespeare")
        self.assertEqual(([part.name for part in file.parent.iterdir()], file.read_bytes()), (["tinyshakespeare.txt"], whole))
        self.server.requests.clear()
        self.fetch("tinyshakespeare", "--no-checksum")
        self.assertEqual(self.server.requests, [])

    def test_answers_without_an_end_prove_no_change_at_the_source(self):
        path, _ = self.vocabulary()
        self.server.faults = ["torn"] * 3
        result = self.fetch("gpt2_tokenizer", "--retries", "2", "--parallel", "1", code=1)
        self.assertIn("what arrived has 228159 bytes instead of 456318, after 3 attempts; call again\n", result.stderr)
        self.assertEqual([path for path, _ in self.server.requests], [path] * 3)

    def test_what_is_wrong_whatever_the_catalogue_says_is_not_fetched_for_ever(self):
        for body, problem in (b"", "is empty"), (ALPACA[:-1], "is no JSON, or not all of it"):
            self.server.files[ADDRESS] = body
            self.server.requests.clear()
            self.refused(f"what arrived {problem}, and twice the same: {self.sent_so}")
            self.assertEqual(len(self.server.requests), 2)

    def test_a_page_is_taken_for_no_file(self):
        path = "/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
        for page in b"<html>login</html>", b"\xEF\xBB\xBF\r\n <!DOCTYPE HTML>\n<html>":
            self.server.files[path] = page
            for words in (), ("--no-checksum",):
                self.assertEqual(self.fetch("tinyshakespeare", *words, code=1).stderr,
                                 f"exprun: error: data fetch: '{self.server.address}{path}': what arrived is a page of HTML, "
                                 f"and twice the same: {self.sent_so}\n")
                self.assertEqual(list((self.folder / "data").iterdir()), [])

    def test_a_mirror_is_named_as_what_sends_other_bytes(self):
        path = "/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
        whole = fixture(self, "data/tinyshakespeare.txt").read_bytes()
        for body, problem in ((whole[:-1000], "has 1114394 bytes instead of 1115394"),
                              (whole + bytes(40), "has 1115434 bytes instead of 1115394"),
                              (bytes([whole[0] ^ 1]) + whole[1:], "has another SHA-256 than ")):
            self.server.files[path] = body
            said = self.fetch("tinyshakespeare", code=1).stderr
            self.assertIn("what arrived " + problem, said)
            self.assertTrue(said.endswith(f", and twice the same: {self.sent_so}{IF_TRUSTED}\n"), said)

    def test_a_damaged_shard_is_noticed(self):
        path = "/datasets/kjj0/fineweb10B-gpt2/resolve/main/fineweb_val_000000.bin"
        self.server.files[path] = small_shard()
        words = "fineweb10b", "--shards", "1", "--parallel", "1"
        where = f"exprun: error: data fetch: '{self.server.address}{path}': what arrived "
        self.assertEqual(self.fetch(*words, "--retries", "0", code=1).stderr,
                         where + "has 1030 bytes instead of 200001024, after one attempt; call again; if it stays so, "
                         + self.sent_so + IF_TRUSTED + "\n")
        self.assertEqual(self.fetch(*words, code=1).stderr,
                         where + f"has 1030 bytes instead of 200001024, and twice the same: {self.sent_so}{IF_TRUSTED}\n")
        self.server.files[path] = small_shard()[:-1]
        self.assertEqual(self.fetch(*words, code=1).stderr,
                         where + f"has 1029 bytes instead of 200001024, and twice the same: {self.sent_so}\n")
        self.assertEqual(self.fetch(*words, "--no-checksum", code=1).stderr,
                         where + f"is no whole token shard, and twice the same: {self.sent_so}\n")
        self.assertEqual(len(self.server.requests), 7)

    def test_shards_are_counted_where_there_are_some(self):
        for words, problem in ((("fineweb10b", "--shards", "104"), "fineweb10b has 1 to 103 training shards, not 104"),
                               (("fineweb_edu10b", "--shards", "0"), "fineweb_edu10b has 1 to 99 training shards, not 0"),
                               (("gpt2", "--shards", "3"), "gpt2 is not in shards; leave --shards away")):
            self.assertEqual(self.fetch(*words, code=2).stderr, f"exprun: error: data fetch: {problem}\n")
        self.assertEqual(self.server.requests, [])

    def test_options_that_would_do_nothing_are_refused(self):
        for option, *value in (("--dry-run",), ("--shards", "3"), ("--no-checksum",), ("--to", "there"), ("--mirror", "host"),
                               ("--parallel", "2"), ("--retries", "2")):
            result = self.fetch(option, *value, code=2)
            self.assertEqual((result.stdout, result.stderr), ("", f"exprun: error: data fetch: {option} needs a NAME\n"))
        result = self.fetch("alpaca", "--json", "--csv", code=2)
        self.assertEqual(result.stderr, "exprun: error: command line: give one of --json, --csv and --markdown\n")
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

    def moved_to(self, address, there):
        """What is behind a redirection is gone on with through it."""
        there.files = {"/blobs/1": ALPACA}
        there.faults = [("drop", 100_000)]
        self.server.moved = {ADDRESS: address}
        self.server.requests.clear()
        self.fetch("alpaca")
        file = self.folder / "data/alpaca_data.json"
        self.assertEqual(file.read_bytes(), ALPACA)
        file.unlink()

    def test_redirections_are_followed(self):
        asked = [(ADDRESS, None), ("/blobs/1", None), (ADDRESS, "bytes=100000-"), ("/blobs/1", "bytes=100000-")]
        for address in "/blobs/1", "../../../blobs/1":
            self.moved_to(address, self.server)
            self.assertEqual(self.server.requests, asked)
        other = self.serve()
        self.moved_to(other.address + "/blobs/1", other)
        self.assertEqual((self.server.requests, other.requests), (asked[::2], asked[1::2]))

    def test_behind_a_redirection_no_file_is_put_together_from_two_versions(self):
        other = self.serve()
        self.server.moved = {ADDRESS: other.address + ADDRESS}
        other.faults = [("drop", 100_000)]
        self.fetch("alpaca", "--retries", "0", code=1)
        other.files[ADDRESS], other.tag = ALPACA.replace(b"hello", b"adieu"), '"2"'
        self.fetch("alpaca")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), other.files[ADDRESS])
        self.assertEqual(other.requests, [(ADDRESS, None), (ADDRESS, "bytes=100000-")])

    def test_redirections_without_an_end_are_an_error_at_once(self):
        self.server.moved = {ADDRESS: "/blobs/1", "/blobs/1": ADDRESS}
        self.refused("the server redirects more than 10 times; " + self.elsewhere)
        self.assertEqual(len(self.server.requests), 11)
        self.server.moved, self.server.faults = {}, [302]  # without saying where to
        self.refused("the server answers 302")

    def test_redirections_do_not_leave_http(self):
        (self.folder / "secret").write_text("[]")
        other = self.serve()
        for address in f"file://{self.folder}/secret", other.address.replace("http", "ftp") + ADDRESS:
            self.server.moved = {ADDRESS: address}
            self.server.requests.clear()
            self.refused(f"the server redirects to '{address}', and only http and https are followed; {self.elsewhere}")
            self.assertEqual(len(self.server.requests), 1)
        self.assertEqual(other.requests, [])

    def test_a_mirror_may_have_no_scheme_and_is_refused_with_another(self):
        host = self.server.address.removeprefix("http://")
        self.fetch("alpaca", "--mirror", host)
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)
        self.server.faults = [404]
        result = self.fetch("hellaswag", "--mirror", host, code=1)
        self.assertIn(f"not there, or no longer; name another mirror than '{host}' (--mirror), or none\n", result.stderr)
        for mirror in ("gopher2://a", "FTP://" + host, f"file://{self.folder}", f"file:{self.folder}", str(self.folder), "file:",
                       "http:", "https://"):
            problem = f"is '{mirror}'; a mirror's address begins with http:// or https://, or with its host\n"
            self.assertEqual(self.fetch("hellaswag", "--mirror", mirror, code=2).stderr,
                             "exprun: error: data fetch: --mirror " + problem)
            self.assertEqual(self.fetch("hellaswag", "--dry-run", code=2, EXPRUN_MIRROR=mirror).stderr,
                             "exprun: error: data fetch: EXPRUN_MIRROR " + problem)
        result = self.fetch("hellaswag", "--mirror", "http://a b", code=1)
        self.assertIn("exprun: error: data fetch: 'http://a b/rowanz/", result.stderr)
        self.assertIn("': this is no address (curl: ", result.stderr)
        self.assertNotIn("attempt", result.stderr)

    def test_a_host_is_asked_by_http_whatever_its_name(self):
        self.fetch("alpaca", "--mirror", "ftp.nowhere.invalid", http_proxy=self.server.address)
        self.assertEqual(self.server.requests[0][0], "http://ftp.nowhere.invalid" + ADDRESS)

    def test_files_come_side_by_side(self):
        self.vocabulary()
        self.server.faults = ["together", "together"]
        self.fetch("gpt2_tokenizer", "--retries", "0")
        self.assertEqual(sorted(path for path, _ in self.server.requests),
                         ["/gpt-2/encodings/main/encoder.json", "/gpt-2/encodings/main/vocab.bpe"])

    def test_interrupted_it_goes_on(self):
        self.server.faults = ["held"]
        process = self.begin("alpaca")
        self.assertTrue(self.server.half_sent.wait(TIMEOUT))
        part = self.folder / "data/alpaca_data.json.part"
        while part.stat().st_size == 0 and process.poll() is None:  # sent, and not yet written
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        begun = part.stat().st_size
        self.assertGreater(begun, 0)
        self.fetch("alpaca")
        self.assertEqual((self.folder / "data/alpaca_data.json").read_bytes(), ALPACA)
        self.assertEqual(self.server.requests[-1][1], f"bytes={begun}-")

    def test_a_proxy_and_a_folder_are_taken(self):
        self.fetch("alpaca", "--to", "there", "--mirror", "http://nowhere.invalid", http_proxy=self.server.address)
        self.assertEqual((self.folder / "there/alpaca_data.json").read_bytes(), ALPACA)
        self.assertTrue(self.server.requests[0][0].startswith("http://nowhere.invalid/"))

    def test_an_unknown_name_has_a_suggestion(self):
        self.assertEqual(self.fetch("alpacca", code=2).stderr,
                         "exprun: error: data fetch: 'alpacca' is not in the catalogue, did you mean 'alpaca'?\n")

    def test_no_other_command_loads_libcurl(self):
        libraries = subprocess.run(["ldd", BUILD / "exprun"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("curl", libraries)


if __name__ == "__main__":
    unittest.main()
