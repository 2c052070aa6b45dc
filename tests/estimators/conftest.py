from collections.abc import Iterator

import pytest
from joblib.externals.loky import get_reusable_executor


@pytest.fixture(scope="module", autouse=True)
def _no_processes_left() -> Iterator[None]:
    """joblib keeps its workers for later, and other tests look for processes that were left."""
    yield
    get_reusable_executor().shutdown(wait=True, kill_workers=True)
