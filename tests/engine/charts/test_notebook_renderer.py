"""Notebooks keep a chart as its data, and as a picture that needs no Vega."""

from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import altair as alt
import pytest
from PIL import Image, ImageChops

from engine.charts.altair_module import load_altair
from engine.charts.notebook_renderer import draw_in_notebooks
from engine.charts.pictures import spec_png
from engine.charts.report import chart_rates
from tests.engine.charts.test_report import a_report


@pytest.fixture(autouse=True)
def _renderer() -> Iterator[None]:
    before = alt.renderers.active
    draw_in_notebooks()
    yield
    alt.renderers.enable(before)


def test_a_chart_is_kept_as_its_data_and_as_svg() -> None:
    bundle: Any = chart_rates(a_report())._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v6+json"]["mark"]["type"] == "line"
    assert bundle["image/svg+xml"].startswith("<svg")
    assert "image/png" not in bundle


def test_a_chart_of_very_many_marks_is_kept_as_png() -> None:
    points = [{"x": number, "y": number % 7} for number in range(2_000)]
    data = load_altair().Data(values=points)
    bundle: Any = alt.Chart(data).mark_point().encode(x="x:Q", y="y:Q")._repr_mimebundle_()
    kept, drawn = b64decode(bundle["image/png"]), spec_png(bundle["application/vnd.vegalite.v6+json"])
    assert len(kept) < len(drawn)
    assert ImageChops.difference(*(Image.open(BytesIO(one)) for one in (kept, drawn))).getbbox() is None
    assert "image/svg+xml" not in bundle
