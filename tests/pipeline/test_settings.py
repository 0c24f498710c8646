from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.settings import Settings


def test_the_environment_overrides_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUELIFT_INGEST_COMMIT_ROWS", "7")
    assert Settings().ingest_commit_rows == 7


def test_paths_are_in_the_data_folder_unless_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRUELIFT_CATALOG_URL", raising=False)
    settings = Settings(data_dir=tmp_path)
    assert settings.warehouse_path == tmp_path / "warehouse.duckdb"
    assert settings.secrets_key_path == tmp_path / "secrets.key"
    assert settings.snapshots_path == tmp_path / "snapshots"
    assert settings.effective_catalog_url == f"sqlite:///{tmp_path / 'catalog.sqlite3'}"
    elsewhere = Settings(data_dir=tmp_path, snapshots_dir=Path("/copies"), catalog_url="postgresql://db/x")
    assert elsewhere.snapshots_path == Path("/copies")
    assert elsewhere.effective_catalog_url == "postgresql://db/x"


@pytest.mark.parametrize("field", ["ingest_queue_bytes", "refresh_seconds", "duckdb_threads"])
def test_a_limit_of_zero_is_refused(field: str) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate({field: 0})


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate({"data_directory": "store"})


def test_trusted_proxies_are_networks_or_addresses() -> None:
    settings = Settings(trusted_proxies="10.0.0.0/8, 192.0.2.7,2001:db8::/32")
    assert [str(network) for network in settings.trusted_networks] == [
        "10.0.0.0/8",
        "192.0.2.7/32",
        "2001:db8::/32",
    ]
    assert Settings(trusted_proxies="").trusted_networks == ()
    with pytest.raises(ValidationError, match=r"proxy\.example"):
        Settings(trusted_proxies="10.0.0.0/8,proxy.example")
