"""Base class of results that readers see: text, HTML, Markdown, plain data and DataFrames."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Displays(Protocol):
    """Forms of a result for readers."""

    def text(self, result: object) -> str:
        """Describe a result in a few lines."""

    def html(self, result: object) -> str:
        """Write a result as an HTML fragment."""

    def markdown(self, result: object) -> str:
        """Write a result as Markdown."""

    def rows(self, result: object) -> list[dict[str, Any]]:
        """List the rows of a result."""

    def data(self, result: object) -> dict[str, Any]:
        """Return a result as plain data."""


class ShownResult:
    """Gives a result its forms for readers, by the displays that the package `engine` installs."""

    __slots__ = ()
    displays: Callable[[], Displays]

    def __repr__(self) -> str:
        """Describe the result in a few lines."""
        return ShownResult.displays().text(self)

    def _repr_html_(self) -> str:
        """Write the result as notebooks show it: the verdict, tables and charts."""
        return ShownResult.displays().html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return every field as what JSON has: dicts, lists, text, numbers and None; times are ISO 8601."""
        return ShownResult.displays().data(self)

    def to_markdown(self) -> str:
        """Write the result as GitHub-flavoured Markdown: the verdict and tables, without charts."""
        return ShownResult.displays().markdown(self)

    def to_polars(self) -> "pl.DataFrame":
        """Return the rows of the result: one per goal and variant, or segment; shares, and cents of money."""
        frame: pl.DataFrame = import_module("polars").DataFrame(
            ShownResult.displays().rows(self), infer_schema_length=None
        )
        return frame

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows of `to_polars` as a pandas frame; ModuleNotFoundError without pandas."""
        frame: pd.DataFrame = import_module("pandas").DataFrame(self.to_polars().to_dicts())
        return frame
