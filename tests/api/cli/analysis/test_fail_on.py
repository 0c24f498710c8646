"""Recommendations of `--fail-on`."""

import pytest
import typer

from api.cli.analysis.fail_on import recommendations


def test_recommendations_are_separated_by_commas() -> None:
    assert recommendations(None) == frozenset()
    assert recommendations("fix_data, rollback,fix_data") == {"fix_data", "rollback"}


@pytest.mark.parametrize("text", ["", "loser", "ship,,rollback", "Ship"])
def test_others_are_refused_with_those_that_are_known(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="keep_running, review, insufficient_data, fix_data"):
        recommendations(text)
