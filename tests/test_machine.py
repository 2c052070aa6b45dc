"""Cores, memory and processor of the machine that the tests run on."""

import os

import psutil
import pytest
from threadpoolctl import threadpool_limits

from elmlda import machine
from elmlda.machine import count_cores, describe_machine, free_memory
from elmlda.options import MachineOptions


def test_cores_are_those_that_this_process_may_use():
    assert 1 <= count_cores() <= (os.cpu_count() or 1)


def test_threads_are_what_is_left_of_the_cores():
    with threadpool_limits(1, user_api="blas"):
        assert MachineOptions().threads_each == 1
    with threadpool_limits(2, user_api="blas"):
        assert MachineOptions().threads_each == min(2, count_cores())
        assert MachineOptions(jobs=count_cores()).threads_each == 1


def test_memory_is_that_of_a_container_if_it_has_less(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    for name, text in {
        "memory.max": "5000000",
        "memory.current": "3000000",
        "memory.stat": "anon 5\ninactive_file 1000000",
    }.items():
        (tmp_path / name).write_text(f"{text}\n")
    own = psutil.Process().memory_info().rss
    assert free_memory() == pytest.approx(3_000_000 + own, rel=0.05)
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 2 * own


def test_a_machine_is_described_by_what_rounding_and_timing_depend_on():
    description = describe_machine()
    assert description["cpu"]
    assert description["cores"] == count_cores()
    assert {"numpy", "scipy", "blas", "python", "system"} <= description.keys()
    assert all(" " in library for library in description["blas"])
