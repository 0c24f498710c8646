"""The source distribution and its wheel, installed into an empty environment."""

import os
import shutil
import subprocess
import sys
import sysconfig
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
    assert not [name for name in names if "node_modules" in name or name.startswith(("tests/", "packages/"))]


def run_demo(environment: Path, folder: Path) -> str:
    command = [str(environment / "bin" / "truelift"), "demo", "--no-serve", "--visitors", "20000"]
    done = subprocess.run(
        [*command, "--data-dir", "demo"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.long(seconds=6)
def test_the_installed_wheel_runs_the_demo_elsewhere(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    uv("venv", "--quiet", "--python", sys.executable, environment)
    uv("pip", "install", "--quiet", "--python", environment, "--no-deps", wheel)
    # The packages that it needs are those that are installed already, and compiled.
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "installed.pth").write_text(sysconfig.get_path("purelib"))
    code = "import truelift; print(truelift.__file__)"
    python = [str(environment / "bin" / "python"), "-c", code]
    found = subprocess.run(python, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert Path(found).is_relative_to(packages)
    assert "Fix the data" in run_demo(environment, tmp_path)


@pytest.mark.slow
@pytest.mark.long(seconds=15)
def test_the_wheel_runs_with_the_packages_that_it_asks_for_and_no_others(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    locked = tmp_path / "locked.txt"
    locked.write_text(uv("export", "--frozen", "--no-emit-project", "--no-hashes"))
    uv("venv", "--quiet", "--python", sys.executable, environment)
    uv("pip", "install", "--quiet", "--python", environment, "--requirements", locked, wheel)
    assert "Fix the data" in run_demo(environment, tmp_path)
