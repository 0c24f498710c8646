"""Cells of text: numbers with a point or a comma, and yes or no."""

from functools import partial
from typing import Final

import polars as pl

TRUE_WORDS: Final = ("1", "true", "yes", "t", "y")
FALSE_WORDS: Final = ("", "0", "false", "no", "f", "n")
NO_WORD: Final = "is neither 1 nor 0 (true or false, yes or no)"
_SIGN: Final = r"^[+-]?"
# Numbers that are written in one way only; a group has three digits.
_GROUPED_BY_POINTS: Final = rf"{_SIGN}\d{{1,3}}(?:(?:\.\d{{3}})+,\d+|(?:\.\d{{3}}){{2,}})$"
_GROUPED_BY_COMMAS: Final = rf"{_SIGN}\d{{1,3}}(?:(?:,\d{{3}})+\.\d+|(?:,\d{{3}}){{2,}})$"
_WITH_COMMA: Final = rf"{_SIGN}\d+,\d+$"
# 1,234 is over a thousand where a comma separates groups, and little more than one where it begins decimals.
_OF_TWO_NUMBERS: Final = rf"{_SIGN}[1-9]\d{{0,2}}[MARK]\d{{3}}$"


def numbers(name: str, kind: pl.DataType, delimiter: str = ",") -> pl.Expr:
    """Build the numbers of a column; null for an empty cell and anything that is no number, or two.

    Where a file of text has another `delimiter` than the comma, its numbers may have decimal commas.
    """
    if kind != pl.String:
        return pl.col(name).cast(pl.String).cast(pl.Float64, strict=False)
    read = partial(_numbers, delimiter=delimiter)
    return pl.col(name).str.strip_chars().map_batches(read, return_dtype=pl.Float64)


def number_fault(name: str, kind: pl.DataType, what: str, delimiter: str = ",") -> pl.Expr:
    """Build the reason why a cell is not `what`, such as an amount."""
    reason = pl.lit(f"'{name}' is not {what}")
    if kind != pl.String:
        return reason
    return (
        pl.when(_is_of_two(pl.col(name).str.strip_chars(), delimiter))
        .then(pl.format("'{}' {} may be two numbers; write 1234.5 or 1234,50", pl.lit(name), pl.col(name)))
        .otherwise(reason)
    )


def yes_or_no(name: str) -> pl.Expr:
    """Build 1 and 0 of a column, null for anything that is neither; an empty cell is no."""
    word = pl.col(name).cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
    number = word.cast(pl.Float64, strict=False)
    return (
        pl.when(word.is_in(TRUE_WORDS) | (number == 1))
        .then(pl.lit(1, pl.Int64))
        .when(word.is_in(FALSE_WORDS) | (number == 0))
        .then(pl.lit(0, pl.Int64))
    )


def _numbers(texts: pl.Series, delimiter: str) -> pl.Series:
    # Nearly every column has points only, and then there is nothing to tell apart.
    if delimiter == "," and not texts.str.contains(",", literal=True).any():
        return texts.cast(pl.Float64, strict=False)
    text = pl.col(texts.name)
    plain = (
        pl.when(_is_of_two(text, delimiter))
        .then(None)
        .when(text.str.contains(_GROUPED_BY_POINTS))
        .then(text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True))
        .when(text.str.contains(_GROUPED_BY_COMMAS))
        .then(text.str.replace_all(",", "", literal=True))
        .when(text.str.contains(_WITH_COMMA))
        .then(text.str.replace(",", ".", literal=True))
        .otherwise(text)
    )
    return texts.to_frame().select(plain.cast(pl.Float64, strict=False)).to_series()


def _is_of_two(text: pl.Expr, delimiter: str) -> pl.Expr:
    """Tell whether a number has two meanings, by its comma or point; by either in a file with tabs."""
    marks = {",": ",", ";": "."}.get(delimiter, ",.")
    return text.str.contains(_OF_TWO_NUMBERS.replace("MARK", marks))
