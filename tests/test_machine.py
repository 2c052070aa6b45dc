import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from processes import unmeasured

from elmlda import machine
from elmlda.machine import available_memory, count_cores, held_memory, measure_peak_bytes

GB = 10**9
MORE = 1 << 60
"""What version 1 has where there is no limit, or nearly."""


@pytest.fixture
def tree(tmp_path):
    """Make control groups: files by path, and what the process's own file says."""

    def make(own: str, files: dict[str, object]) -> tuple[Path, Path]:
        for name, content in files.items():
            path = tmp_path / "groups" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")
        (tmp_path / "own").write_text(own)
        return tmp_path / "groups", tmp_path / "own"

    return make


def second(folder, limit, used=0, active=0, inactive=0):
    stat = f"anon {used}\nactive_file {active}\ninactive_file {inactive}"
    return {
        f"{folder}memory.max": limit,
        f"{folder}memory.current": used,
        f"{folder}memory.stat": stat,
    }


def first(folder, limit, used=0, active=0, inactive=0):
    stat = f"active_file 1\ntotal_active_file {active}\ntotal_inactive_file {inactive}"
    return {
        f"{folder}memory.limit_in_bytes": limit,
        f"{folder}memory.usage_in_bytes": used,
        f"{folder}memory.stat": stat,
    }


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/a/b\n", second("a/b/", GB // 2, 10**8), 4 * 10**8),
        # The file cache makes way.
        ("0::/a\n", second("a/", GB // 2, 4 * 10**8, 10**8, 2 * 10**8), 4 * 10**8),
        # Whichever of the groups around it leaves least.
        ("0::/a/b\n", second("a/b/", GB) | second("a/", 3 * 10**8, 10**8), 2 * 10**8),
        ("0::/a/b\n", second("a/b/", 10**8) | second("a/", GB), 10**8),
        ("0::/a/b\n", second("a/b/", "max") | second("a/", 10**8), 10**8),
        # More than the limit is used already.
        ("0::/a\n", second("a/", 10**8, 2 * 10**8), 0),
        # A container that sees its own group as the root, by the host's name.
        ("0::/docker/0123\n", second("", 10**8), 10**8),
        ("0::/../../user\n", second("", 10**8), 10**8),
        # Version 1, alone and beside version 2.
        ("4:memory:/a/b\n0::/\n", first("memory/a/b/", 10**8), 10**8),
        ("4:memory:/a/b\n", first("memory/a/b/", MORE) | first("memory/a/", 10**8), 10**8),
        ("4:memory:/a\n", first("memory/a/", GB // 2, 4 * 10**8, 10**8, 2 * 10**8), 4 * 10**8),
        ("0::/a\n", second("unified/a/", 10**8), 10**8),
    ],
)
def test_memory_that_control_groups_leave(tree, own, files, expected):
    assert available_memory(*tree(own, files)) == expected


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("", {}),
        ("0::/\n", {}),
        ("0::/a\n", second("a/", "max")),
        ("0::/a\n", second("a/", MORE)),
        ("0::/a\n", second("b/", 1000)),
        ("4:memory:/a\n", first("memory/a/", MORE)),
        ("2:cpu:/a\n", first("memory/a/", 1000) | first("cpu/a/", 1000)),
        ("0::/a\n", {"a/memory.max": "1000", "a/memory.current": "broken"}),
    ],
)
def test_without_a_limit_the_systems_memory_counts(tree, own, files):
    assert 1 << 24 < available_memory(*tree(own, files)) < 1 << 50


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "100000 100000"}, 1),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 1),
        ("0::/a\n", {"a/cpu.max": "250000 100000"}, 3),
        ("0::/a\n", {"a/cpu.max": "300000 100000"}, 3),
        ("0::/a\n", {"a/cpu.max": "max 100000"}, 64),
        ("0::/a\n", {"a/cpu.max": "9999999999 100000"}, 64),
        ("1:cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "150000", "cpu/a/cpu.cfs_period_us": "100000"}, 2),
        (
            "1:cpu,cpuacct:/a\n",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "1000", "cpu,cpuacct/a/cpu.cfs_period_us": "1000"},
            1,
        ),
        ("1:cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"}, 64),
        ("", {}, 64),
    ],
)
def test_cores_that_control_groups_leave(tree, monkeypatch, own, files, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    assert count_cores(*tree(own, files)) == expected


def test_cores_by_affinity(tree, monkeypatch):
    nothing = tree("", {})
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5}, raising=False)
    assert count_cores(*nothing) == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert count_cores(*nothing) == 7
    assert count_cores(nothing[0], nothing[1] / "not there") == 7


@pytest.mark.parametrize(
    ("environment", "n_processes", "expected"),
    [
        ({}, 1, 8),
        ({}, 3, 2),
        ({}, 9, 1),
        ({"OMP_NUM_THREADS": "3"}, 1, 3),
        ({"OMP_NUM_THREADS": "3,2"}, 1, 3),
        ({"OMP_NUM_THREADS": "3"}, 4, 2),
        ({"OMP_NUM_THREADS": "64"}, 1, 8),
        ({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "4"}, 1, 1),
        ({"OPENBLAS_NUM_THREADS": "", "MKL_NUM_THREADS": "0", "OMP_NUM_THREADS": "many"}, 1, 8),
    ],
)
def test_threads_by_cores_and_environment(monkeypatch, environment, n_processes, expected):
    monkeypatch.setattr(machine, "count_cores", lambda: 8)
    for name in machine.THREAD_LIMITS:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert machine.share_cores(n_processes) == expected


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="it is read from /proc")
def test_held_memory_is_the_resident_one():
    status = Path("/proc/self/status").read_text()
    resident = 1024 * int(re.search(r"VmRSS:\s*(\d+) kB", status)[1])
    assert held_memory() == pytest.approx(resident, rel=0.1)


