"""Table of measures of the command `calibrate`, and its CSV file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from api.cli.console import err, figures_table, out, progress, save_records

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from engine.calibration.measure_errors.error_sides import MeasureErrors

RUNS: Final = 5_000
# Below the minimum of visitors.
NO_STATUS: Final = "no status"


def simulate(runs: int, seed: int) -> "list[MeasureErrors]":
    """Simulate one look at every measure."""
    from engine.calibration.measure_errors import error_sides, measure_cells

    found: list[MeasureErrors] = []
    with progress() as bar:
        task = bar.add_task("Measures", total=len(measure_cells.CELLS))
        for of_cell in error_sides.calibrate_measures(measure_cells.CELLS, runs=runs, seed=seed):
            found.extend(of_cell)
            bar.update(task, advance=1)
    return found


def print_table(found: "Sequence[MeasureErrors]") -> None:
    """Print the table of measures."""
    out.print(_table(found))


def missed(found: "Sequence[MeasureErrors]") -> list[str]:
    """Return a sentence if a bar is missed."""
    names = [f"{one.name}: {', '.join(one.missed)}" for one in found if one.missed]
    return [f"bars of measures missed beyond chance: {'; '.join(names)}"] if names else []


def _table(found: "Sequence[MeasureErrors]") -> "Table":
    from engine.calibration.measure_errors.error_sides import BARS

    title = f"Percent, {found[0].runs:,} runs each; ± is the simulation's own standard error"
    table = figures_table(title, ("measure", "values"), ("visitors", "with a\nstatus", *BARS))
    bars = [f"{'≥' if bar.is_least else '≤'} {bar.limit * 100:g}" for bar in BARS.values()]
    table.add_row("bar", "", "", "", *bars)
    before = None
    labels = [(one.measure, one.cell.shape.name) for one in found]
    for one in sorted(found, key=lambda one: labels.index((one.measure, one.cell.shape.name))):
        label = (one.measure, one.cell.shape.name)
        if label != before:
            table.add_section()
        names = label if label != before else ("", "")
        table.add_row(*names, one.cell.split, f"{one.with_status.value * 100:.0f}", *_cells(one, tuple(BARS)))
        before = label
    return table


def _cells(found: "MeasureErrors", names: tuple[str, ...]) -> "list[Text]":
    from rich.text import Text

    if not found.figures:
        return [Text(NO_STATUS)]
    cells = []
    for name in names:
        figure = found.figures.get(name)
        text = "" if figure is None else f"{figure.value * 100:.1f} ± {figure.error * 100:.1f}"
        cells.append(Text(text, style="red" if name in found.missed else ""))
    return cells


def save(found: "Sequence[MeasureErrors]", folder: Path) -> None:
    """Write measures.csv into a folder."""
    save_records([record_of(one) for one in found], folder / "measures.csv")
    err.print(f"Saved measures.csv in {folder}.", highlight=False)


def record_of(found: "MeasureErrors") -> dict[str, object]:
    """Describe a cell as a row: shares, and None where too few runs have a status."""
    from engine.calibration.measure_errors.error_sides import BARS, LIFT

    control, variant = found.cell.arms
    record: dict[str, object] = {
        "measure": found.measure,
        "values": found.cell.shape.name,
        "control_visitors": control,
        "variant_visitors": variant,
        "true_lift": LIFT,
        "runs": found.runs,
        "with_status": found.with_status.value,
        "with_status_error": found.with_status.error,
    }
    for name, bar in BARS.items():
        figure = found.figures.get(name)
        record |= {
            name: None if figure is None else figure.value,
            f"{name}_error": None if figure is None else figure.error,
            f"{name}_bar": bar.limit,
        }
    return record | {"missed": " ".join(found.missed)}
