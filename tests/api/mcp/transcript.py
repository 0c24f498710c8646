"""A conversation of the official client with the demo: python -m tests.api.mcp.transcript writes it."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from mcp import Client
from mcp_types import ContentBlock, TextContent

PAGE: Final = Path(__file__).parents[3] / "docs" / "mcp.md"
BEGIN: Final = "<!-- made by tests/api/mcp/transcript.py -->\n"
END: Final = "<!-- end -->\n"
EXPERIMENT: Final = "Larger product gallery"
_SERVED: Final = re.compile(r"Serving on (\S+) with the key (\S+)")
_ID: Final = re.compile(r"\b(prj|exp)_[0-9a-z]+\b")


def written() -> str:
    """The conversation in the page."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0]


def had(folder: Path) -> str:
    """Have the conversation with a demo in a folder."""
    with _served_demo(folder) as address:
        return anyio.run(_conversation, address)


async def _conversation(address: str) -> str:
    lines: list[str] = []

    async def call(tool: str, **arguments: str | bool) -> Any:
        answer = await client.call_tool(tool, arguments)
        lines.append(_request(tool, arguments))
        lines.extend(_answer(part) for part in answer.content)
        return answer.structured_content

    async with Client(address) as client:
        project = (await call("list_projects"))["data"][0]["id"]
        await call("list_experiments", project_id=project)
        await call("should_we_ship", experiment=EXPERIMENT, picture=True)
    return "\n".join(lines)


def _request(tool: str, arguments: Mapping[str, str | bool]) -> str:
    said = ", ".join(f"{name}={_ID.sub(_short, json.dumps(value))}" for name, value in arguments.items())
    return f"**{tool}**({said})\n"


def _answer(part: ContentBlock) -> str:
    if not isinstance(part, TextContent):
        return f"> *{part.type}: the forest plot*\n"
    text = part.text
    if text.startswith("{"):
        # Those of one moment come in any order.
        listed = sorted(json.loads(text)["data"], key=lambda one: str(one["name"]))
        named = [f"{one['name']} (`{_ID.sub(_short, one['id'])}`)" for one in listed]
        text = "`data`: " + ", ".join(named) + " …"
    return "".join(f"> {line}".rstrip() + "\n" for line in text.splitlines())


def _short(found: re.Match[str]) -> str:
    """Ids are drawn at random: show what kind they are."""
    return f"{found[1]}_…"


@contextmanager
def _served_demo(folder: Path) -> Iterator[str]:
    truelift = Path(sys.executable).with_name("truelift")
    command = [str(truelift), "demo", "--data-dir", str(folder), "--visitors", "20000", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as demo:
        try:
            served = next(found for line in demo.stdout or () if (found := _SERVED.search(line)))
            yield f"{served[1]}/mcp/{served[2]}/v2/mcp"
        finally:
            demo.terminate()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        PAGE.write_text(PAGE.read_text().replace(written(), had(Path(made) / "demo")))
