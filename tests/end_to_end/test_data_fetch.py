"""`exprun data fetch` against a real server on loopback that does what servers do: drops connections, answers
ranges or does not, says 404 and 503, sends wrong bytes."""
import hashlib
import http.server
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from support import BUILD, TIMEOUT, fixture

ALPACA = b"[" + b", ".join([b'{"instruction": "say", "input": "", "output": "hello"}'] * 40_000) + b"]"
ADDRESS = "/tatsu-lab/stanford_alpaca/main/alpaca_data.json"
PAGE = b"<html>Please log in</html>"


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` by path; `faults` are taken one a request: a status, ("drop", bytes), "held" (half of
    it, and the rest once `go` is set), "together" (when so many requests are there as `barrier` waits for), "torn" (half of
    it, without a length), "page" (a login's), "shifted" (another range). `ranges`: whether it knows them, and `conditions`
    whether If-Range too. `tag` and `modified` tell versions."""
    daemon_threads = True
    ranges = conditions = True
    tag, modified = '"1"', None

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.faults, self.requests = {}, [], []
        self.half_sent, self.go, self.barrier = threading.Event(), threading.Event(), threading.Barrier(2)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        path = re.sub("^http://[^/]*", "", self.path)
        ranged = self.headers.get("Range")
        server.requests.append((self.path, ranged))
        fault = server.faults.pop(0) if server.faults else None
        body = server.files.get(path)
        if isinstance(fault, int) or body is None:
            return self.send_error(fault if isinstance(fault, int) else 404)
        if fault == "page":
            body = PAGE
        if fault == "together":
            server.barrier.wait(TIMEOUT / 4)
        same = not server.conditions or self.headers.get("If-Range", server.tag) in (server.tag, server.modified)
        start = int(re.match(r"bytes=(\d+)-", ranged)[1]) if ranged and server.ranges and same and fault != "page" else 0
        if start > len(body):
            return self.send_error(416)
        if start and fault == "shifted":
            start -= 1
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        for name, value in ("ETag", server.tag), ("Last-Modified", server.modified):
            if value:
                self.send_header(name, value)
        if fault != "torn":
            self.send_header("Content-Length", str(len(body) - start))
        self.send_header("Content-Type", "text/html; charset=utf-8" if fault == "page" else "application/octet-stream")
        self.end_headers()
        try:
            if fault == "held":
                self.wfile.write(body[start:len(body) // 2])
                self.wfile.flush()
                server.half_sent.set()
                server.go.wait(TIMEOUT)
                self.wfile.write(body[len(body) // 2:])
            elif isinstance(fault, tuple):
                self.wfile.write(body[start:start + fault[1]])
                self.wfile.flush()
                self.connection.close()
            else:
                self.wfile.write(body[start:len(body) // 2 if fault == "torn" else None])
        except OSError:
            pass


class Fetch(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.go.set)
        self.server.files = {ADDRESS: ALPACA}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def command(self, *words):
        return [BUILD / "exprun", "data", "fetch", *words]

    def environment(self, **more):
        clean = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        return {**clean, "EXPRUN_MIRROR": self.server.address, **more}

    def fetch(self, *words, code=0, **environment):
        result = subprocess.run(self.command(*words), cwd=self.folder, env=self.environment(**environment),
                                capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def begin(self, *words):
        process = subprocess.Popen(self.command(*words), cwd=self.folder, env=self.environment(), text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

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
        vocabulary = fixture(self, "data/vocab.bpe").read_bytes()
        self.server.files = {"/gpt-2/encodings/main/vocab.bpe": vocabulary,
                             "/gpt-2/encodings/main/encoder.json": fixture(self, "data/encoder.json").read_bytes()}
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
        self.refused("Transferred a partial file (after 1 retries); call again", "--retries", "1")
        self.assertEqual(len(self.server.requests), 2)

    def refused(self, problem, *words):
        """What the fetch of alpaca ends with; nothing is kept under the file's name."""
        said = self.fetch("alpaca", *words, code=1).stderr
        self.assertEqual(said, f"exprun: error: data fetch: '{self.server.address}{ADDRESS}': {problem}\n")
        self.assertFalse((self.folder / "data/alpaca_data.json").exists())

    def test_what_is_not_the_whole_file_is_not_kept(self):
        self.server.faults = ["torn"]
        self.refused("the server does not say where the file ends, so that a part of it would look whole; "
                     "give --mirror ADDRESS of one that does")
        self.server.faults = ["page"]
        self.refused("the server sends a page (text/html), not the file; is there a login or a proxy before it? "
                     "or give --mirror ADDRESS")
        self.server.faults = [204]
        self.refused("the server answers 204")
        self.assertEqual(len(self.server.requests), 3)
        self.assertEqual(list((self.folder / "data").iterdir()), [])
        for body, problem in ((b"", "is empty"), (ALPACA[:-1], "is no JSON, or not all of it")):
            self.server.files[ADDRESS] = body
            self.refused(f"what arrived {problem} (after 0 retries); call again", "--retries", "0")

    def test_only_what_goes_on_is_said_to_go_on(self):
        partial = "Transferred a partial file (after 0 retries); call again"
        self.server.faults = [("drop", 100_000)] * 2
        self.refused(partial + ", it goes on where it was", "--retries", "0")
        (self.folder / "data/alpaca_data.json.part").unlink()
        self.server.tag = None
        self.refused(partial, "--retries", "0")

    def test_a_part_is_kept_from_a_page(self):
        self.server.faults = [("drop", 100_000), "page"]
        self.refused("the server sends a page (text/html), not the file; is there a login or a proxy before it? "
                     "or give --mirror ADDRESS")
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
        self.refused("the server answers 404; it may have moved: give --mirror ADDRESS")
        self.assertEqual(len(self.server.requests), 1)
        self.assertEqual(list((self.folder / "data").iterdir()), [])

    def test_wrong_bytes_are_never_kept(self):
        vocabulary = fixture(self, "data/vocab.bpe").read_bytes()
        paths = "/gpt-2/encodings/main/vocab.bpe", "/gpt-2/encodings/main/encoder.json"
        self.server.files = {paths[0]: b"X" + vocabulary[1:],
                             paths[1]: fixture(self, "data/encoder.json").read_bytes()}
        result = self.fetch("gpt2_tokenizer", "--retries", "1", "--parallel", "1", code=1)
        self.assertIn("what arrived has another SHA-256 than 1ce16647", result.stderr)
        self.assertFalse((self.folder / "data/gpt2_tokenizer/vocab.bpe").exists())
        self.server.files[paths[0]] = vocabulary
        self.fetch("gpt2_tokenizer")
        found = (self.folder / "data/gpt2_tokenizer/vocab.bpe").read_bytes()
        self.assertEqual(hashlib.sha256(found).digest(), hashlib.sha256(vocabulary).digest())

    def test_a_damaged_shard_is_noticed(self):
        self.server.files["/datasets/kjj0/fineweb10B-gpt2/resolve/main/fineweb_val_000000.bin"] = b"short"
        result = self.fetch("fineweb10b", "--shards", "1", "--retries", "0", "--parallel", "1", code=1)
        self.assertIn("fineweb_val_000000.bin': what arrived has 5 bytes instead of 200001024 (after 0 retries)",
                      result.stderr)
        result = self.fetch("fineweb10b", "--shards", "104", code=2)
        self.assertEqual(result.stderr, "exprun: error: data fetch: fineweb10b has 103 training shards\n")

    def test_files_come_side_by_side(self):
        paths = [f"/gpt-2/encodings/main/{name}" for name in ("vocab.bpe", "encoder.json")]
        for path in paths:
            self.server.files[path] = fixture(self, "data/" + path.rsplit("/", 1)[1]).read_bytes()
        self.server.faults = ["together", "together"]
        self.fetch("gpt2_tokenizer", "--retries", "0")
        self.assertEqual(sorted(path for path, _ in self.server.requests), sorted(paths))

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