@pytest.mark.parametrize(
    ("cpuinfo", "flags"),
    [
        (
            "processor\t: 0\nmodel name\t: X\nvmx flags\t: a\nflags\t\t: avx2 amx_bf16\n\n",
            {"avx2", "amx_bf16"},
        ),
        ("processor\t: 0\nFeatures\t: fp asimd bf16\n", set()),
    ],
    ids=["Intel", "ARM"],
)
def test_flags_of_the_processor(monkeypatch, cpuinfo, flags):
    monkeypatch.setattr(Path, "read_text", lambda *args, **kwargs: cpuinfo)
    assert machine.read_cpu_flags() == flags


def test_without_proc(monkeypatch):
    def missing(*args, **kwargs):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert held_memory() == 0
    assert machine._cpu_name()
    assert machine.read_cpu_flags() == set()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert measure_peak_bytes() == pytest.approx(peak, rel=0.1)
    monkeypatch.setattr(Path, "read_text", lambda *args, **kwargs: "nothing: 0\n")
    assert machine._cpu_name()
    assert machine._system_memory() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert measure_peak_bytes() == pytest.approx(peak, rel=0.1)


def test_peak_memory_is_of_this_process():
    # The system does not count every page at once, and a process inherits ru_maxrss.
    peak = measure_peak_bytes()
    assert 1 << 24 < peak < 1.1 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize(("platform", "unit"), [("linux", 1024), ("darwin", 1)])
def test_peak_memory_without_proc(without_proc, monkeypatch, platform, unit):
    monkeypatch.setattr("sys.platform", platform)
    assert measure_peak_bytes() == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# Real limits


def elmlda(limit, *arguments):
    """Run it in a process that a line of shell has limited."""
    command = [sys.executable, "-c", "from elmlda.cli import main; main()", *map(str, arguments)]
    limited = ["sh", "-c", f'{limit} && exec "$@"', "sh", *command]
    return subprocess.run(limited, capture_output=True, text=True, timeout=240, env=unmeasured())


def largest_that_fits(message):
    """What the refusal advises, as the option to run it with."""
    found = re.search(r"At most --fanout (\d+)", message)
    assert found, message
    return int(found[1])


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("-n 5", "a process may open 5 files here, elmlda needs 32. Raise ulimit -n."),
        ("-n 16", "a process may open 16 files here, elmlda needs 32. Raise ulimit -n."),
        ("-v 150000", r"a process may take 0\.1\d GB more of address space here, elmlda's libraries"),
        ("-v 200000", r"a process may take 0\.1\d GB more of address space here, elmlda's libraries"),
        ("-v 450000", r"a process may take 0\.4\d GB more of address space here, elmlda's libraries"),
    ],
)
def test_limits_that_are_too_low_for_the_libraries(tmp_path, clouds, limit, message, jobs):
    plan = "--hidden", 20, "--repeats", 4, "--data-dir", clouds, "--out", tmp_path / "run"
    done = elmlda(f"ulimit {limit}", "sweep", *plan, "--jobs", jobs)
    assert re.match(f"Error: {message}", done.stderr)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_a_limit_of_address_space_counts(tmp_path):
    options = "--repeats", 1, "--threads", 1, "--out", tmp_path / "run"
    done = elmlda("ulimit -v 3000000", "sweep", "--fanout", 40, *options)
    assert done.returncode == 1
    assert re.match(
        r"Error: 31,360 hidden units need 1\d\.\d\d GB of memory, [12]\.\d\d GB are free\.", done.stderr
    )
    assert 5 < largest_that_fits(done.stderr) < 20
    assert not (tmp_path / "run").exists()


@pytest.fixture
def own_group():
    """A control group inside that of this process: a limit there can only be narrower."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        root = Path("/sys/fs/cgroup", *(["memory"] if names else []))
        if names not in ("", "memory") or not (root / path.lstrip("/")).is_dir():
            continue
        folder = root / path.lstrip("/") / f"elmlda-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        limit = next(
            (n for n in ("memory.max", "memory.limit_in_bytes") if (folder / n).exists()), None
        )
        try:
            if limit:
                yield folder / limit
                return
        finally:
            folder.rmdir()
    pytest.skip("no control group for memory can be made here")


def test_a_real_control_group_counts(own_group, tmp_path):
    try:
        own_group.write_text(str(230 * 10**6))
    except OSError as error:
        pytest.skip(f"no limit can be set here: {error}")

    join = f"echo $$ > {own_group.parent}/cgroup.procs"
    options = "--repeats", 1, "--threads", 1, "--quiet", "--out", tmp_path / "run"
    done = elmlda(join, "sweep", "--fanout", 10, *options)
    assert done.returncode == 1
    assert re.match(
        r"Error: 7,840 hidden units need 0\.9\d GB of memory, 0\.\d\d GB are free\.", done.stderr
    )
    fanout = largest_that_fits(done.stderr)
    assert 1 <= fanout <= 2
    # And that does fit: the system would kill it, if it took more than the group has.
    assert elmlda(join, "sweep", "--fanout", fanout, *options).returncode == 0
