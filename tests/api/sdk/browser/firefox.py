"""Firefox over WebDriver BiDi (W3C): pages are opened, and expressions evaluated in them."""

import itertools
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

_LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


@dataclass
class Firefox:
    """A tab of a Firefox of its own."""

    socket: Any
    tab: str = ""
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command, and return its result; AssertionError for one that fails."""
        number = next(self.numbers)
        self.socket.send_text(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer: dict[str, Any] = json.loads(self.socket.receive_text(timeout=60))
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                result: dict[str, Any] = answer["result"]
                return result

    def goto(self, url: str) -> None:
        """Open a page, and wait until it has loaded."""
        self.send("browsingContext.navigate", context=self.tab, url=url, wait="complete")

    def evaluate(self, expression: str, tab: str = "") -> Any:
        """Return the value of an expression in a tab, its own by default: a text, a number or a boolean."""
        target = {"context": tab or self.tab}
        result = self.send("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert result["type"] == "success", result
        return result["result"].get("value")


@contextmanager
def opened_firefox() -> Iterator[Firefox]:
    """Start the Firefox of the machine with a profile of its own."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    assert program, "needs Firefox: apt-get install firefox-esr"
    with tempfile.TemporaryDirectory() as profile:
        command = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                address = next(found[1] for line in process.stderr if (found := _LISTENING.search(line)))
                with httpx2.websocket(f"{address}/session", max_message_size_bytes=2**24) as socket:
                    firefox = Firefox(socket)
                    firefox.send("session.new", capabilities={})
                    firefox.tab = firefox.send("browsingContext.create", type="tab")["context"]
                    yield firefox
            finally:
                process.kill()
