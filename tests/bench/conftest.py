"""A small race: clouds, four fan-outs, every contestant."""

import pytest

from elmlda.bench import limit
from elmlda.bench.limit import time_network
from elmlda.bench.race import CONTESTANTS, RacePlan
from elmlda.settings import NetworkSettings, Resources

FANOUTS = (1, 2, 3, 4)


@pytest.fixture(scope="module")
def dataset(make_dataset):
    return make_dataset(600, 200, 6, 4)


@pytest.fixture
def plan(dataset):
    settings = NetworkSettings(weight_range=1.0, priors="frequencies", precision="double")
    return RacePlan(dataset, FANOUTS, CONTESTANTS, FANOUTS, 3, settings, Resources())


@pytest.fixture
def timed(plan, monkeypatch):
    """The plan's nested network."""
    monkeypatch.setattr(limit, "PRODUCT_SIZE", 64)
    monkeypatch.setattr(limit, "PRODUCT_SECONDS", 0.01)
    return time_network(plan)
