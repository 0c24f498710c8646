import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet, InvalidToken

from pipeline.encryption_key import SecretsKeyError, open_cipher
from pipeline.settings import Settings

ROOT = Path(__file__).parents[2]
ENCRYPT = """
import sys
from pathlib import Path
from pipeline.encryption_key import open_cipher
from pipeline.settings import Settings
print(open_cipher(Settings(data_dir=Path(sys.argv[1]))).encrypt(b"secret").decode())
"""


def test_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new")
    sealed = open_cipher(settings).encrypt(b"secret")
    assert stat.S_IMODE(settings.secrets_key_path.stat().st_mode) == 0o600
    assert open_cipher(settings).decrypt(sealed) == b"secret"
    assert [path.name for path in settings.data_dir.iterdir()] == ["secrets.key"]


def test_processes_that_make_a_key_at_once_get_the_same(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", ENCRYPT, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    sealed = [process.communicate(timeout=60)[0].strip() for process in processes]
    seal = open_cipher(Settings(data_dir=tmp_path))
    assert [seal.decrypt(one) for one in sealed] == [b"secret"] * 4


def test_key_of_the_settings_comes_first_and_no_file_is_made(tmp_path: Path) -> None:
    key = Fernet.generate_key().decode()
    settings = Settings.model_validate({"data_dir": tmp_path, "secrets_key": key})
    sealed = open_cipher(settings).encrypt(b"secret")
    assert Fernet(key).decrypt(sealed) == b"secret"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidToken):
        open_cipher(Settings(data_dir=tmp_path)).decrypt(sealed)


def test_key_is_not_shown_with_the_settings(tmp_path: Path) -> None:
    key = Fernet.generate_key().decode()
    settings = Settings.model_validate({"data_dir": tmp_path, "secrets_key": key})
    assert key not in repr(settings)


@pytest.mark.parametrize("key", ["", "short", "ä" * 44])
def test_key_that_is_none_is_told_so(tmp_path: Path, key: str) -> None:
    settings = Settings(data_dir=tmp_path)
    settings.secrets_key_path.write_text(key)
    with pytest.raises(SecretsKeyError, match=r"secrets\.key holds no key"):
        open_cipher(settings)
    with pytest.raises(SecretsKeyError, match="TRUELIFT_SECRETS_KEY holds no key"):
        open_cipher(Settings.model_validate({"data_dir": tmp_path, "secrets_key": key}))


def test_a_key_of_an_earlier_version_and_the_content_of_a_file_are_keys(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    sealed = open_cipher(settings).encrypt(b"secret")
    content = settings.secrets_key_path.read_text()
    given = Settings.model_validate({"data_dir": tmp_path, "secrets_key": content.rstrip()})
    settings.secrets_key_path.write_text(content.splitlines()[0] + "\n")
    for one in (settings, given):
        assert open_cipher(one).decrypt(sealed) == b"secret"


def test_a_changed_key_is_told_to_be_damaged(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    open_cipher(settings)
    content = settings.secrets_key_path.read_text()
    settings.secrets_key_path.write_text(("B" if content[0] == "A" else "A") + content[1:])
    with pytest.raises(SecretsKeyError, match=r"secrets\.key is damaged: put it back from a backup"):
        open_cipher(settings)
