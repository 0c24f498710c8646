"""Base class of results that readers see: text, HTML, Markdown, plain data and DataFrames."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ShownResult:
    """Gives a result its forms for readers; each is made by `engine.display` when it is asked for."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Describe the result in a few lines."""
        text: str = _displays().text(self)
        return text

    def _repr_html_(self) -> str:
        """Write the result as notebooks show it: the verdict, tables and charts."""
        html: str = _displays().html(self)
        return html

    def to_dict(self) -> dict[str, Any]:
        """Return every field as what JSON has: dicts, lists, text, numbers and None; times are ISO 8601."""
        data: dict[str, Any] = _displays().data(self)
        return data

    def to_markdown(self) -> str:
        """Write the result as GitHub-flavoured Markdown: the verdict and tables, without charts."""
        markdown: str = _displays().markdown(self)
        return markdown

    def to_polars(self) -> "pl.DataFrame":
        """Return the rows of the result: one per goal and variant, or segment; shares, and cents of money."""
        frame: pl.DataFrame = import_module("polars").DataFrame(
            _displays().rows(self), infer_schema_length=None
        )
        return frame

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows of `to_polars` as a pandas frame; ModuleNotFoundError without pandas."""
        frame: pd.DataFrame = import_module("pandas").DataFrame(self.to_polars().to_dicts())
        return frame


def _displays() -> Any:  # noqa: ANN401  # a module
    """Import the displays by name: they stand above the results, and take Altair's and vl-convert's time."""
    return import_module("engine.display.displays")
