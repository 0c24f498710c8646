"""The help of `truelift.analyze` names every argument, and its example runs."""

import doctest
import inspect
import re

import engine.frames.analyze
import truelift


def test_the_example_runs() -> None:
    ran = doctest.testmod(engine.frames.analyze)
    assert ran.attempted >= 5
    assert ran.failed == 0


def test_every_argument_is_described_in_order() -> None:
    help_text = inspect.getdoc(truelift.analyze) or ""
    arguments = help_text.partition("Args:\n")[2].partition("\nReturns:")[0]
    assert re.findall(r"^    (\w+): [A-Z`]", arguments, re.MULTILINE) == [
        *inspect.signature(truelift.analyze).parameters
    ]


def test_its_sections_are_there() -> None:
    help_text = inspect.getdoc(truelift.analyze) or ""
    assert re.findall(r"^(\w+):$", help_text, re.MULTILINE) == ["Args", "Returns", "Raises", "Example"]
