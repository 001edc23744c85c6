"""A real server on loopback that does what servers do: drops connections, answers ranges or does not, says 302, 404 and
503, sends wrong bytes; and the tests' `exprun data fetch` that is sent there."""
import http.server
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import threading
import unittest

from support import BUILD, TIMEOUT

ALPACA = b"[" + b", ".join([b'{"instruction": "say", "input": "", "output": "hello"}'] * 40_000) + b"]"
ADDRESS = "/tatsu-lab/stanford_alpaca/main/alpaca_data.json"
PAGE = b"<html>Please log in</html>"


def small_shard():
    """Three tokens."""
    return struct.pack("<256i", 20240520, 1, 3, *[0] * 253) + bytes(6)


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` by path; `faults` are taken one a request: a status, ("drop", bytes), "held" (half of
    it, and the rest once `go` is set), "together" (when so many requests are there as `barrier` waits for), "page" (a login's),
    "shifted" (another range), "spoilt" (its first byte is another). `ranges`: whether it knows them. `moved` sends from a path
    to another address."""
    daemon_threads = True
    ranges = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.moved, self.faults, self.requests = {}, {}, [], []
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
        if path in server.moved:
            return self.send_on(server.moved[path])
        fault = server.faults.pop(0) if server.faults else None
        body = server.files.get(path)
        if isinstance(fault, int) or body is None:
            return self.send_error(fault if isinstance(fault, int) else 404)
        if fault == "page":
            body = PAGE
        if fault == "spoilt":
            body = b"?" + body[1:]
        if fault == "together":
            server.barrier.wait(TIMEOUT / 4)
        start = int(re.match(r"bytes=(\d+)-", ranged)[1]) if ranged and server.ranges and fault != "page" else 0
        if start > len(body):
            return self.send_error(416)
        if start and fault == "shifted":
            start -= 1
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
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
                self.wfile.write(body[start:])
        except OSError:
            pass

    def send_on(self, address):
        self.send_response(302)
        self.send_header("Location", address)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)


class FetchTest(unittest.TestCase):
    def setUp(self):
        self.server = self.serve()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def serve(self):
        """A server that has alpaca."""
        server = Server()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.go.set)
        server.files = {ADDRESS: ALPACA}
        return server

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

    def refused(self, problem, *words):
        """What the fetch of alpaca ends with; nothing is kept under the file's name."""
        said = self.fetch("alpaca", *words, code=1).stderr
        self.assertEqual(said, f"exprun: error: data fetch: '{self.server.address}{ADDRESS}': {problem}\n")
        self.assertFalse((self.folder / "data/alpaca_data.json").exists())
