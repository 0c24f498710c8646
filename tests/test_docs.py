"""What exists is documented: every setting, command, operation, scope and error code."""

import re
from pathlib import Path

import pytest
import typer

from api.app import create_app
from api.cli.app import app
from api.errors import ERROR_CODES, ErrorCode
from engine.measures.measure_table import CONFIG_MEASURES
from pipeline.events.rejections import CODES
from pipeline.settings import Settings
from pipeline.store.catalog.keys import SCOPES

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


def operations() -> list[str]:
    """Every operation as a row of docs/operations.md, made from the description that is served."""
    rows = []
    for path, methods in create_app(Settings()).openapi()["paths"].items():
        for method, operation in methods.items():
            schemes = [scheme for scheme in operation.get("security", []) if "bearer" in scheme]
            scopes = " or ".join(f"`{scope}`" for scheme in schemes for scope in scheme["bearer"]) or "none"
            name = f"`{operation['operationId']}`"
            purpose = operation["description"].partition("\n")[0]
            rows.append(f"| {name} | `{method.upper()} {path}` | {scopes} | {purpose} |")
    return rows


def lines_of(page: str) -> list[str]:
    return (ROOT / "docs" / page).read_text().splitlines()


@pytest.mark.parametrize("field", Settings.model_fields)
def test_setting_is_documented_with_its_default_and_meaning(field: str) -> None:
    info = Settings.model_fields[field]
    default = "unset" if info.default is None else f"`{info.default}`"
    row = f"| `TRUELIFT_{field.upper()}` | {default} | {info.description} |"
    assert row in lines_of("settings.md")


@pytest.mark.parametrize("command", commands())
def test_command_is_documented(command: str) -> None:
    assert f"truelift {command}" in DOCS


def test_operations_are_documented_with_path_scope_and_purpose() -> None:
    assert [
        line for line in lines_of("operations.md") if re.match(r"\| `\w+` \| `[A-Z]+ /", line)
    ] == operations()


@pytest.mark.parametrize("scope", SCOPES)
def test_scope_is_documented(scope: str) -> None:
    assert any(line.startswith(f"| `{scope}` |") for line in lines_of("operations.md"))


@pytest.mark.parametrize(("code", "row"), ERROR_CODES.items())
def test_error_code_is_documented_with_its_status(code: str, row: ErrorCode) -> None:
    assert any(line.startswith(f"| `{code}` | {row.status} | ") for line in lines_of("errors.md"))


@pytest.mark.parametrize(("code", "meaning"), CODES.items())
def test_code_of_a_rejected_event_is_documented_with_its_meaning(code: str, meaning: str) -> None:
    assert f"| `{code}` | {meaning} |" in lines_of("errors.md")


def test_links_between_documents_lead_somewhere() -> None:
    pages = [page for folder in (ROOT, ROOT / "docs", ROOT / "benchmarks") for page in folder.glob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)} -> {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []


if __name__ == "__main__":
    # Prints the table anew: paste it under "Operations".
    print("| operation | path | scope | what it does |\n|---|---|---|---|")  # noqa: T201 - a script's output
    print("\n".join(operations()))  # noqa: T201 - same


@pytest.mark.parametrize("name", CONFIG_MEASURES)
def test_every_measure_has_a_row(name: str) -> None:
    assert re.search(
        rf"^\| `{name}`[ |(]", (ROOT / "docs" / "experiment-settings.md").read_text(), re.MULTILINE
    )
