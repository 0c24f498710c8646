"""The help of `truelift.analyze` names every argument, and its example runs."""

import doctest
import inspect
import math
import pickle
import pydoc
import re
from inspect import isfunction

import pytest

import truelift


def test_the_example_runs() -> None:
    # Not by its module, which is `truelift` once the name was asked for.
    (example,) = doctest.DocTestFinder().find(truelift.analyze, "analyze", module=False, globs={})
    ran = doctest.DocTestRunner().run(example)
    assert ran.attempted >= 4
    assert ran.failed == 0


def test_every_argument_is_described_in_order() -> None:
    help_text = inspect.getdoc(truelift.analyze) or ""
    arguments = help_text.partition("Args:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^    (\w+): [A-Z`]", arguments, re.MULTILINE) == [
        *inspect.signature(truelift.analyze).parameters
    ]


def test_the_help_fits_a_screen_and_names_the_function_as_it_is_called() -> None:
    screen = pydoc.plain(pydoc.render_doc(truelift.analyze)).splitlines()
    # Python 3.13 and newer write each argument of the signature on a line of its own.
    assert 30 < sum(math.ceil(len(line) / 110) or 1 for line in screen) <= 56
    assert "truelift.analyze(" in screen[3]
    assert "function analyze in module truelift" in screen[0]
    assert screen[2].startswith("analyze(df: Any = None, *, control: object, goals: ")


def test_every_public_function_is_named_as_it_is_called() -> None:
    functions = {name: value for name in truelift.__all__ if isfunction(value := getattr(truelift, name))}
    assert len(functions) > 10
    for name, function in functions.items():
        assert f"{function.__module__}.{function.__qualname__}" == f"truelift.{name}"
        with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'goal'"):
            function(goal="bought")
        assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301


@pytest.mark.parametrize(
    "kind", ["Converted", "Revenue", "Count", "Value", "Mean", "Retained", "Ratio", "Funnel"]
)
def test_the_help_of_a_goal_describes_its_options(kind: str) -> None:
    goal = getattr(truelift, kind)
    options = [
        name for name, one in inspect.signature(goal).parameters.items() if one.kind is one.KEYWORD_ONLY
    ]
    described = (inspect.getdoc(goal) or "").partition("Options:\n")[2]
    assert re.findall(r"^    (\w+): [a-zA-Z]", described, re.MULTILINE) == options
