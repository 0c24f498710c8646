"""Counts of requests in this process."""

import threading
import time

import pytest

from api.middleware.local_counts import Counted, LocalCounts


def test_a_window_is_begun_by_its_first_count_and_ends_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = LocalCounts()
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    assert [counts.count("a", 9, 60) for _ in range(3)] == [Counted(used, 60, True) for used in (1, 2, 3)]
    monkeypatch.setattr(time, "time", lambda: 1059.0)
    assert counts.count("a", 9, 60) == (4, 1, True)
    monkeypatch.setattr(time, "time", lambda: 1060.0)
    assert counts.count("a", 9, 60) == (1, 60, True)


def test_a_count_beyond_the_limit_is_refused_until_the_limit_is_raised() -> None:
    counts = LocalCounts()
    taken = [counts.count("a", limit, 60) for limit in (2, 2, 2, 3)]
    assert [(one.used, one.is_taken) for one in taken] == [(1, True), (2, True), (2, False), (3, True)]


def test_subjects_are_counted_apart() -> None:
    counts = LocalCounts()
    assert [counts.count(subject, 9, 60).used for subject in "aba"] == [1, 1, 2]


def test_windows_that_are_over_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = LocalCounts()
    for second in range(1_000):
        monkeypatch.setattr(time, "time", lambda second=second: 1000.0 + second)
        counts.count(f"subject {second}", 9, 60)
    assert len(counts) == 60
    assert counts.count("subject 999", 9, 60).used == 2


def test_counting_starts_no_thread() -> None:
    counts, threads = LocalCounts(), threading.enumerate()
    for number in range(100):
        counts.count(f"subject {number}", 9, 60)
        assert threading.enumerate() == threads
