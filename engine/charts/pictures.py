"""Pictures of charts: SVG and PNG, drawn without a browser or a network."""

from importlib import import_module
from typing import Any

__all__ = ["chart_png", "chart_svg", "spec_png", "spec_svg"]

# The version of Vega-Lite whose specifications Altair 6 writes.
_VEGA_LITE = "6.1"


def chart_svg(chart: Any) -> str:  # noqa: ANN401  # a chart of Altair
    """Draw a chart as an SVG element that an HTML page may hold inline."""
    return spec_svg(chart.to_dict())


def spec_svg(spec: dict[str, Any]) -> str:
    """Draw a specification of Vega-Lite as an SVG element."""
    svg: str = _converter().vegalite_to_svg(spec, vl_version=_VEGA_LITE, allowed_base_urls=[])
    return svg


def chart_png(chart: Any, *, scale: float = 2.0) -> bytes:  # noqa: ANN401  # a chart of Altair
    """Draw a chart as a PNG, with `scale` pixels for each unit of the chart."""
    return spec_png(chart.to_dict(), scale=scale)


def spec_png(spec: dict[str, Any], *, scale: float = 1.0) -> bytes:
    """Draw a specification of Vega-Lite as a PNG, with `scale` pixels for each unit of it."""
    png: bytes = _converter().vegalite_to_png(spec, vl_version=_VEGA_LITE, scale=scale, allowed_base_urls=[])
    return png


def _converter() -> Any:  # noqa: ANN401  # a module
    """Import vl-convert on first use: it carries a JavaScript engine of 60 MB."""
    return import_module("vl_convert")
