"""What elmlda bench prints."""

from types import SimpleNamespace

from elmlda.bench.limit import TimedNetwork
from elmlda.networks.cost import Speeds
from elmlda.reports.race_text import format_network


def test_the_network_in_lines():
    network = SimpleNamespace(part_seconds={"gram": 2.5, "test": 0.25}, precision="mixed")
    speeds = Speeds(hidden=1e11, gram=1e11, solver=5e10)
    assert format_network(TimedNetwork("mixed", network, 3.0, 2.0, speeds, 250_000_000)) == (
        "gram               2.50 s\n"
        "test               0.25 s\n"
        "nested sweep       3.00 s\n"
        "limit              2.00 s   at 100 and 50 GFLOP/s\n"
        "ratio             1.500\n"
        "peak memory        0.25 GB"
    )
