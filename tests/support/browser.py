"""A real Chromium, driven through its DevTools protocol. https://chromedevtools.github.io/devtools-protocol/"""
import base64
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

import temporary_folder

TIMEOUT = 60  # seconds: ends what hangs


def program():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class WebSocket:
    """As much of RFC 6455 as the protocol needs: text messages, masked on the way there."""

    def __init__(self, url):
        host, _, path = url.removeprefix("ws://").partition("/")
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), TIMEOUT)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        assert b"101" in self.stream.readline()
        while self.stream.readline() not in (b"\r\n", b""):
            pass

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        length = bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0x80 | 126, size) if size < 65536 else struct.pack(
            ">BQ", 0x80 | 127, size)
        self.socket.sendall(b"\x81" + length + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        message = b""
        while True:
            first, second = self.stream.read(2)
            size = second & 0x7f
            if size == 126:
                (size,) = struct.unpack(">H", self.stream.read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.stream.read(8))
            message += self.stream.read(size)
            if first & 0x80:
                return message.decode()


class Browser:
    """One page. `problems` are its exceptions and what it writes to the console as an error or a warning."""

    def __init__(self, width=1280, height=1000):
        self.folder = tempfile.mkdtemp(prefix="exprun-browser-")
        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-port=0", f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"],
            # Relative: the path of a socket holds 107 bytes, and a temporary folder may lie deep.
            cwd=self.folder, env={**os.environ, "TMPDIR": "."}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        port = self.port()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
        page = json.load(urllib.request.urlopen(request, timeout=TIMEOUT))
        self.socket, self.number, self.problems, self.loaded = WebSocket(page["webSocketDebuggerUrl"]), 0, [], False
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def port(self):
        end = time.monotonic() + TIMEOUT
        file = pathlib.Path(self.folder, "DevToolsActivePort")
        while time.monotonic() < end:
            if file.exists() and (lines := file.read_text().splitlines()):
                return int(lines[0])
            assert self.process.poll() is None, "Chromium ended"
            time.sleep(0.05)
        raise TimeoutError("Chromium did not start")

    def close(self):
        self.socket.close()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        temporary_folder.remove(self.folder)

    def note(self, event):
        kind, of = event.get("method"), event.get("params", {})
        if kind == "Page.loadEventFired":
            self.loaded = True
        elif kind == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(of["exceptionDetails"]))
        elif kind == "Log.entryAdded" and of["entry"]["level"] in ("error", "warning"):
            self.problems.append(of["entry"]["text"])
        elif kind == "Runtime.consoleAPICalled" and of["type"] in ("error", "warning"):
            self.problems.append(json.dumps(of["args"]))

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.note(answer)

    def open(self, url):
        self.loaded = False
        self.call("Page.navigate", url=url)
        while not self.loaded:
            self.note(json.loads(self.socket.receive()))

    def value(self, expression):
        """What a JavaScript expression gives, as JSON carries it."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def key(self, name, code, text=None):
        """`text`: what the key writes, for one that does."""
        for kind in ("keyDown", "keyUp"):
            writes = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **writes)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def double_click(self, x, y):
        for count in (1, 2):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=count)

    def swipe(self, start, end):
        """One finger, from a point to another."""
        for kind, points in (("touchStart", [start]), ("touchMove", [end]), ("touchEnd", [])):
            self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y} for x, y in points])

    def drag(self, start, end):
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def screenshot(self, file, width=None, height=None):
        if width:
            self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        with open(file, "wb") as image:
            image.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
