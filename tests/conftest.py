"""What every test runs under: the same examples each time, and the database that the run is about."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import postgresql

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

# Where the workers of a run find the one server that their controller has started.
_SOCKET = "TRUELIFT_TESTS_POSTGRESQL"
_SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--catalog",
        choices=("sqlite", "postgresql"),
        default="sqlite",
        help="the database that catalogs are on; the tests start their own PostgreSQL server",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("catalog") == "sqlite" or hasattr(config, "workerinput"):
        return
    with ExitStack() as stack:
        try:
            os.environ[_SOCKET] = stack.enter_context(postgresql.served())
        except postgresql.MissingServerError as error:
            # Where changes are judged, nothing may go untested unnoticed.
            if os.environ.get("CI") == "true":
                pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
            return
        config.add_cleanup(stack.pop_all().close)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is about the other database."""
    database = config.getoption("catalog")
    others = [
        item for item in items if any(database not in mark.args for mark in item.iter_markers("only_on"))
    ]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


@pytest.fixture(scope="session")
def new_catalog_url(pytestconfig: pytest.Config) -> Callable[[], str | None]:
    """Make the URL of an empty catalog; None for the one in the store's own folder."""

    def new_url() -> str | None:
        if pytestconfig.getoption("catalog") == "sqlite":
            return None
        if _SOCKET not in os.environ:
            pytest.skip("needs PostgreSQL's server: apt-get install postgresql")
        return postgresql.new_database(os.environ[_SOCKET])

    return new_url


@pytest.fixture(autouse=True)
def _catalog_of_its_own(request: pytest.FixtureRequest, new_catalog_url: Callable[[], str | None]) -> None:
    """Let a test that opens a store of its own find an empty catalog, also on PostgreSQL."""
    url = new_catalog_url() if "tmp_path" in request.fixturenames else None
    if url is not None:
        request.getfixturevalue("monkeypatch").setenv("TRUELIFT_CATALOG_URL", url)


def _shared(folder: str) -> Path:
    path = _SHARED / folder
    if not path.is_dir():
        pytest.skip(f"needs {folder}/ in a folder named shared beside the repository")
    return path


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of public data sets, or skip where it is absent."""
    return _shared("data")


@pytest.fixture
def shared_contract() -> Path:
    """Return the folder of the contract's reference values, or skip where it is absent."""
    return _shared("contract")
