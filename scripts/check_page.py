"""The browser test of the status page, called by check-page.sh: drives Chromium by its DevTools
protocol with nothing but Python's own library, and compares the page with /status.
Must not be in here: a hook in the page for this test."""

import base64
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

PATIENCE_S = 30
VIEWS = [(1280, 900, "light"), (1280, 900, "dark"), (360, 800, "light"), (360, 800, "dark")]


class DevTools:
    """A WebSocket to one page of the browser."""

    def __init__(self, url):
        host, port, path = re.match(r"ws://([^:/]+):(\d+)(/.*)", url).groups()
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.stream = self.socket.makefile("rb")
        status = self.stream.readline()
        if b" 101 " not in status:
            raise RuntimeError(f"no WebSocket: {status!r}")
        while self.stream.readline() not in (b"\r\n", b""):
            pass
        self.sent = 0
        self.events = []

    def call(self, method, **parameters):
        self.sent += 1
        text = json.dumps({"id": self.sent, "method": method, "params": parameters}).encode()
        self._send(0x81, text)
        while True:
            message = json.loads(self._receive())
            if message.get("id") == self.sent:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def _send(self, first, payload):
        mask = os.urandom(4)
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", first, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", first, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", first, 0x80 | 127, size)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        self.socket.sendall(head + mask + masked)

    def _receive(self):
        whole = b""
        while True:
            first, size = struct.unpack("!BB", self.stream.read(2))
            size &= 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", self.stream.read(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self.stream.read(8))
            payload = self.stream.read(size)
            kind = first & 0x0F
            if kind == 9:
                self._send(0x8A, payload)
            elif kind == 8:
                raise RuntimeError("the browser has closed the connection")
            else:
                whole += payload
                if first & 0x80:
                    return whole


def fail(text):
    raise SystemExit(f"check-page: {text}")


def wait(what, look):
    until = time.monotonic() + PATIENCE_S
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > until:
            fail(f"waited in vain: {what}")
        time.sleep(0.2)


def get(url):
    # A proxy of the environment is not meant for a process at hand.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=10) as answer:
        return answer.headers, answer.read().decode()


def start(browser, profile):
    arguments = [
        browser, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}",
        "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
        "--no-proxy-server", "about:blank",
    ]
    if os.geteuid() == 0:
        # The browser refuses its sandbox to root.
        arguments.insert(1, "--no-sandbox")
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def connect(profile):
    port_file = os.path.join(profile, "DevToolsActivePort")

    def port():
        try:
            with open(port_file, encoding="ascii") as file:
                return file.readline().strip()
        except OSError:
            return None

    found = wait("the browser listens", port)
    pages = json.loads(get(f"http://127.0.0.1:{found}/json/list")[1])
    page = next(page for page in pages if page["type"] == "page")
    tools = DevTools(page["webSocketDebuggerUrl"])
    for domain in ("Page", "Runtime", "Log", "Network"):
        tools.call(f"{domain}.enable")
    return tools


# What the page shows: the big word, and of each route the rows of its table.
SHOWN = """JSON.stringify({
  word: document.getElementById('word').textContent,
  routes: [...document.querySelectorAll('.route')].map((route) => ({
    name: route.querySelector('h2 span').textContent,
    curves: route.querySelectorAll('svg .curve').length,
    rows: [...route.querySelectorAll('tbody tr')].map((row) =>
      [row.cells[0].textContent, row.cells[1].textContent]),
  })),
})"""

# Elements that reach beyond the window and do not stand in something that scrolls by itself.
BEYOND = """JSON.stringify({
  page: document.documentElement.scrollWidth, window: window.innerWidth,
  elements: [...document.querySelectorAll('body *')].filter((element) => {
    if (element.getBoundingClientRect().right <= window.innerWidth + 1) return false;
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.overflowX !== 'visible' || style.clipPath !== 'none') return false;
    }
    return true;
  }).map((element) => element.tagName + '.' + element.className).slice(0, 5),
})"""


