import re
import subprocess
import sys

from pipeline.store.catalog.ids import free_name, new_id


def test_free_name_is_the_wanted_one_or_the_first_number_free() -> None:
    assert free_name("a", []) == "a"
    assert free_name("a", ["a", "a-2", "a-4"]) == "a-3"


def test_an_id_is_a_hundred_random_bits() -> None:
    ids = [new_id("exp") for _ in range(1_000)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("exp_[a-z2-7]{20}", one) for one in ids)
    # Each place takes each character: one that does not in 1,000 has a probability of 1e-11.
    assert all(
        len(set(place)) == 32 for place in zip(*(one.removeprefix("exp_") for one in ids), strict=True)
    )


FORK = """
import os
from pipeline.store.catalog.ids import new_id
new_id("exp")
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, new_id("exp").encode())
    os._exit(0)
print(os.read(reader, 100).decode(), new_id("exp"))
"""


def test_a_forked_process_generates_other_ids() -> None:
    output = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True).stdout
    childs, own = output.split()
    assert len(childs) == len(own) > 20
    assert childs != own
