"""A team's own files, counted in parts: the results are those of their import."""

import pickle
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

from engine.local_days import epoch_microseconds
from pipeline.distributed.described_events import DescribedEvents, find_described
from pipeline.distributed.distributed_rollup import Extent, roll_up
from pipeline.distributed.event_files import SCHEMA, UnusableEventsError
from pipeline.distributed.output import new_output
from pipeline.imports.source_import import import_source
from pipeline.rollup.aggregates import add_up, negate
from pipeline.sources import object_store
from pipeline.sources.definition_files import InvalidSourceError, read_definition
from tests.builders import NOW, STARTED, a_goal
from tests.pipeline.distributed.drawn_projects import CountedProject
from tests.pipeline.distributed.one_process import OneProcess
from tests.pipeline.s3_server import an_s3_server
from tests.pipeline.working_store import WorkingStore, now_of

EXPOSURES = """
kind = "exposures"
location = "{folder}/seen-*.parquet"
[columns]
visitor = "customer"
variant = "arm"
experiment = "test"
timestamp = "seen_at"
segments = ["country"]
"""
ORDERS = """
kind = "events"
location = "{folder}/orders.parquet"
event = "order"
columns = {{ visitor = "customer", revenue = "amount", transaction = "order_no", timestamp = "at" }}
"""


def seen(first: int, last: int) -> pl.DataFrame:
    """Return one row of each customer, of whom the third ones saw both arms; some come twice."""
    numbers = [*range(first, last), *range(first, last, 5)]
    return pl.DataFrame(
        {
            "customer": [f"c{one}" for one in numbers],
            "arm": [
                ("Control", "Treatment 1")[(one + place // (last - first)) % 2]
                for place, one in enumerate(numbers)
            ],
            "test": ["Checkout button"] * len(numbers),
            "seen_at": [STARTED + timedelta(minutes=one) for one in numbers],
            "country": [("DE", "US")[one % 2] for one in numbers],
        }
    )


def orders() -> pl.DataFrame:
    """Return orders of every other customer, some sent twice and some before the exposure."""
    numbers = [*range(0, 60, 2), *range(0, 60, 6)]
    return pl.DataFrame(
        {
            "customer": [f"c{one}" for one in numbers],
            "order_no": [f"o{one}" for one in numbers],
            "amount": [one + 0.25 for one in numbers],
            "at": [STARTED + timedelta(minutes=one + (5 if one % 4 else -5)) for one in numbers],
        }
    )


def parquet(rows: pl.DataFrame) -> bytes:
    file = BytesIO()
    rows.write_parquet(file)
    return file.getvalue()


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of exposures and orders, and those that describe them."""
    folder = tmp_path_factory.mktemp("lake")
    seen(0, 40).write_parquet(folder / "seen-1.parquet")
    seen(40, 70).write_parquet(folder / "seen-2.parquet")
    orders().write_parquet(folder / "orders.parquet")
    for name, text in (("exposures", EXPOSURES), ("orders", ORDERS)):
        (folder / f"{name}.toml").write_text(text.format(folder=folder))
    return [folder / "exposures.toml", folder / "orders.toml"]


@pytest.fixture(scope="module")
def imported(module_store: WorkingStore, described: list[Path]) -> CountedProject:
    """A project that has imported them."""
    store = module_store
    project = store.add_project()
    goal = a_goal(goal_type="revenue", config={"event_name": "order"})
    experiment = store.add_experiment(project, goals=(goal,))
    for path in described:
        import_source(read_definition(path), project, store=store)
    store.rollup.refresh(project.id)
    return CountedProject(store=store, project=project, experiments=[now_of(store, experiment)])


def found(paths: list[Path], imported: CountedProject) -> list[DescribedEvents]:
    return find_described(
        paths, imported.project, imported.experiments, now_us=epoch_microseconds(NOW + timedelta(days=1))
    )


def events_of(tables: list[DescribedEvents]) -> pl.DataFrame:
    return pl.concat([rows for table in tables for rows in table.read(SCHEMA.names())])


def differing(imported: CountedProject, events: pl.DataFrame, folder: Path) -> list[str]:
    """Count events in parts, and list the experiments whose results are not those of the import."""
    wanted = imported.digests()
    assert min(one.digest[0] for one in wanted) == 70
    with new_output(folder, replace=False) as draft:
        extent = Extent(parts=3, at_once=1000, now=NOW)
        roll_up(OneProcess(events), imported.project, imported.experiments, extent, draft)
    pairs = zip(imported.experiments, wanted, imported.digests_of(folder), strict=True)
    return [
        one.id
        for one, before, after in pairs
        if before.digest != after.digest or not add_up([after.cells, negate(before.cells)]).is_empty()
    ]


def test_they_are_counted_as_their_import_is(
    imported: CountedProject, described: list[Path], tmp_path: Path
) -> None:
    tables = found(described, imported)
    assert [table.rows for table in tables] == [48, 36, 40]
    # Workers and executors get them pickled.
    sent: list[DescribedEvents] = pickle.loads(pickle.dumps(tables))  # noqa: S301 # made here
    assert differing(imported, events_of(sent), tmp_path / "out") == []


def test_files_on_s3_are_listed_once_and_read_by_those_who_count(
    imported: CountedProject, described: list[Path], tmp_path: Path
) -> None:
    with an_s3_server("lake"):
        for path in described[0].parent.glob("*.parquet"):
            with object_store.file_system().open_output_stream(f"lake/{path.name}") as file:
                file.write(path.read_bytes())
        for path in described:
            text = path.read_text().replace(str(path.parent), "s3://lake")
            (tmp_path / path.name).write_text(text)
        tables = found([tmp_path / path.name for path in described], imported)
        assert [table.table.name for table in tables][-1] == "s3://lake/orders.parquet"
        events = events_of(tables)
    assert differing(imported, events, tmp_path / "out") == []


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("test", "Another", "has exposures of 'Another', which the project does not have"),
        ("arm", "Third", "has exposures to 'Third', which is no variant of 'Checkout button'"),
        ("seen_at", None, "rows are unusable"),
    ],
)
def test_rows_that_do_not_fit_are_refused_by_name(
    imported: CountedProject, tmp_path: Path, column: str, value: str | None, sentence: str
) -> None:
    rows = seen(0, 4)
    rows.with_columns(pl.lit(value, rows.schema[column]).alias(column)).write_parquet(
        tmp_path / "seen-1.parquet"
    )
    (tmp_path / "exposures.toml").write_text(EXPOSURES.format(folder=tmp_path))
    with pytest.raises(UnusableEventsError, match=sentence):
        events_of(found([tmp_path / "exposures.toml"], imported))


def test_other_sources_are_refused(imported: CountedProject, described: list[Path], tmp_path: Path) -> None:
    visitors = """
kind = "visitors"
location = "a.parquet"
control = "a"
goals = { bought = "conversion" }
columns = { variant = "arm" }
"""
    database = ORDERS.replace("orders.parquet", "shop.duckdb").format(folder=tmp_path)
    (tmp_path / "shop.duckdb").write_bytes(b"")
    cases = {
        visitors: "a source of kind visitors has no events",
        f"project = 'prj_x'\n{ORDERS.format(folder=tmp_path)}": "is of the project prj_x, not of",
        f"table = 'orders'\n{database}": "shop.duckdb is no file",
    }
    for text, sentence in cases.items():
        (tmp_path / "other.toml").write_text(text)
        with pytest.raises(InvalidSourceError, match=sentence):
            found([tmp_path / "other.toml"], imported)
