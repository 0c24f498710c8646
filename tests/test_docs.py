"""What exists is documented: every setting, command, operation, scope and error code."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from api.app import create_app
from api.cli.app import app
from api.errors import ERROR_CODES, ErrorCode
from engine.analysis.comparison import pair_interactions
from engine.analysis.health import (
    events,
    group_overlap,
    identity_conflicts,
    implausible_lift,
    late_visits,
    other_currencies,
    pre_period_balance,
    revenue_concentration,
    sample_ratio,
    senders,
    several_variants,
)
from engine.analysis.health.check_result import SAMPLE_RATIO_ALARM
from engine.analysis.health.checks import CHECKS
from engine.analysis.results.verdict_words import CHECK_WORDS
from engine.design.planning.required_sample import POWER
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


# What the code compares with, as the page says it.
THRESHOLDS = [
    ("sample_ratio", f"`always_valid_p_value` < {SAMPLE_RATIO_ALARM}"),
    ("sample_ratio", f"`p_value` < {sample_ratio.SAMPLE_RATIO_WARNING}"),
    ("sample_ratio_by_segment", f"p < {SAMPLE_RATIO_ALARM}"),
    ("several_variants", f"over {several_variants.SEVERAL_VARIANTS_ALARM:.0%}"),
    ("several_variants", f"from {several_variants.SEVERAL_VARIANTS_WARNING:.1%}"),
    ("several_units", f"over {several_variants.SEVERAL_VARIANTS_ALARM:.0%}"),
    ("identity_conflicts", f"from {identity_conflicts.IDENTITY_CONFLICTS_WARNING:.0%}"),
    ("group_overlap", f"from {group_overlap.GROUP_OVERLAP_WARNING:.0%}"),
    ("measured_visitors", f"always-valid p < {SAMPLE_RATIO_ALARM}"),
    ("alike_before", f"p < {pre_period_balance.IMBALANCE_ALARM}"),
    ("bots", f"from {events.BOTS_WARNING:.0%}"),
    ("late_visits", f"from {late_visits.LATE_WARNING:.0%}"),
    ("underpowered", f"{POWER:.0%} power"),
    ("implausible_lift", f"+{implausible_lift.IMPLAUSIBLE_RATIO - 1:.0%}"),
    ("implausible_lift", f"deviation {implausible_lift.TYPICAL_DEVIATION:.0%}"),
    ("revenue_concentration", f"over {revenue_concentration.LARGEST_SHARE:.0%}"),
    ("revenue_concentration", f"{revenue_concentration.TIMES_THE_AVERAGE} times"),
    ("other_currencies", f"from {other_currencies.ALARM_SHARE:.0%}"),
    ("interacting_tests", f"at most {pair_interactions.FALSE_DISCOVERY_RATE:.0%}"),
    ("refunds_above_orders", f"over {senders.OVERDRAWN_SHARE:.0%}"),
    ("bursts", f"{senders.FEW_VISITORS} or more"),
    ("bursts", f"{senders.TIMES_THE_AVERAGE_MINUTE} times"),
    ("visitors_by_address", f"{senders.ADDRESS_SHARE:.1%}"),
]


def check_rows() -> dict[str, list[str]]:
    """The cells of each health check on its page, by the name of the check."""
    cells = [line.strip("|").split("|") for line in lines_of("health-checks.md") if line.startswith("| [`")]
    return {row[0].split("`")[1]: [cell.strip() for cell in row] for row in cells}


def test_every_health_check_has_a_row_in_the_order_of_reports() -> None:
    rows = check_rows()
    assert list(rows) == [check.__name__ for check in CHECKS]
    for name, (link, sentence, tested, *_, advice) in rows.items():
        assert link == f"[`{name}`](verdicts.md#{name})"
        assert sentence == CHECK_WORDS[name].sentence
        assert tested
        assert advice.endswith(".")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_check_has_the_levels_that_its_row_says(check: Callable[..., object]) -> None:
    alarm, warning = check_rows()[check.__name__][3:5]
    source = inspect.getsource(check).lower()
    assert ("alarm" in source) == bool(alarm)
    assert ("warn" in source) >= bool(warning and not alarm)


@pytest.mark.parametrize(("check", "threshold"), THRESHOLDS)
def test_the_threshold_of_a_check_is_that_of_the_code(check: str, threshold: str) -> None:
    assert threshold in " | ".join(check_rows()[check])


def test_sections_that_reports_link_to_say_what_to_do() -> None:
    text = "\n".join(lines_of("verdicts.md"))
    # What one visitor does to a verdict has the same section.
    rows = check_rows()
    assert len(rows) > 15
    for name, row in rows.items():
        assert name == "one_visitor" or f"### {name}\n\n{row[1]}\n\n{row[-1]}\n" in text + "\n"


@pytest.mark.parametrize(
    "term",
    [
        *("Exposure", "Conversion", "Variant", "Control", "Goal", "Lift", "Posterior", "Credible interval"),
        *("Standard error", "Sample ratio mismatch (SRM)", "Confidence sequence", "Group sequential test"),
        *("Peeking", "p value", "Power", "Guardrail", "CUPED", "Unit", "Verdict"),
    ],
)
def test_the_glossary_has_the_words_of_the_field(term: str) -> None:
    lines = lines_of("glossary.md")
    assert lines[lines.index(f"**{term}**") + 1].startswith(":   ")


def test_the_glossary_is_in_alphabetical_order() -> None:
    terms = [line.strip("*").lower() for line in lines_of("glossary.md") if line.startswith("**")]
    assert len(terms) > 20
    assert terms == sorted(terms)
