"""A restored store sends no webhooks until its operator says so."""

from functools import partial
from pathlib import Path

import pytest

from engine.design import lifecycle
from pipeline.backup.writing import write_backup
from pipeline.clock import utc_now
from pipeline.encryption_key import open_cipher
from pipeline.webhooks.webhook_messages import deliver_messages
from pipeline.webhooks.webhook_requests import draft_webhook
from tests.api.cli.conftest import Run
from tests.pipeline.webhooks.receiving_endpoint import LOOPBACK, an_endpoint
from tests.pipeline.working_store import WorkingStore, a_working_store


def tell(store: WorkingStore, url: str) -> None:
    """Have a message wait for a webhook."""
    project, settings = store.add_project(), store.settings
    webhook, _ = draft_webhook(
        project.id, {"url": url}, settings.reachable_networks, open_cipher(settings), now=utc_now()
    )
    store.catalog.webhooks.create(webhook, actor="test")
    experiment = store.add_experiment(project, status="draft")
    start = partial(lifecycle.start, now=utc_now())
    store.catalog.experiments.change(project.id, experiment.id, start, actor="test")


@pytest.mark.only_on("sqlite")
def test_a_restored_store_sends_webhooks_once_it_is_told_to(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUELIFT_WEBHOOK_NETWORKS", LOOPBACK)
    folder = tmp_path / "restored"
    with an_endpoint() as endpoint:
        with a_working_store(tmp_path / "store", clock=utc_now) as store:
            tell(store, endpoint.url)
            write_backup(store, tmp_path / "backup", with_snapshots=False)
            deliver_messages(store)
            assert len(endpoint.received) == 1
        restored = run("restore", tmp_path / "backup", "--data-dir", folder)
        command = f"truelift webhooks resume --data-dir {folder}"
        assert f"sends no webhooks until you run: {command}" in restored.out
        (examined,) = [
            one
            for one in run("doctor", "--data-dir", folder, "--json").json["checks"]
            if one["part"] == "webhooks"
        ]
        assert (examined["status"], "truelift webhooks resume" in examined["action"]) == ("warning", True)
        with a_working_store(folder, clock=utc_now) as store:
            tell(store, endpoint.url)
            deliver_messages(store)
            assert len(endpoint.received) == 1
            # While the service runs.
            assert run(*command.split()[1:], "--json").json == {"resumed": True}
            deliver_messages(store)
            first, *others = [one.headers["webhook-id"] for one in endpoint.received]
            assert len({first, *others}) == len(others) == 2
    assert "were not held" in run(*command.split()[1:]).out
