"""The source distribution and its wheel, installed into an empty environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT_FOLDER = ROOT / "api" / "sdk" / "browser"


def uv(*arguments: str | Path) -> str:
    """What uv prints: the machine's, or the one that make has installed."""
    program = shutil.which("uv") or ROOT / ".tools" / "uv" / "bin" / "uv"
    # The tests' own environment is not the one to install into.
    variables = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [program, *arguments], cwd=ROOT, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution as an installer without our checkout would."""
    folder = tmp_path_factory.mktemp("distributions")
    uv("build", "--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_has_every_module_and_every_file_that_is_served(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    packages = ("truelift", "engine", "pipeline", "api")
    expected = {
        path.relative_to(ROOT).as_posix() for package in packages for path in (ROOT / package).rglob("*.py")
    }
    scripts = [*(SCRIPT_FOLDER / "dist").rglob("*.js"), *(ROOT / "api" / "dashboard" / "static").glob("*.js")]
    assert len(scripts) > 5
    texts = [
        path
        for package in packages
        for ending in ("*.html", "*.css", "*.mako")
        for path in (ROOT / package).rglob(ending)
        if "node_modules" not in path.parts
    ]
    expected |= {path.relative_to(ROOT).as_posix() for path in (*scripts, *texts)}
    assert len(expected) > 400
    assert expected - names == set()
    assert not [name for name in names if "node_modules" in name or name.startswith("tests/")]


@pytest.mark.slow
def test_the_installed_wheel_runs_the_demo_elsewhere(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    locked = tmp_path / "locked.txt"
    locked.write_text(uv("export", "--frozen", "--no-emit-project", "--no-hashes"))
    uv("venv", "--quiet", "--python", sys.executable, environment)
    uv("pip", "install", "--quiet", "--python", environment, "--requirements", locked, wheel)
    command = environment / "bin" / "truelift"
    done = subprocess.run(
        [command, "demo", "--no-serve", "--visitors", "20000", "--data-dir", "demo"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Fix the data" in done.stdout
