"""Sampling of hierarchical models in a separate process: PyMC forks, and a threaded service must not.

The process is started afresh and fed through pipes, which works from a script without a main guard and from
a notebook too, where multiprocessing would import the caller's main module again.
"""

import io
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from engine.errors import MissingSamplerError, SamplingError

Sampler = Literal["nutpie", "pymc"]

_PROCESS = "engine.stats.bayesian.sampler_process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Settings of the sampler: `chains` of `draws`, each after `warmup`, within `timeout_seconds` in total.

    `sampler` None is nutpie where it is installed, and PyMC's own otherwise. The same seed gives the same
    draws by the same sampler, on the same machine with the same packages; the two samplers differ.
    """

    draws: int = 2_000
    warmup: int = 1_000
    chains: int = 4
    seed: int = 1
    sampler: Sampler | None = None
    target_accept: float = 0.95
    timeout_seconds: float = 300.0

    def __post_init__(self) -> None:
        """Raise ValueError for settings that cannot be sampled or show no convergence."""
        if self.draws < 4 or self.warmup < 1 or self.chains < 2:
            raise ValueError("sampling needs at least 4 draws, 1 for warmup and 2 chains to compare")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed is a whole number from 0 to 2**32 - 1, not {self.seed}")
        if not 0 < self.target_accept < 1:
            raise ValueError(f"target_accept is a share between 0 and 1, not {self.target_accept}")
        if not 0 < self.timeout_seconds < np.inf:
            raise ValueError(f"timeout_seconds must be above 0, not {self.timeout_seconds}")
        if self.sampler not in {None, "nutpie", "pymc"}:
            raise ValueError(f"sampler is 'nutpie', 'pymc' or None, not {self.sampler!r}")


def choose_sampler(wanted: Sampler | None) -> Sampler:
    """Choose the sampler asked for, or the best one installed.

    Raises MissingSamplerError where it is not installed.
    """
    if not is_installed("pymc"):
        raise MissingSamplerError(
            "hierarchical models are sampled by PyMC, which is not installed: install it with "
            "truelift[bayes], or use the closed form"
        )
    if wanted == "nutpie" and not is_installed("nutpie"):
        raise MissingSamplerError(
            "nutpie is not installed: install it with truelift[bayes], or leave the sampler to choose itself"
        )
    return wanted or ("nutpie" if is_installed("nutpie") else "pymc")


def is_installed(package: str) -> bool:
    """Check that a package can be imported, without importing it."""
    return find_spec(package) is not None


def draw(data: dict[str, Any], how: Sampling, sampler: Sampler) -> dict[str, npt.NDArray[Any]]:
    """Sample the model of `data` in a process that always ends before this returns.

    `effect`, `centre` and `spread` are (chains, draws, quantities), `divergences` a count. Raises
    SamplingError where the process fails or exceeds the time limit.
    """
    request = io.BytesIO()
    settings: dict[str, Any] = {**asdict(how), "sampler": sampler}
    np.savez(request, **settings, **data)
    try:
        code, answer, complaints = _run(request.getvalue(), how.timeout_seconds)
    except subprocess.TimeoutExpired:
        raise SamplingError(
            f"the model was not sampled within {how.timeout_seconds:g} seconds: allow more in "
            "timeout_seconds, take fewer segments, or use the closed form"
        ) from None
    if code:
        last = complaints.decode(errors="replace").strip().rpartition("\n")[2]
        raise SamplingError(f"the process that samples ended with code {code}: {last}")
    with np.load(io.BytesIO(answer), allow_pickle=False) as archive:
        return dict(archive)


def _run(request: bytes, timeout_seconds: float) -> tuple[int, bytes, bytes]:
    """Run the process; returns its exit status, output and error output."""
    with subprocess.Popen(  # noqa: S603  # this interpreter and a module of ours
        # -P: a file in the working folder can't take a package's place.
        [sys.executable, "-P", "-m", _PROCESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    ) as process:
        try:
            answer, complaints = process.communicate(request, timeout=timeout_seconds)
        finally:
            # Where all went well it has ended already. run() would not wait for it when interrupted.
            process.kill()
            process.wait()
    return process.returncode, answer, complaints


def _environment() -> dict[str, str]:
    """Environment of the process, with this engine first on its path.

    Chains have a thread each: threads of the linear algebra on top of them would only wait for one another.
    """
    root = str(Path(__file__).parents[3])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **single, "PYTHONPATH": os.pathsep.join(paths)}
