"""The process that samples is found, fed and ended. What it draws is tested with the model."""

import io
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from engine.errors import MissingSamplerError, SamplingError
from engine.stats.bayesian import sampling
from engine.stats.bayesian.sampling import Sampling, choose_sampler, draw
from tests.waiting import wait_until

NO_DATA = {"family": np.zeros(0)}
# No main guard: multiprocessing would run all of it again.
SCRIPT = """
from engine.stats.bayesian.hierarchical import sample_shares
from engine.stats.contingency import Tables

print("once", flush=True)
sample_shares(Tables.of([5, 6, 7], [100, 100, 100], [6, 7, 8], [100, 100, 100]))
"""


def test_nutpie_samples_where_it_is_installed_and_pymc_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_sampler(None) == "nutpie"
    monkeypatch.setitem(sys.modules, "nutpie", None)
    assert choose_sampler(None) == "pymc"
    with pytest.raises(MissingSamplerError, match=r"nutpie .* truelift\[bayes\]"):
        choose_sampler("nutpie")


def test_without_pymc_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymc", None)
    with pytest.raises(MissingSamplerError, match=r"truelift\[bayes\], or use the closed form"):
        choose_sampler(None)


def test_a_process_that_takes_too_long_is_ended_and_named() -> None:
    # Servers of other tests may be there.
    before = psutil.Process().children()
    with pytest.raises(SamplingError, match=r"not sampled within 0\.05 seconds: allow more"):
        draw(NO_DATA, Sampling(timeout_seconds=0.05), "nutpie")
    assert set(psutil.Process().children()) <= set(before)


def test_a_process_that_breaks_off_says_why() -> None:
    # Nor does it unpickle: an archive could hold anything.
    with pytest.raises(SamplingError, match=r"ended with code 1: ValueError: Object arrays cannot be loaded"):
        draw({"family": np.array([object()])}, Sampling(), "nutpie")


def test_interrupting_a_script_leaves_no_process_behind(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as asking:
        watched = psutil.Process(asking.pid)
        wait_until(lambda: watched.children() or asking.poll() is not None)
        children = watched.children()
        assert children
        asking.send_signal(signal.SIGINT)
        printed, complaints = asking.communicate()
    assert asking.returncode != 0
    assert complaints.endswith("KeyboardInterrupt\n")
    assert printed == "once\n"
    # Interrupted while it started the process, the script ends it by closing its input.
    wait_until(lambda: not any(child.is_running() for child in children))


@pytest.mark.parametrize(
    "wrong",
    [
        {"draws": 3},
        {"chains": 1},
        {"warmup": 0},
        {"seed": -1},
        {"seed": 2**32},
        {"target_accept": 1.0},
        {"timeout_seconds": 0.0},
        {"timeout_seconds": float("nan")},
        {"sampler": "gibbs"},
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        Sampling(**wrong)  # type: ignore[arg-type]  # on purpose


def test_the_process_is_sent_the_data_and_settings_and_answers_with_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def process(request: bytes, timeout_seconds: float) -> tuple[int, bytes, bytes]:
        with np.load(io.BytesIO(request), allow_pickle=False) as sent:
            assert (int(sent["draws"]), str(sent["sampler"]), timeout_seconds) == (40, "pymc", 300.0)
            answer = io.BytesIO()
            np.savez(answer, effect=2 * sent["rough"])
        return 0, answer.getvalue(), b"a warning"

    monkeypatch.setattr(sampling, "_run", process)
    found = draw({"rough": np.array([1.0, 3.0])}, Sampling(draws=40), "pymc")
    assert {name: values.tolist() for name, values in found.items()} == {"effect": [2.0, 6.0]}
