"""Settings of every test run: numbers of examples, the catalog's database, and no skips in CI."""

import atexit
import gc
import importlib
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

import pytest

from tests import examples, postgresql, public_data
from tests.public_data import EmailChallenge, LandingPage

pytest_plugins = ["tests.long_tests", "tests.progress"]
examples.register_profiles()

# The socket folder of the one server that the workers of a run share.
_SOCKET = "TESTS_POSTGRESQL"
_IN_CI = os.environ.get("CI") == "true"

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--catalog",
        choices=("sqlite", "postgresql"),
        default="sqlite",
        help="the database that catalogs are on; the tests start their own PostgreSQL server",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without searches for garbage, which would take as long again; later ones skip the tests."""
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        # Tests leave little garbage: a search after every 700 objects would take a fiftieth of their time.
        gc.set_threshold(50_000, 20, 20)
        gc.enable()
        # Then the end of the process finds fewer objects that libraries report as leaked; no sooner, as
        # pytest searches for garbage twice when it ends.
        atexit.register(gc.unfreeze)


def _import_share(config: pytest.Config) -> None:
    """Import a share of the test modules first: each worker compiles some that the others need, too.

    In a new clone each would compile all of them at the same time.
    """
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        return
    folders = [path for one in config.args if (path := config.rootpath / one).is_dir()]
    found = sorted(path for folder in folders for path in folder.rglob("test_*.py"))
    names = [".".join(path.relative_to(config.rootpath).with_suffix("").parts) for path in found]
    for name in names[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        # The collection tells what is wrong with a module.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


def pytest_configure(config: pytest.Config) -> None:
    examples.use_seed(config.getoption("hypothesis_seed", None))
    if config.getoption("catalog") == "sqlite" or hasattr(config, "workerinput"):
        return
    with ExitStack() as stack:
        try:
            os.environ[_SOCKET] = stack.enter_context(postgresql.served())
        except postgresql.MissingServerError as error:
            if _IN_CI:
                pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
            return
        config.add_cleanup(stack.pop_all().close)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of the other database, and on PostgreSQL those that make no catalog."""
    database = config.getoption("catalog")
    others = [item for item in items if not _is_on(database, item)]
    if others:
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


def _is_on(database: str, item: pytest.Item) -> bool:
    if any(database not in mark.args for mark in item.iter_markers("only_on")):
        return False
    fixtures = item.fixturenames if isinstance(item, pytest.Function) else ()
    return database == "sqlite" or not {"new_catalog_url", "tmp_path"}.isdisjoint(fixtures)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _failed_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _failed_if_skipped((yield))


def _failed_if_skipped(report: Report) -> Report:
    """Turn a skip or an expected failure into a failure where CI runs, so that no test is left out unseen."""
    if _IN_CI and report.skipped:
        reason = getattr(report, "wasxfail", None) or _reason(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped, which CI=true forbids: {reason}"
    return report


def _reason(longrepr: Any) -> str:
    """Return the last part of (path, line, reason)."""
    return str(longrepr[-1] if isinstance(longrepr, tuple) else longrepr)


@pytest.fixture(scope="session")
def new_catalog_url(pytestconfig: pytest.Config) -> Callable[[], str | None]:
    """Return a function that makes an empty catalog and returns its URL; None for the file in the store."""

    def new_url() -> str | None:
        if pytestconfig.getoption("catalog") == "sqlite":
            return None
        if _SOCKET not in os.environ:
            pytest.skip("needs PostgreSQL: apt-get install postgresql")
        return postgresql.new_database(os.environ[_SOCKET])

    return new_url


@pytest.fixture(scope="session")
def new_database() -> Iterator[Callable[[], str]]:
    """Return a function that makes an empty PostgreSQL database and returns its URL."""
    with ExitStack() as stack:
        try:
            socket = os.environ.get(_SOCKET) or stack.enter_context(postgresql.served())
        except postgresql.MissingServerError:
            pytest.skip("needs PostgreSQL: apt-get install postgresql")
        yield lambda: postgresql.new_database(socket)


@pytest.fixture(autouse=True)
def _catalog_of_its_own(request: pytest.FixtureRequest) -> None:
    """Set the URL of an empty catalog for a test that opens a store of its own."""
    if "tmp_path" not in request.fixturenames:
        return
    url = request.getfixturevalue("new_catalog_url")()
    if url is not None:
        request.getfixturevalue("monkeypatch").setenv("TRUELIFT_CATALOG_URL", url)


@pytest.fixture(scope="session", params=public_data.sources(public_data.LANDING_PAGE))
def landing_page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LandingPage:
    """Return a landing-page test without an effect."""
    return public_data.landing_page(request.param, tmp_path_factory.mktemp("landing_page"))


@pytest.fixture(scope="session", params=public_data.sources(public_data.EMAIL_CHALLENGE))
def email_challenge(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> EmailChallenge:
    """Return an experiment in which two e-mails win against none."""
    return public_data.email_challenge(request.param, tmp_path_factory.mktemp("email_challenge"))
