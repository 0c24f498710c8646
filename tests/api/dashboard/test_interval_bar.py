"""Interval bars: places in percent of the width, one axis for all rows, and arrows where an end is beyond."""

import pytest
from jinja2 import DictLoader, Environment, FileSystemLoader
from jinja2.loaders import ChoiceLoader

from api.dashboard import formats
from api.dashboard.interval_bar import Axis, IntervalBar, axis_of
from api.dashboard.page_answers import FOLDER
from engine.analysis.results.variant_result import Interval


def an_interval(low: float | None, high: float | None) -> Interval:
    return Interval(low=low, high=high, level=95.0)


def drawn(bar: IntervalBar) -> str:
    use = "{% from 'bars.html' import interval_bar %}{{ interval_bar(bar) }}"
    loader = ChoiceLoader([FileSystemLoader(FOLDER), DictLoader({"use": use})])
    environment = Environment(loader=loader, autoescape=True)
    environment.filters.update(formats.FILTERS)
    return environment.get_template("use").render(bar=bar)


def test_the_last_number_of_an_axis_has_room_beside_it() -> None:
    places = [place for _, place in Axis(0.2).numbers]
    assert places == [10, 30, 50, 70, 90]


def test_all_of_an_interval_is_in_its_place() -> None:
    bar = IntervalBar(point=0.158, interval=an_interval(0.116, 0.202), axis=0.2, margin=0.1, tone="positive")
    assert bar.thick is not None
    assert (bar.place, bar.thick.low, bar.thick.width) == (81.6, 73.2, 17.2)
    assert bar.zone is not None
    assert (bar.zone.low, bar.zone.high) == (30, 70)
    svg = drawn(bar)
    assert 'aria-label="+15.8%, from +11.6% to +20.2%"' in svg
    assert 'class="bar positive"' in svg
    assert "style=" not in svg


@pytest.mark.parametrize(("low", "high"), [(-0.3, 0.1), (None, 0.1), (-0.1, 0.3), (-0.1, None)])
def test_what_goes_on_beyond_the_axis_ends_in_an_arrow(low: float | None, high: float | None) -> None:
    inside = IntervalBar(
        point=0, interval=an_interval(-0.1, 0.1), every_look=an_interval(-0.2, 0.2), axis=0.2
    )
    beyond = IntervalBar(point=0, interval=inside.interval, every_look=an_interval(low, high), axis=0.2)
    assert beyond.thin is not None
    assert 0 <= beyond.thin.low <= beyond.thin.high <= 100
    assert drawn(beyond).count(" 0 0") == 1 + drawn(inside).count(" 0 0")


def test_the_axis_is_that_of_the_widest_interval_and_at_most_half() -> None:
    narrow, wide = an_interval(-0.01, 0.03), an_interval(-0.22, 0.1)
    assert axis_of([narrow]).limit == 0.05
    assert axis_of([narrow, None, wide]).limit == 0.2
    assert axis_of([an_interval(None, 9)]).limit == 0.5
    assert axis_of([]).limit > 0
