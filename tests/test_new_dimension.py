"""The recipe of CONTRIBUTING.md for a segment dimension, carried out on stores from before."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests import old_store, pasted_lines
from tests.dimension_doors import Doors

# The program is started on a folder, whose catalog is the SQLite file in it.
pytestmark = pytest.mark.only_on("sqlite")

ROOT: Final = Path(__file__).parents[1]
# In a process of the changed program, on a store that it did not make: what every door shows.
STEPS: Final = """
import json, sys
from pathlib import Path
import pipeline
from tests.dimension_doors import Doors, value_of
folder, token, project, experiment, name = sys.argv[1:]
with Doors.opened_again(Path(folder), token, project, experiment) as doors:
    before = doors.visitors(experiment)
    new_in_old = doors.shown(name)
    imported = doors.bring_in([name])
    document = doors.customer.client.get("/openapi.json").json()
    parameters = [
        one["name"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for one in operation.get("parameters", ())
    ]
    found = {
        "program": str(Path(pipeline.__file__).parents[1]),
        "before": [*before],
        "without_values": new_in_old,
        "after": [*doors.visitors(experiment)],
        "filtered": [*doors.visitors(experiment, **{name: value_of(name)})],
        "other": [*doors.visitors(experiment, **{name: "another"})],
        "imported": [*doors.visitors(imported, **{name: value_of(name)})],
        "shown": doors.shown(name),
        "parameters": parameters.count(name),
    }
    project_id = project.rpartition("/")[2]
    found["drifted"] = doors.customer.services.rollup.rebuild(project_id).drifted
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class EarlierStore:
    """A store that the program made before its change, and the paths in it."""

    folder: Path
    token: str
    project: str
    experiment: str
    visitors: int


def by_this_version(folder: Path) -> EarlierStore:
    with Doors.opened(folder / "store") as doors:
        doors.track(*(doors.exposure(f"old {number}", number % 2) for number in range(5)))
        assert doors.visitors(doors.experiment) == {5}
        return EarlierStore(folder / "store", doors.customer.token, doors.project, doors.experiment, 5)


def by_version_0_1(folder: Path) -> EarlierStore:
    facts = old_store.facts()
    project = f"/projects/{facts['project']}"
    experiment = f"{project}/experiments/{facts['experiments']['shipping']}"
    with old_store.served(shutil.copytree(old_store.unpack(folder), folder / "copy")) as client:
        summary = old_store.ask(client, "GET", f"{experiment}/results/summary").json()["data"]
    visitors = sum(one["visitors"] for one in summary["variants"])
    return EarlierStore(folder / "store", facts["token"], project, experiment, visitors)


def insert(path: Path, before: str, code: str) -> None:
    """Insert code above the one line that is `before`."""
    text = path.read_text()
    assert text.count(f"\n{before}\n") == 1
    path.write_text(text.replace(f"\n{before}\n", f"\n{code}{before}\n"))


def changed_program(folder: Path) -> tuple[Path, str]:
    """Copy the program, and follow the recipe; returns the copy, and the name of the dimension."""
    recipe = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## A segment dimension\n")[2]
    row, reader = [code for language, code in pasted_lines.blocks_in(recipe) if language == "python"]
    no_files = shutil.ignore_patterns("__pycache__", "node_modules", "data")
    for name in ("api", "engine", "pipeline", "truelift", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=no_files)
    insert(folder / "pipeline/store/event_columns.py", "    custom: str | None = None", row)
    insert(folder / "pipeline/events/attributes.py", '    "visitor_identity": Reader(_identity),', reader)
    found = re.match(r"\s*(\w+): Annotated", row)
    assert found is not None
    return folder, found[1]


def carried_out(program: Path, name: str, store: EarlierStore) -> dict[str, Any]:
    """Run STEPS with the changed program."""
    arguments = (store.folder, store.token, store.project, store.experiment, name)
    done = subprocess.run(
        [sys.executable, "-c", STEPS, *map(str, arguments)],
        cwd=program,
        env={**os.environ, "PYTHONPATH": str(program)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(by_this_version, marks=pytest.mark.long(seconds=8)),
        pytest.param(by_version_0_1, marks=pytest.mark.long(seconds=30)),
    ],
)
def test_one_row_and_one_reader_add_a_dimension_that_every_door_shows(make: Any, tmp_path: Path) -> None:
    store = make(tmp_path / "before")
    program, name = changed_program(tmp_path / "program")
    found = carried_out(program, name, store)
    assert found.pop("program") == str(program)
    nothing: dict[str, Any] = {
        "available": [],
        "segments": {},
        "export": {},
        "form": [],
        "snapshot": {},
    }
    value, everyone = f"a {name}", store.visitors
    assert found == {
        "before": [everyone],
        "without_values": nothing,
        "after": [everyone + 2],
        "filtered": [2],
        "other": [0],
        "imported": [1],
        "shown": {
            "available": [value],
            "segments": {value: 2},
            "export": {value: 2},
            "form": [value],
            "snapshot": {value: 2},
        },
        "parameters": 4,
        "drifted": [],
    }
