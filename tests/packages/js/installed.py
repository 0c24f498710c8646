"""The package as its users have it: packed, installed in an empty folder, and run by Node."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.source_tree import ROOT

SOURCES = ROOT / "packages" / "js"
FRAMEWORKS = ROOT / "tests" / "api" / "sdk" / "browser" / "frameworks" / "node_modules"
TOOLS = Path(sys.executable).parent
NODE = TOOLS / "node"
# The first with `getBuiltinModule`, by which the scripts of the tests read.
OLDEST = (20, 16)
# The longest that a script may take.
LIMIT_SECONDS = 60
WITH_TOOLS = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}


def npm(*arguments: str | Path, folder: Path) -> None:
    done = subprocess.run(
        ["npm", *arguments],
        cwd=folder,
        env=WITH_TOOLS,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def pack(shared: Path) -> Path:
    """Pack the package once for all workers of a run."""
    assert (SOURCES / "node_modules").is_dir(), "needs the packages of @truelift/js: make snippet-tools"
    with (shared / "pack.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = list(shared.glob("truelift-js-*.tgz"))
        if not found:
            npm("pack", "--silent", "--pack-destination", shared, folder=SOURCES)
            found = list(shared.glob("truelift-js-*.tgz"))
    (tarball,) = found
    return tarball


@dataclass(frozen=True)
class Installed:
    """A folder with nothing but the package, and what else a test asks for."""

    folder: Path
    tarball: Path

    @classmethod
    def at(cls, folder: Path, tarball: Path) -> "Installed":
        (folder / "package.json").write_text(json.dumps({"name": "shop", "private": True, "type": "module"}))
        npm("install", "--offline", "--ignore-scripts", "--no-audit", "--silent", tarball, folder=folder)
        return cls(folder, tarball)

    @property
    def package(self) -> Path:
        return self.folder / "node_modules" / "@truelift" / "js"

    @cached_property
    def files(self) -> dict[str, str]:
        """Modules of the package by their names, as a site serves them."""
        return {path.name: path.read_text() for path in sorted((self.package / "dist").glob("*.js"))}

    def add(self, source: Path, name: str) -> None:
        """Add a package of another folder."""
        target = self.folder / "node_modules" / name
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            target.symlink_to(source)

    def run(self, script: str, *given: object, node: Path | str = NODE, kind: str = "module") -> Any:
        """Run a script, which finds what it is given in `given`, and return the JSON that it prints last."""
        read = 'process.getBuiltinModule("node:fs").readFileSync("given.json", "utf8")'
        # Ends a script that waits for something in vain, too, when the test that would stop it was killed.
        limit = f"setTimeout(() => process.exit(1), {LIMIT_SECONDS * 1000}).unref()"
        head = f"const given = JSON.parse({read});\n{limit};\n"
        (self.folder / "given.json").write_text(json.dumps(given))
        done = subprocess.run(
            [node, f"--input-type={kind}", "--eval", head + script],
            cwd=self.folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        return json.loads(lines[-1]) if lines else None


def documented(language: str) -> list[str]:
    """Blocks of code in a language, of the page in the documentation and of the package's own."""
    pages = [ROOT / "docs" / "javascript-client.md", SOURCES / "README.md"]
    blocks = [block for page in pages for block in page.read_text().split("```")[1::2]]
    return [block.removeprefix(f"{language}\n") for block in blocks if block.startswith(f"{language}\n")]


def nodes() -> list[Path]:
    """The Node of the environment, and that of the machine where it is another one and not too old."""
    own = shutil.which("node", path=os.environ["PATH"])
    return sorted({NODE.resolve(), *([Path(own).resolve()] if own and _is_supported(own) else [])})


def _is_supported(node: str) -> bool:
    told = subprocess.run([node, "--version"], check=True, capture_output=True, text=True, timeout=60).stdout
    return tuple(map(int, told.strip("v\n").split(".")[:2])) >= OLDEST
