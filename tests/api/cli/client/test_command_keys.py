"""Keys of commands: made once, kept for the owner of the folder alone, and made anew where revoked."""

import subprocess
import sys
from pathlib import Path

import pytest

from api.cli.client.command_keys import COMMANDS, command_key
from api.cli.console import CommandError
from api.cli.stores import opened_catalog
from pipeline.clock import utc_now
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.keys import ApiKey

ASK = """
import sys
from pathlib import Path
from api.cli.client.command_keys import command_key
from api.cli.stores import opened_catalog, settings_for
with opened_catalog(Path(sys.argv[1])) as catalog:
    print("ready", flush=True)
    sys.stdin.readline()
    print(command_key(settings_for(Path(sys.argv[1])), catalog, sys.argv[2]))
"""


def keys_of_commands(catalog: Catalog, account_id: str) -> list[ApiKey]:
    return [key for key in catalog.keys.of_account(account_id) if key.name.startswith("Commands on ")]


def test_a_key_is_made_once_an_account_with_the_scopes_of_commands(tmp_path: Path) -> None:
    with opened_catalog(tmp_path) as catalog:
        one, two = (catalog.accounts.create(name, "a@shop.example")[0].id for name in ("One", "Two"))
        settings = Settings(data_dir=tmp_path)
        token = command_key(settings, catalog, one)
        assert command_key(settings, catalog, two) != token == command_key(settings, catalog, one)
        (key,) = keys_of_commands(catalog, one)
        assert set(key.scopes) == set(COMMANDS.scopes)
        assert isinstance(catalog.keys.find_by_token(token, now=utc_now()), ApiKey)


def test_its_file_is_readable_by_its_owner_only_also_after_a_change_of_its_mode(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with opened_catalog(tmp_path) as catalog:
        account = catalog.accounts.create("Shop", "a@shop.example")[0].id
        token = command_key(settings, catalog, account)
        assert settings.command_keys_path.stat().st_mode & 0o777 == 0o600
        settings.command_keys_path.chmod(0o644)
        assert command_key(settings, catalog, account) == token
    assert settings.command_keys_path.stat().st_mode & 0o777 == 0o600
    assert [path.stat().st_mode & 0o077 for path in tmp_path.glob("command-keys*")] == [0, 0]


def test_a_revoked_key_is_made_anew_and_so_is_one_in_a_damaged_file(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with opened_catalog(tmp_path) as catalog:
        account = catalog.accounts.create("Shop", "a@shop.example")[0].id
        first = command_key(settings, catalog, account)
        catalog.keys.revoke(account, keys_of_commands(catalog, account)[0].id, now=utc_now())
        second = command_key(settings, catalog, account)
        settings.command_keys_path.write_bytes(b"{")
        third = command_key(settings, catalog, account)
    assert len({first, second, third}) == 3


@pytest.mark.long(seconds=3)
def test_two_commands_at_once_make_one_key(tmp_path: Path) -> None:
    with opened_catalog(tmp_path) as catalog:
        account = catalog.accounts.create("Shop", "a@shop.example")[0].id
        command = [sys.executable, "-c", ASK, str(tmp_path), account]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        both = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload]
        for process in both:
            assert process.stdout.readline() == "ready\n"
        for process in both:
            process.stdin.write("\n")
            process.stdin.flush()
        tokens = [process.communicate(timeout=60)[0] for process in both]
        assert tokens[0] == tokens[1] != ""
        assert len(keys_of_commands(catalog, account)) == 1


def test_a_file_that_cannot_be_used_is_named_in_a_sentence(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    settings.command_keys_path.mkdir()
    with opened_catalog(tmp_path) as catalog:
        account = catalog.accounts.create("Shop", "a@shop.example")[0].id
        with pytest.raises(CommandError, match=r"command-keys\.json cannot be used: Is a directory"):
            command_key(settings, catalog, account)


def test_an_account_without_an_owner_is_named_in_a_sentence(tmp_path: Path) -> None:
    with (
        opened_catalog(tmp_path) as catalog,
        pytest.raises(CommandError, match="the account acc_none has no owner who has accepted"),
    ):
        command_key(Settings(data_dir=tmp_path), catalog, "acc_none")
