"""Environments of their own for the programs that recipes are for."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def installed(folder: Path, *packages: str) -> Path:
    """Install packages into a new environment; returns the folder of its programs."""
    uv = shutil.which("uv") or next(map(str, (ROOT / ".tools").rglob("bin/uv")))
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", folder / "bin" / "python", *packages], check=True)
    return folder / "bin"
