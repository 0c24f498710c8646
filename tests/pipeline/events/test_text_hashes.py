"""Keys of many ids at once are those of each id."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events.hashing import hash64
from pipeline.events.text_hashes import hash_texts


def expected(texts: list[str | None]) -> list[int | None]:
    return [None if text is None else hash64(text) for text in texts]


@given(st.lists(st.none() | st.text(max_size=70)))
def test_texts_hashed_at_once_have_the_hash_of_each(texts: list[str | None]) -> None:
    assert hash_texts(pl.Series(texts, dtype=pl.String)).to_list() == expected(texts)


def test_every_length_of_a_last_block_is_hashed() -> None:
    texts: list[str | None] = ["é" * (length // 2) + "x" * (length % 2) for length in range(70)]
    hashes = hash_texts(pl.Series("id", texts, dtype=pl.String))
    assert hashes.to_list() == expected(texts)
    assert hashes.name == "id"


def test_many_texts_keep_their_order() -> None:
    texts: list[str | None] = [
        None if number % 1000 == 7 else f"visitor-{number}" for number in range(10_000)
    ]
    assert hash_texts(pl.Series(texts)).to_list() == expected(texts)


def test_nothing_and_nulls_alone_have_no_hashes() -> None:
    assert hash_texts(pl.Series([], dtype=pl.String)).to_list() == []
    assert hash_texts(pl.Series([None, None], dtype=pl.String)).to_list() == [None, None]
    assert hash_texts(pl.Series([None], dtype=pl.String)).dtype == pl.UInt64
