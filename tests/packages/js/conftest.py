"""The packed package, and the site and browser of the tests of the script."""

from pathlib import Path

import pytest

from tests.api.sdk.browser.conftest import chromium, page, pytest_runtest_teardown, served, site
from tests.packages.js.installed import Installed, pack

__all__ = ["chromium", "page", "pytest_runtest_teardown", "served", "site"]


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Installed:
    base = tmp_path_factory.getbasetemp()
    # Workers have folders of their own in one of the run.
    tarball = pack(base if worker_id == "master" else base.parent)
    return Installed.at(Path(tmp_path_factory.mktemp("shop")), tarball)
