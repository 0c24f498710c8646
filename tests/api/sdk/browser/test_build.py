"""The committed scripts are those that the sources build, and small."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[4] / "api" / "sdk" / "browser"
DIST = SOURCES / "dist"
NODE = Path(sys.executable).parent / "node"
# Over a slow connection, a round trip carries about fourteen kilobytes: code and config share one.
MOST_BYTES = 8_192


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert (SOURCES / "node_modules").is_dir(), "needs the packages of the script: make snippet-tools"
    output = tmp_path_factory.mktemp("dist")
    subprocess.run([NODE, SOURCES / "build.mjs", output], check=True, timeout=60)
    return output


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_committed_scripts_are_what_the_sources_build(built: Path) -> None:
    again = files(built)
    assert "truelift.js" in again
    assert files(DIST) == again, "run 'make snippet' and commit api/sdk/browser/dist"


def test_core_has_at_most_8192_bytes_compressed() -> None:
    assert len(gzip.compress((DIST / "truelift.js").read_bytes(), 9)) <= MOST_BYTES


def test_script_takes_its_config_as_an_argument(tmp_path: Path) -> None:
    script = (DIST / "truelift.js").read_text()
    assert script.startswith("(function(CONFIG,")
    assert script.endswith("})(")
    parts = [path.read_text() for path in sorted((DIST / "parts").glob("*.js"))]
    assert parts
    whole = tmp_path / "whole.js"
    whole.write_text(",".join([script + json.dumps({}), *parts]) + ");")
    subprocess.run([NODE, "--check", whole], check=True, timeout=60)
