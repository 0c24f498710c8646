"""Counts of requests in this process."""

import threading
import time

import pytest

from api.middleware.local_counts import LocalCounts


def test_a_window_is_begun_by_its_first_count_and_ends_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, begun = LocalCounts(), time.time()
    monkeypatch.setattr(time, "time", lambda: begun)
    assert (counts.get("a"), counts.get_expiry("a")) == (0, begun)
    assert [counts.incr("a", 60) for _ in range(3)] == [1, 2, 3]
    monkeypatch.setattr(time, "time", lambda: begun + 59)
    assert counts.incr("a", 60) == 4
    assert (counts.get("a"), counts.get_expiry("a")) == (4, begun + 60)
    monkeypatch.setattr(time, "time", lambda: begun + 60)
    assert counts.get("a") == 0
    assert counts.incr("a", 60) == 1


def test_subjects_are_counted_apart_and_cleared_alone() -> None:
    counts = LocalCounts()
    counts.incr("a", 60)
    counts.incr("b", 60)
    counts.clear("a")
    assert (counts.get("a"), counts.get("b")) == (0, 1)


def test_windows_that_are_over_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, begun = LocalCounts(), time.time()
    for second in range(1_000):
        monkeypatch.setattr(time, "time", lambda second=second: begun + second)
        counts.incr(f"subject {second}", 60)
    assert len(counts) == 60
    assert counts.get("subject 999") == 1


def test_counting_starts_no_thread() -> None:
    counts, threads = LocalCounts(), threading.enumerate()
    for number in range(100):
        counts.incr(f"subject {number}", 60)
        assert threading.enumerate() == threads
