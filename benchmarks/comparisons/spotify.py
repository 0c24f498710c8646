"""spotify-confidence as a peer, in an environment of its own that uv creates once."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments

NAME = "spotify-confidence"
# `make` installs uv here where the machine has none.
UV_OF_MAKE = Path(__file__).resolve().parents[2] / ".tools" / "uv" / "bin" / "uv"
PROGRAM = Path(__file__).with_name("spotify_tests.py")

Arms = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Answer:
    """Processor seconds inside its process, and its result of each comparison; sequential tests give no p."""

    seconds: float
    p: FloatArray
    difference: FloatArray


def arms(control: Moments, treatment: Moments, *, is_share: bool = False) -> Arms:
    """Return the arms in its format: visitors, sums and sums of squares, one row each.

    Moments are comparisons, or looks by comparisons.
    """
    columns = [_columns(control, is_share=is_share), _columns(treatment, is_share=is_share)]
    asked = {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}
    return asked | {"is_control": np.repeat([True, False], control.n.size)}


def answer(test: str, asked: Arms) -> Answer:
    """Run one of its tests on these arms; RuntimeError without uv, which creates its environment."""
    uv = os.environ.get("UV") or shutil.which("uv") or shutil.which(UV_OF_MAKE)
    if uv is None:
        raise RuntimeError(
            f"{NAME} runs in an environment that uv makes; run `make dev`, or put uv on the path"
        )
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, allow_pickle=False, **asked)
        file.flush()
        command = [uv, "run", "--quiet", "--no-project", "--python", sys.executable, "--script", str(PROGRAM)]
        output = subprocess.run([*command, test, file.name], check=True, stdout=subprocess.PIPE).stdout
    found = json.loads(output)
    return Answer(found["seconds"], np.array(found["p"], np.float64), np.array(found["difference"]))


def _columns(moments: Moments, *, is_share: bool) -> Arms:
    sums = moments.n * moments.mean
    look, comparison = np.indices((moments.n.size // moments.n.shape[-1], moments.n.shape[-1]))
    return {
        "comparison": comparison.ravel(),
        "look": look.ravel(),
        "n": moments.n.ravel(),
        # Sums of what is 0 or 1 have to be those of their squares.
        "sum": np.round(sums).ravel() if is_share else sums.ravel(),
        "squares": np.round(sums).ravel() if is_share else (moments.m2 + sums * moments.mean).ravel(),
    }
