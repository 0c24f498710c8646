"""Variants and their changes."""

import pytest

from engine.design.variants import Change, Variant
from engine.errors import InvalidDesignError


def a_change(change_id: str) -> Change:
    return Change(id=change_id, selector="#buy", action="modify_text", value="Buy now")


def test_a_variant_needs_an_id_and_a_name() -> None:
    variant = Variant(id="var_a", name="A")
    assert (variant.weight, variant.is_control, variant.changes) == (1.0, False, ())


def test_every_problem_of_a_variant_is_reported() -> None:
    with pytest.raises(InvalidDesignError) as error:
        Variant(id="", name=" ", weight=-1, changes=(a_change("chg"), a_change("chg")))
    fields = [problem.field for problem in error.value.problems]
    assert fields == ["id", "name", "weight", "changes[1].id"]
