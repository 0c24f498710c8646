"""The system calls of a running service: an event is synced before it is answered."""

import re
import shutil
from pathlib import Path

import pytest

from tests.resilience.services import a_service
from tests.resilience.test_full_disk import make_shop

EVENT = {"event_id": "e1", "type": "pageview", "visitor_id": "v1", "url": "https://shop.example/"}
# With the tracer as a grandchild, signals reach the service itself.
TRACE = ("strace", "-D", "-f", "-s", "64", "-e", "trace=write,fdatasync,sendto,sendmsg,writev", "-o")


@pytest.mark.slow
def test_an_event_is_written_then_synced_then_answered(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("needs strace: apt-get install strace")
    make_shop(tmp_path / "store")
    calls = tmp_path / "calls"
    with a_service(tmp_path / "store", tmp_path / "log", (*TRACE, str(calls))) as service:
        before = calls.stat().st_size
        answer = service.request("POST", "/api/v1/sdk/track", {"batch": [EVENT]}, {"X-SDK-Key": "pk_shop"})
        assert answer.status == 200
        made = calls.read_text(errors="replace")[before:].splitlines()
    written = [number for number, call in enumerate(made) if re.search(r"write\(\d+, \"\\365evt", call)]
    answered = [number for number, call in enumerate(made) if "HTTP/1.1 200" in call]
    assert len(written) == 2, "the header of the file, and the record"
    descriptor = re.search(r"write\((\d+)", made[written[-1]])
    assert descriptor is not None
    synced = [
        number
        for number, call in enumerate(made)
        if number > written[-1] and _is_end_of_sync(call, made[:number], descriptor[1])
    ]
    assert written[-1] < synced[0] < answered[0]


def _is_end_of_sync(call: str, earlier: list[str], descriptor: str) -> bool:
    """Tell whether a sync of the file ends here; one that took long is told in two lines."""
    if f"fdatasync({descriptor})" in call and call.rstrip().endswith("= 0"):
        return True
    thread = call.split(maxsplit=1)[0]
    begun = any(one.startswith(thread) and f"fdatasync({descriptor} <unfinished" in one for one in earlier)
    return begun and "fdatasync resumed" in call and call.rstrip().endswith("= 0")
