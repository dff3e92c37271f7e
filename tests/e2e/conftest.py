import sys
import pathlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import BINARY, Provider, Site  # noqa: E402


def pytest_configure():
    if not BINARY.exists():
        raise pytest.UsageError(f"{BINARY} is not built; a suite that runs nothing must not be green")


@pytest.fixture
def provider():
    made = Provider()
    yield made
    made.close()


@pytest.fixture
def site(tmp_path, provider):
    """A function that makes a Site; every process it started is ended afterwards."""
    made = []

    def make(**settings):
        made.append(Site(tmp_path / f"site{len(made)}", provider.port, **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()
