"""Numbers and words of text are read in one way, or refused with the reason."""

import polars as pl
import pytest

from pipeline.sources.cell_values import number_fault, numbers, yes_or_no


def numbers_of(delimiter: str, *texts: str) -> list[float | None]:
    frame = pl.DataFrame({"paid": texts})
    return frame.select(numbers("paid", pl.String(), delimiter)).to_series().to_list()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_number_that_has_one_meaning_is_read_whatever_the_file(delimiter: str) -> None:
    texts = [
        "12.5",
        "12,50",
        "-1.234,50",
        "1,234.50",
        "1.234.567",
        "1,234,567",
        "1234,567",
        "0,125",
        " 7 ",
        "+1e3",
    ]
    assert numbers_of(delimiter, *texts) == [
        *(12.5, 12.5, -1234.5, 1234.5, 1_234_567, 1_234_567, 1234.567, 0.125, 7, 1000)
    ]
    assert numbers_of(delimiter, "", "12,50 €", "1.23,4.5", "1,2,3", "one", "12,") == [None] * 6


def test_a_number_of_two_meanings_is_read_as_the_delimiter_of_its_file_says_or_refused() -> None:
    assert numbers_of(",", "1.234", "1,234") == [1.234, None]
    assert numbers_of(";", "1.234", "1,234") == [None, 1.234]
    assert numbers_of("\t", "1.234", "1,234") == [None, None]
    fault = number_fault("paid", pl.String(), "an amount", ";")
    assert pl.DataFrame({"paid": ["1.234", "x"]}).select(fault).to_series().to_list() == [
        "'paid' 1.234 may be two numbers; write 1234.5 or 1234,50",
        "'paid' is not an amount",
    ]


def test_yes_and_no_have_many_words() -> None:
    words = ["1", "TRUE", " yes", "t", "Y", "1.0", "0", "False", "no", "N", "", None, "perhaps", "2"]
    known = pl.DataFrame({"bought": words}).select(yes_or_no("bought")).to_series().to_list()
    assert known == [*[1] * 6, *[0] * 6, None, None]
