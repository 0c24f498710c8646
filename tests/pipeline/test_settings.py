from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.settings import Settings, SettingsError, ignored_variables, read_settings


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


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("TRUELIFT_REFRESH_SECOND", "TRUELIFT_REFRESH_SECONDS"),
        ("truelift_catalog", "TRUELIFT_CATALOG_URL"),
        ("TRUELIFT_DATADIR", "TRUELIFT_DATA_DIR"),
        ("TRUELIFT_MEMORY_LIMIT", "TRUELIFT_DUCKDB_MEMORY_LIMIT"),
        ("TRUELIFT_RATE_LIMIT", "TRUELIFT_RATE_LIMIT_URL"),
    ],
)
def test_a_misspelled_variable_is_refused_with_the_nearest_setting(
    monkeypatch: pytest.MonkeyPatch, name: str, nearest: str
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(SettingsError) as refused:
        read_settings()
    assert str(refused.value) == f"there is no setting {name}; the nearest one is {nearest}"


# Variables of programs that call the service, and what Kubernetes sets for a service named truelift.
OTHERS = (
    *("TRUELIFT_KEY", "TRUELIFT_TOKEN", "TRUELIFT_API_KEY", "TRUELIFT_SDK_KEY", "TRUELIFT_PROJECT"),
    *("TRUELIFT_URL", "TRUELIFT_PORT", "TRUELIFT_SERVICE_HOST", "TRUELIFT_SERVICE_PORT"),
    *("TRUELIFT_PORT_8000_TCP", "TRUELIFT_PORT_8000_TCP_ADDR", "TRUELIFT_PORT_8000_TCP_PROTO"),
    *("TRUELIFT_HOST", "TRUELIFT_USER", "TRUELIFT_PASSWORD"),
)


def test_variables_that_are_like_no_setting_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_settings()
    assert ignored_variables() == []
    for name in OTHERS:
        monkeypatch.setenv(name, "tl_secret")
    monkeypatch.setenv("TRUELIFT_REFRESH_SECONDS", "7")
    assert ignored_variables() == sorted(OTHERS)
    assert read_settings() == before.model_copy(update={"refresh_seconds": 7})


def test_a_wrong_value_is_named_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUELIFT_REFRESH_SECONDS", "often")
    monkeypatch.setenv("TRUELIFT_DUCKDB_THREADS", "0")
    with pytest.raises(SettingsError) as refused:
        read_settings()
    first, second = str(refused.value).split("; ")
    assert first.startswith("TRUELIFT_REFRESH_SECONDS=often: Input should be a valid integer")
    assert second.startswith("TRUELIFT_DUCKDB_THREADS=0: Input should be greater than 0")
