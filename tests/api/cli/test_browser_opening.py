"""Command `open`: a link of the running service that signs in once, with a key that is made once."""

import json
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from api.cli.stores import opened_catalog
from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process


def browser() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))


def test_without_a_service_or_a_store_the_command_says_what_to_do(
    run: Run, account: dict[str, str], tmp_path: Path
) -> None:
    assert "run `truelift serve" in run("open", "--data-dir", tmp_path).err
    assert "there is no store" in run("open", "--data-dir", tmp_path / "other").err


def test_a_link_signs_in_once_and_its_key_is_made_once(
    run: Run, account: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with served_by_another_process(tmp_path):
        link = json.loads(run("open", "--data-dir", tmp_path, "--json").out)["url"]
        signed_in = browser()
        with signed_in.open(link, timeout=60) as page:
            assert "Sign out" in page.read().decode()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            browser().open(link, timeout=60)
        assert opened == []
        printed = run("open", "--data-dir", tmp_path, "--no-browser").out
        assert printed.startswith("http://127.0.0.1:")
        assert opened == []
        assert [run("open", "--data-dir", tmp_path).out.strip()] == opened
    with opened_catalog(tmp_path) as catalog:
        names = [key.name for key in catalog.keys.of_account(account["account_id"])]
    assert len([name for name in names if name.startswith("Dashboard on ")]) == 1
