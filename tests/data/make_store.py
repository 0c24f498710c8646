"""A small store, made by the version that it is named after.

Run once, with that version, from the root of the repository:

    python -m tests.data.make_store

Later versions open what this version wrote, so a folder that exists is never written again. Where a
later version changes an answer on purpose, record it with one of

    python -m tests.data.make_store sentences
    python -m tests.data.make_store answers

The first writes the sentences only, the second everything. Commit a changed answer with its reason.
"""

import gzip
import inspect
import io
import json
import secrets
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest import mock

import numpy as np
import polars as pl
from fastapi.testclient import TestClient

from api.app import create_app
from pipeline.settings import Settings
from tests import old_store, old_store_answers, stored_answers
from tests.data.shop_traffic import Clock, Shop, run_experiments

SEED: Final = 2026
IDEMPOTENCY_KEY: Final = "plan-the-checkout"
# Kept answers expire after a day: this one does so when no version of today is left.
KEPT_AT: Final = datetime(2199, 1, 1, tzinfo=UTC)


def assign_visitors(shop: Shop, sdk_key: str) -> list[str]:
    """Ask which variants some visitors see, which stores their assignments; returns the visitors."""
    visitors = [f"assigned-{number:02d}" for number in range(40)]
    for number, visitor in enumerate(visitors):
        body = {
            "visitor_id": visitor,
            "url": "https://shop.example/",
            "attributes": {"country": "US" if number % 2 else "DE"},
        }
        headers = {"X-SDK-Key": sdk_key, "Origin": "https://shop.example"}
        shop.client.post("/api/v1/sdk/init", json=body, headers=headers).raise_for_status()
    return visitors


def keep_an_answer(shop: Shop) -> None:
    """Make a request whose answer is sealed and kept, with a key that makes no other request."""
    # Keys keep when they were last used, and this one is from another time.
    name = {"name": "Planning", "scopes": ["account:read"]}
    token = shop.call("POST", "/account/api_keys", name)["token"]
    shop.clock.now = KEPT_AT
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": IDEMPOTENCY_KEY}
    shop.call("POST", "/tools/sample_size", old_store_answers.REPEATED_REQUEST, **headers)
    shop.clock.now = old_store.NOW


def make_data_dir(folder: Path) -> dict[str, Any]:
    """Make a store in `folder`; returns its facts."""
    rng, clock = np.random.default_rng(SEED), Clock()
    with fixed(clock, rng):
        created = json.loads(
            old_store.truelift(
                *("init", "--data-dir", folder, "--account", "Outdoor", "--email", "owner@shop.example"),
                *("--plan", "scale", "--json"),
            )
        )
        named = ("--email", "analyst@shop.example", "--name", "Analyst", "--json")
        account = created["account_id"]
        old_store.truelift("members", "add", "--data-dir", folder, "--account", account, *named)
        # Jobs run when they are asked to, and not by the real time.
        settings = Settings(data_dir=folder, refresh_seconds=10**6, fresh_read_seconds=60, snapshot_seconds=0)
        with TestClient(create_app(settings)) as client:
            shop = Shop(client, created["token"], rng, clock)
            run_experiments(shop)
            clock.now = old_store.NOW - timedelta(hours=2)
            installation = shop.call("GET", f"/projects/{shop.project['id']}/installation")
            assigned = assign_visitors(shop, installation["api_key"])
            keep_an_answer(shop)
            shop.run_jobs("refresh_results", "rebuild_after_midnight")
            shop.run_jobs("write_snapshots", "checkpoint")
            return {
                "token": created["token"],
                "sdk_key": installation["api_key"],
                "project": shop.project["id"],
                "experiments": {key: one["id"] for key, one in shop.experiments.items()},
                "goals": {
                    key: [goal["id"] for goal in one["goals"]] for key, one in shop.experiments.items()
                },
                "assigned_visitors": assigned,
                "idempotency_key": IDEMPOTENCY_KEY,
            }


@contextmanager
def fixed(clock: Clock, rng: np.random.Generator) -> Iterator[None]:
    """Let the service take time from `clock` and its random ids from `rng`."""

    class FixedDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return clock.now.astimezone(tz)

    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            is_ours = name.partition(".")[0] in {"api", "pipeline"}
            if is_ours and "datetime.now(" in inspect.getsource(module):
                stack.enter_context(mock.patch.object(module, "datetime", FixedDatetime))
        random_bytes: Callable[[int], bytes] = rng.bytes
        stack.enter_context(mock.patch.object(secrets, "token_bytes", random_bytes))
        stack.enter_context(mock.patch.object(time, "time_ns", clock.nanoseconds))
        yield


def pack(folder: Path) -> bytes:
    """The archive of a folder: the same bytes for the same files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = archive.gettarinfo(path, path.relative_to(folder).as_posix())
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return gzip.compress(packed.getvalue(), mtime=0)


def make_table() -> pl.DataFrame:
    """A file of one row per visitor for the command line."""
    rng = np.random.default_rng(SEED)
    size = 600
    is_new, taste, orders = rng.random(size) < 0.5, rng.gamma(2, 20, size), rng.poisson(0.6, size)
    spend = taste * orders * np.where(is_new, 1.2, 1.0)
    return pl.DataFrame(
        {
            "group": np.where(is_new, "B", "A"),
            "converted": (orders > 0).astype(int),
            "spend": spend.round(2),
            "orders": orders,
            "spend_before": taste.round(2),
        }
    )


def write_answers(*, only_sentences: bool = False) -> None:
    """Read everything from the packed store, and write the answers and their sentences."""
    for name, answers in old_store_answers.all_answers().items():
        write_json(stored_answers.SENTENCES / f"{name}.json", stored_answers.sentences(answers))
        if not only_sentences:
            write_json(stored_answers.ANSWERS / f"{name}.json", stored_answers.without_sentences(answers))


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def make_store() -> None:
    """Write the archive, the facts and the file for the command line; FileExistsError where they are."""
    # A store stays as the version that it is named after wrote it.
    stored_answers.FOLDER.mkdir()
    with TemporaryDirectory() as folder:
        facts = make_data_dir(Path(folder))
        old_store.ARCHIVE.write_bytes(pack(Path(folder)))
    old_store.FACTS.write_text(json.dumps(facts, indent=2) + "\n")
    make_table().write_csv(old_store.TABLE)


if __name__ == "__main__":
    if sys.argv[1:] not in (["answers"], ["sentences"]):
        make_store()
    write_answers(only_sentences=sys.argv[1:] == ["sentences"])