def check_shown(tools, status):
    def shown():
        now = json.loads(tools.evaluate(SHOWN))
        return now if now["word"] != "asking" else None

    shown = wait("the page shows an answer", shown)
    if (shown["word"] == "ready") != status["ready"]:
        fail(f"the word is {shown['word']!r}, /status says ready={status['ready']}")
    names = [route["name"] for route in status["routes"]]
    if [route["name"] for route in shown["routes"]] != names:
        fail(f"routes shown: {shown['routes']}, expected {names}")
    for route, told in zip(shown["routes"], status["routes"]):
        numbers = [int(row[0]) for row in route["rows"]]
        if numbers != [partition["partition"] for partition in told["partitions"]]:
            fail(f"partitions of {told['name']} shown: {numbers}")
        for row, partition in zip(route["rows"], told["partitions"]):
            if status["ready"] and partition["state"] not in row[1]:
                fail(f"{told['name']} partition {row[0]} is shown as {row[1]!r}")
        if told["partitions"] and len(told["history"]) > 1 and route["curves"] < 2:
            fail(f"no curves of {told['name']} are drawn")


def check_view(tools, url, out, view):
    width, height, scheme = view
    tools.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
               deviceScaleFactor=1, mobile=width < 500)
    tools.call("Emulation.setEmulatedMedia",
               features=[{"name": "prefers-color-scheme", "value": scheme}])
    tools.call("Page.navigate", url=url)
    wait("the page loads", lambda: tools.evaluate(
        "location.href !== 'about:blank' && document.readyState === 'complete'"
        " && !!document.getElementById('word')"))
    check_shown(tools, json.loads(get(url + "status")[1]))
    beyond = json.loads(tools.evaluate(BEYOND))
    if beyond["page"] > width or beyond["window"] != width or beyond["elements"]:
        fail(f"at {width} px the page reaches beyond the window: {beyond}")
    size = tools.call("Page.getLayoutMetrics")["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": width, "height": min(size["height"], 4000), "scale": 1}
    picture = tools.call("Page.captureScreenshot", format="png", clip=clip,
                         captureBeyondViewport=True)
    with open(os.path.join(out, f"page-{width}-{scheme}.png"), "wb") as file:
        file.write(base64.b64decode(picture["data"]))


def check_quiet(tools, url):
    """No error in the console, and nothing was asked of anybody else."""
    for event in tools.events:
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            fail(f"the page's script failed: {parameters['exceptionDetails']}")
        entry = parameters.get("entry", {})
        if event.get("method") == "Log.entryAdded" and entry.get("level") == "error":
            fail(f"the browser logged: {entry}")
        if event.get("method") == "Network.requestWillBeSent":
            asked = parameters["request"]["url"]
            if not asked.startswith((url, "data:", "about:")):
                fail(f"the page asked for {asked}")


def word_is(tools, word):
    return lambda: tools.evaluate("document.getElementById('word').textContent") == word


def check_live(tools):
    def heard():
        return tools.evaluate("document.getElementById('heard').textContent")

    before = heard()
    wait("the page asks again by itself", lambda: heard() != before)


def check_silence(tools):
    said = tools.evaluate("document.getElementById('word').textContent")
    cut = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    tools.call("Network.emulateNetworkConditions", offline=True, **cut)
    wait("the page says that it cannot reach the process", word_is(tools, "no answer"))
    tools.call("Network.emulateNetworkConditions", offline=False, **cut)
    wait(f"the page says {said!r} again", word_is(tools, said))


def check_foreign_script(tools):
    tools.evaluate("{ const script = document.createElement('script');"
                   " script.textContent = 'window.foreign = true';"
                   " document.body.append(script); }")
    if tools.evaluate("window.foreign === true"):
        fail("a script that is not the page's own was run")


def main():
    browser, url, out = sys.argv[1:]
    url = url.rstrip("/") + "/"
    headers, _ = get(url)
    if "default-src 'none'" not in headers.get("Content-Security-Policy", ""):
        fail("the page has no Content-Security-Policy")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = start(browser, profile)
        try:
            tools = connect(profile)
            for view in VIEWS:
                check_view(tools, url, out, view)
            check_live(tools)
            check_quiet(tools, url)
            check_silence(tools)
            check_foreign_script(tools)
            with open(os.path.join(out, "page.html"), "w", encoding="utf-8") as file:
                file.write(tools.evaluate("document.documentElement.outerHTML"))
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)
    print(f"check-page: the page shows what /status says, at {len(VIEWS)} sizes and colours; "
          f"pictures in {out}")


main()
