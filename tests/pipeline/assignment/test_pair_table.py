import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.assignment.pair_table import PairTable
from pipeline.assignment.sorted_pairs import earlier

FLAG = 1
added = st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 60))
steps = st.sampled_from(["freeze", "sort", "merge_delta"]) | added


@given(st.lists(steps, max_size=60))
def test_a_pair_is_found_wherever_it_is_kept(taken: list[str | tuple[int, int, int]]) -> None:
    table, expected = PairTable(np.uint32, flags=FLAG), dict[tuple[int, int], int]()
    for step in taken:
        if step == "freeze":
            table.freeze()
        elif step == "sort":
            table.sort_frozen()
        elif step == "merge_delta":
            table.merge_delta()
        elif not isinstance(step, str):
            key, value, place = step
            table.add(key, value, place)
            expected[key, value] = earlier(expected.get((key, value), place), place, FLAG)
        for key in range(7):
            wanted = sorted((place, value) for (one, value), place in expected.items() if one == key)
            assert table.of(key) == wanted
    assert {key for key in range(7) if table.of(key)} == {key for key, _ in expected}


def test_known_pairs_are_not_sorted_again() -> None:
    table = PairTable(np.uint32, flags=FLAG)
    for place in (2, 4, 6):
        table.add(7, 1, place)
        table.freeze()
        table.sort_frozen()
        table.merge_delta()
    table.add(7, 1, 8)
    table.freeze()
    table.sort_frozen()
    assert (len(table.base), len(table.delta)) == (1, 0)


def test_readers_miss_nothing_while_pairs_are_moved() -> None:
    table, newest, missed = PairTable(np.uint64), [1], list[int]()
    table.add(1, 1, 1)
    is_over = threading.Event()

    def look_up() -> None:
        generator = np.random.default_rng(3)
        while not is_over.is_set():
            last = newest[0]
            keys = {1, last, int(generator.integers(1, last + 1))}
            missed.extend(key for key in keys if table.of(key) != [(key, key)])

    readers = [threading.Thread(target=look_up) for _ in range(2)]
    for reader in readers:
        reader.start()
    for key in range(2, 6_000):
        table.add(key, key, key)
        newest[0] = key
        if key % 100 == 0:
            table.freeze()
            table.sort_frozen()
        if key % 900 == 0:
            table.merge_delta()
    is_over.set()
    for reader in readers:
        reader.join()
    assert missed == []
