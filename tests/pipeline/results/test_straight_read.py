"""A straight read: how often a read of results comes back to a file that it has left."""

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from tests.builders import NOW
from tests.pipeline.working_store import a_purchase, a_working_store, an_exposure
from tests.source_tree import ROOT

# Lower it where a read becomes straighter; one that goes further has to say why.
MOST_RETURNS: Final = 170
OURS: Final = tuple(f"{ROOT / layer}/" for layer in ("engine", "pipeline", "api"))


@dataclass(slots=True)
class Trace:
    """Returns of calls between files: pairs of a calling and a called file that had been left before."""

    returns: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)
    _entered: Counter[str] = field(default_factory=Counter)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Take an event of the thread's profile."""
        file = frame.f_code.co_filename
        if event not in {"call", "return"} or not file.startswith(OURS):
            return
        caller = frame.f_back.f_code.co_filename if frame.f_back else ""
        if event == "return":
            self._entered[file] -= 1
            return
        # What NumPy or a dataclass calls is not a step of the read's own.
        if caller.startswith(OURS) and caller != file and file in self.files and not self._entered[file]:
            self.returns[caller, file] += 1
        self.files.add(file)
        self._entered[file] += 1


def test_a_read_with_nothing_kept_comes_back_to_few_files(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        exposures = [an_exposure(experiment, number % 2, f"v{number}") for number in range(300)]
        store.write(project, *exposures, *(a_purchase(f"v{number}") for number in range(60)))
        # What is imported late, and read once by a process, is no part of a read.
        expected = store.results.report(experiment, project, now=NOW)
        with store.rollup.publications.replacing([experiment.id]):
            pass
        trace, before = Trace(), sys.getprofile()
        sys.setprofile(trace)
        try:
            found = store.results.report(experiment, project, now=NOW)
        finally:
            sys.setprofile(before)
    assert found == expected
    assert len(trace.files) > 100
    assert len(trace.returns) <= MOST_RETURNS, trace.returns.most_common()
