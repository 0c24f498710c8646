"""MurmurHash3 in SQL: equal to the reference for texts of any letters and lengths."""

import duckdb
import mmh3
from hypothesis import given
from hypothesis import strategies as st

from pipeline.store.murmur_sql import murmur_sql
from tests import contract
from tests.examples import examples


def hashes(texts: list[str | None]) -> list[int | None]:
    with duckdb.connect() as connection:
        query = f"SELECT {murmur_sql('t', 'duckdb')} FROM (SELECT unnest(?::VARCHAR[]) AS t)"  # noqa: S608
        return [found for (found,) in connection.execute(query, [texts]).fetchall()]


def test_hashes_equal_those_of_the_contract() -> None:
    vectors = [one for one in contract.assignment_vectors()["murmur3_x86_32"] if one["seed"] == 0]
    assert vectors
    assert hashes([one["input"] for one in vectors]) == [one["expected"] for one in vectors]


@examples(10, 100)
@given(
    texts=st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=70), min_size=1, max_size=30)
)
def test_any_text_has_the_hash_of_the_reference(texts: list[str | None]) -> None:
    assert hashes(texts) == [None if one is None else mmh3.hash(one, 0, signed=False) for one in texts]
