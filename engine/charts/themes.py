"""Themes of charts: colours that colour-blind readers tell apart, on light and dark pages."""

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

Theme = Literal["light", "dark", "page"]

# Okabe and Ito (2008), Color Universal Design; without black and yellow, which one of the pages swallows.
BLUE: Final = "#0072B2"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
ORANGE: Final = "#E69F00"
VERMILION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
GREY: Final = "#8A8A8A"
SERIES: Final = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, GREY)
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")

_INK: Final[Mapping[Theme, str]] = {"light": "#222222", "dark": "#E8E8E8", "page": "currentColor"}
_PAPER: Final[Mapping[Theme, str]] = {"light": "#FFFFFF", "dark": "#171b22", "page": "transparent"}


def ink_of(theme: Theme) -> str:
    """Return the colour of text; ValueError for a theme that does not exist.

    On a `page` it is the text colour of the element around the chart.
    """
    if theme not in _INK:
        raise ValueError(f"the theme {theme!r} is none of {', '.join(get_args(Theme))}")
    return _INK[theme]


def config_of(theme: Theme) -> dict[str, Any]:
    """Return the configuration of Vega-Lite that draws a chart in a theme; ValueError for an unknown one."""
    ink = ink_of(theme)
    text = {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": _PAPER[theme],
        "font": "system-ui, DejaVu Sans, sans-serif",
        "view": {"stroke": None},
        "title": {"color": ink, "fontSize": 14, "anchor": "start", "subtitleColor": ink, "offset": 12},
        "axis": {
            **text,
            "titleFontWeight": "normal",
            "domainColor": GREY,
            "tickColor": GREY,
            "gridColor": GREY,
            "gridOpacity": 0.25,
            "labelLimit": 220,
        },
        "legend": {**text, "symbolStrokeWidth": 2, "labelLimit": 260, "titleFontWeight": "normal"},
        "header": {**text, "labelFontSize": 13, "labelFontWeight": "bold", "labelLimit": 600},
        "text": {"color": ink, "fontSize": 12},
        "rule": {"color": ink},
    }
