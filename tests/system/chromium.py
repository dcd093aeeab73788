"""Chromium, driven through the DevTools protocol (https://chromedevtools.github.io/devtools-protocol) over pipes."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")
FLAGS += ("--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe")
TO_BROWSER, FROM_BROWSER = 3, 4  # file descriptors that --remote-debugging-pipe reads and writes


class Chromium:
    """A browser with one page. requests: the addresses of all requests of the page."""

    def __init__(self, profile: Path) -> None:
        self.requests: list[str] = []
        ours, theirs = os.pipe(), os.pipe()  # (read, write): commands to the browser, messages from it
        command = [PROGRAM, *FLAGS, f"--user-data-dir={profile}"]
        redirect = f'exec "$@" {TO_BROWSER}<&{ours[0]} {FROM_BROWSER}>&{theirs[1]}'
        self.process = subprocess.Popen(
            ["bash", "-c", redirect, "bash", *command], pass_fds=(ours[0], theirs[1]), stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.commands, self.messages = os.fdopen(ours[1], "wb"), os.fdopen(theirs[0], "rb")
        self.last, self.session, self.unread = 0, "", b""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.commands.close()
        self.process.kill()
        self.process.wait()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        message |= {"sessionId": self.session} if self.session else {}
        self.commands.write(json.dumps(message).encode() + b"\0")
        self.commands.flush()
        while (answer := self._message()).get("id") != self.last:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def _message(self) -> dict[str, Any]:
        """Return the next message, and note the address if it announces a request."""
        while b"\0" not in self.unread:
            data = os.read(self.messages.fileno(), 1 << 16)
            assert data, "the browser ended"
            self.unread += data
        text, _, self.unread = self.unread.partition(b"\0")
        message = json.loads(text)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def resize(self, width: int, height: int = 900) -> None:
        """Set the size of the window in CSS pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, address: str) -> None:
        """Open an address and wait until the page is loaded."""
        self.send("Page.navigate", url=address)
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            pass

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page. A promise is awaited."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def type(self, text: str) -> None:
        """Press and release the key of each letter of a text."""
        for letter in text:
            key = {"key": letter, "windowsVirtualKeyCode": ord(letter.upper())}
            self.send("Input.dispatchKeyEvent", type="keyDown", text=letter, **key)
            self.send("Input.dispatchKeyEvent", type="keyUp", **key)

    def wait_for(self, script: str) -> Any:
        """Return the value of an expression as soon as it is true. Raises AssertionError after a minute."""
        waiting = f"""(async () => {{
          for (let i = 0; i < 1200; i++) {{
            const value = {script};
            if (value) return value;
            await new Promise((resolve) => setTimeout(resolve, 50));
          }}
        }})()"""
        value = self.run(waiting)
        assert value, f"never true: {script}"
        return value

    def picture(self, path: Path, whole: bool = False) -> None:
        """Write a picture of the page as PNG. whole: include what is below the window."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
