"""Typed records decoded from JSON and from plain data."""

import subprocess
import sys

import msgspec
import pytest

from engine.design.project import SdkKeyRotation
from engine.typed_records import record_from_json, record_of

# Ends by a segmentation fault where two threads describe one dataclass to msgspec at once.
FIRST_USES_BY_SEVERAL_THREADS = """
import sys, threading
from dataclasses import make_dataclass
from engine.typed_records import record_from_json, record_of

sys.setswitchinterval(1e-6)
THREADS = 4
inner = [make_dataclass(f"Inner{n}", [(f"field{i}", int) for i in range(20)]) for n in range(300)]
kinds = [make_dataclass(f"Outer{n}", [("inner", kind)]) for n, kind in enumerate(inner)]
plain = {"inner": {f"field{i}": i for i in range(20)}}
text = '{"inner": {' + ", ".join(f'"field{i}": {i}' for i in range(20)) + "}}"
together = threading.Barrier(THREADS)
right = []

def decode_all(number):
    for kind in kinds:
        together.wait()
        record = record_of(plain, kind) if number % 2 else record_from_json(text, kind)
        right.append(record.inner.field19 == 19)

threads = [threading.Thread(target=decode_all, args=(number,)) for number in range(THREADS)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(right) == THREADS * len(kinds) and all(right)
"""


def test_first_uses_of_a_type_by_several_threads_do_not_end_the_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FIRST_USES_BY_SEVERAL_THREADS], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_record_is_the_same_from_json_and_from_plain_data() -> None:
    assert record_from_json(b'{"grace_period_hours": 3}', SdkKeyRotation) == SdkKeyRotation(
        grace_period_hours=3
    )
    assert record_of({"grace_period_hours": 3}, SdkKeyRotation) == SdkKeyRotation(grace_period_hours=3)
    assert record_from_json('{"a": "b"}', dict[str, str]) == {"a": "b"}


def test_content_of_another_form_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="grace_period_hours"):
        record_of({"grace_period_hours": "three"}, SdkKeyRotation)
    with pytest.raises(msgspec.DecodeError):
        record_from_json("{", SdkKeyRotation)
