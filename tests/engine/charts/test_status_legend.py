from engine.analysis.results.status_words import STATUS_WORDS
from engine.charts.status_legend import legend_of


def test_a_legend_has_what_is_drawn_once_and_in_one_order() -> None:
    words, colours, shapes = legend_of(["inconclusive", "loser", "winner", "loser"])
    assert words == ["better", "worse", "no clear difference"]
    assert len(set(colours)) == len(set(shapes)) == 3
    assert legend_of([]) == ([], [], [])


def test_statuses_that_are_drawn_together_differ_in_colour_or_shape() -> None:
    for together in (
        ("winner", "loser", "inconclusive", "insufficient_data"),
        ("better", "worse", "differs", "inconclusive", "insufficient_data"),
    ):
        drawn = [status for status in STATUS_WORDS if status in together]
        assert len(set(zip(*legend_of(drawn), strict=True))) == len(together)
