"""A headless Chromium, spoken to over a pipe in the DevTools protocol: no package needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from typing import Any

# Only a browser that hangs reaches it.
PATIENCE = 120.0
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """Return the path of a browser, if one is installed."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Chromium:
    """A browser with one page; `problems` gathers the complaints of its console and its log."""

    def __init__(self, program: str, profile: Path) -> None:
        # Chromium reads commands from its descriptor 3 and writes to 4.
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]

        def place_pipes() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=place_pipes,
            pass_fds=(3, 4),
        )
        for end in (commands, answers, *ends):
            os.close(end)
        self._last = 0
        self._rest = b""
        self._events: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.requests: list[str] = []
        pages = self._call("Target.getTargets", {}, session=None)["targetInfos"]
        (page,) = (info for info in pages if info["type"] == "page")
        attach = {"targetId": page["targetId"], "flatten": True}
        self._session = self._call("Target.attachToTarget", attach, session=None)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, page: Path | str, *, width: int, height: int = 800, dark: bool = False) -> None:
        """Load a file or a link in a window of some width; forget earlier problems."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", {"features": [scheme]})
        self._events.clear()
        link = page if isinstance(page, str) else page.as_uri()
        # A link that differs in its fragment alone would not be loaded again.
        self.call("Page.navigate", {"url": "about:blank"})
        self._await("Page.loadEventFired")
        self.problems.clear()
        self.requests.clear()
        self.call("Page.navigate", {"url": link})
        self._await("Page.loadEventFired")

    def _await(self, event: str) -> None:
        while not any(each["method"] == event for each in self._events):
            self._take(self._receive())
        self._events.clear()

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        promise = (
            "new Promise(resolve => { const look = () => (" + condition + ") ? resolve(true) "
            ": setTimeout(look, 20); look(); })"
        )
        self.call("Runtime.evaluate", {"expression": promise, "awaitPromise": True})

    def wait_for_paint(self) -> None:
        """Wait until the page is painted as it is now: `innerText` leaves out what never was."""
        frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.call("Runtime.evaluate", {"expression": frames, "awaitPromise": True})

    def press(self, key: str, code: str = "") -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": key, "code": code or key}
            self.call("Input.dispatchKeyEvent", event | (text if kind == "keyDown" else {}))

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Save a picture of the whole page."""
        picture = self.call("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(picture["data"]))

    def print_pdf(self) -> bytes:
        """Return the page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a command to the page and return the answer."""
        return self._call(method, params or {}, session=self._session)

    def close(self) -> None:
        """Ask the browser to leave."""
        try:
            self._call("Browser.close", {}, session=None)
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._to)
            os.close(self._from)

    def _call(self, method: str, params: dict[str, Any], session: str | None) -> dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._to, rest) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]
            self._take(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], PATIENCE)
            assert ready, "the browser hangs"
            piece = os.read(self._from, 1 << 16)
            assert piece, "the browser has left"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _take(self, event: dict[str, Any]) -> None:
        if "method" not in event:
            return
        self._events.append(event)
        details = event.get("params", {})
        if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.problems.append(json.dumps(details))
        elif event["method"] == "Runtime.consoleAPICalled":
            self.problems.append(json.dumps(details["args"]))
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
