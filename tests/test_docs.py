"""What exists is documented: a reader finds every setting and every command."""

import re
from pathlib import Path

import pytest
import typer

from api.cli import app
from pipeline.settings import Settings

ROOT = Path(__file__).parent.parent
DOCS = "\n".join(path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])


def commands() -> list[str]:
    """Every command as it is typed, such as `keys create`."""
    group = typer.main.get_command(app)
    found = []
    for name, command in group.commands.items():  # type: ignore[attr-defined]  # a Typer app is a group
        inner = getattr(command, "commands", None)
        found.extend([name] if inner is None else [f"{name} {one}" for one in inner])
    return found


@pytest.mark.parametrize("field", Settings.model_fields)
def test_setting_is_documented_with_its_default_and_meaning(field: str) -> None:
    info = Settings.model_fields[field]
    default = "unset" if info.default is None else f"`{info.default}`"
    row = f"| `TRUELIFT_{field.upper()}` | {default} | {info.description} |"
    assert row in (ROOT / "docs" / "settings.md").read_text().splitlines()


@pytest.mark.parametrize("command", commands())
def test_command_is_documented(command: str) -> None:
    assert f"truelift {command}" in DOCS


def test_links_between_documents_lead_somewhere() -> None:
    pages = [page for folder in (ROOT, ROOT / "docs", ROOT / "benchmarks") for page in folder.glob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)} -> {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
