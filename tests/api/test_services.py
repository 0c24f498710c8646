"""The services of a process: opened, and closed in reverse order."""

from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

from api.services import open_services
from pipeline.services import PipelineServices
from pipeline.settings import Settings
from pipeline.store.catalog.idempotency import Claim, Repeatable

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def test_services_that_were_closed_can_be_opened_again(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with open_services(settings) as services:
        account, _, _ = services.catalog.accounts.create("Acme", "owner@acme.example")
        token = services.cipher.encrypt(b"secret")
    with open_services(settings) as services:
        assert services.catalog.accounts.get(account.id) == account
        assert services.cipher.decrypt(token) == b"secret"


def test_a_claim_of_an_ended_process_is_released(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with open_services(settings) as services:
        account, _, _ = services.catalog.accounts.create("Acme", "owner@acme.example")
        request = Repeatable(account.id, "order-17", "fingerprint")
        assert isinstance(services.catalog.idempotency_keys.claim(request, now=NOW), Claim)
    with open_services(settings) as services:
        assert isinstance(services.catalog.idempotency_keys.claim(request, now=NOW), Claim)


def test_requests_have_all_that_jobs_have(tmp_path: Path) -> None:
    """A lock of either holds off the other."""
    with open_services(Settings(data_dir=tmp_path)) as services:
        of_jobs = services.scheduler._services  # noqa: SLF001 - what it was started with
        names = [one.name for one in fields(PipelineServices)]
        assert {"catalog", "erasing"} <= {*names}
        assert [one for one in names if getattr(services, one) is not getattr(of_jobs, one)] == []
