"""What every test runs under: property tests try the same examples each time, on machines of any speed."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

_SHARED = Path(__file__).resolve().parents[2] / "shared"


def _shared(folder: str) -> Path:
    path = _SHARED / folder
    if not path.is_dir():
        pytest.skip(f"needs {folder}/ in a folder named shared beside the repository")
    return path


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of public data sets, or skip where it is absent."""
    return _shared("data")


@pytest.fixture
def shared_contract() -> Path:
    """Return the folder of the contract's reference values, or skip where it is absent."""
    return _shared("contract")
