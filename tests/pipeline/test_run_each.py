import pytest

from pipeline.run_each import run_each


def test_everything_has_its_turn_before_failures_are_raised() -> None:
    done: list[str] = []

    def fail() -> None:
        raise ValueError("out of order")

    work = {"a": fail, "b": lambda: done.append("b"), "c": fail, "d": lambda: done.append("d")}
    with pytest.raises(ExceptionGroup, match="2 of 4 failed") as caught:
        run_each(work)
    assert done == ["b", "d"]
    assert [error.__notes__ for error in caught.value.exceptions] == [["a"], ["c"]]


def test_nothing_is_raised_where_nothing_fails() -> None:
    run_each({})
    run_each({"a": lambda: None})
