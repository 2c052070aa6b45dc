"""Runs as processes, the same runs undisturbed, and what they have computed."""

import subprocess

import pytest
from command_line import ELMLDA, invoke_here, read_rows

from elmlda.runs.kept import MEMBERS, list_kept, read_kept

PLANS = {
    "sweep": "sweep --dataset iris --hidden 20,40,60 --repeats 120",
    "ensemble": "ensemble --dataset iris --hidden 40 --n 6 --repeats 20",
}
PARTS = "", MEMBERS
FASTER = "--quiet", "--threads", "1"


def build(plan, folder, *more):
    """The words of a command."""
    return [ELMLDA, *PLANS.get(plan, plan).split(), "--out", str(folder), *FASTER, *more]


class Faults:
    """What tests of faults need."""

    build = staticmethod(build)

    @staticmethod
    def refused(words, **options):
        """The one line with which a process ends that has met a fault."""
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, **options)
        return Faults.the_error(done.returncode, done.stdout, done.stderr)

    @staticmethod
    def the_error(exit_code, stdout, stderr):
        assert (exit_code, stdout) == (1, ""), stderr
        (line,) = stderr.splitlines()
        assert line.startswith("Error: ")
        return line

    @staticmethod
    def finish(words):
        """Run to the end, which has nothing to say."""
        done = invoke_here(*words[1:])
        assert (done.exit_code, done.output) == (0, "")

    @staticmethod
    def n_steps(folder):
        """Return how many networks are kept."""
        return sum(len(list_kept(folder, part)) for part in PARTS)

    @staticmethod
    def results(folder):
        """Return all that a run has computed: rows without times and machines, and kept arrays."""
        tables = {
            path.name: sorted(map(str, read_rows(path, without={"seconds", "machine"})))
            for path in folder.glob("*.csv")
        }
        networks = {part: list_kept(folder, part) for part in PARTS}
        kept = {
            (part, name, number): values.tobytes()
            for part, numbers in networks.items()
            for name in ("log_posteriors", "wrong", "sizes")
            for number, values in read_kept(folder, name, numbers, part).items()
        }
        assert not list(folder.rglob(".elmlda-*")), "temporary files are left"
        return tables, networks, kept


@pytest.fixture(scope="session")
def faults():
    return Faults


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """What each plan gives."""
    results = {}
    for plan in PLANS:
        folder = tmp_path_factory.mktemp(plan) / "run"
        Faults.finish(build(plan, folder))
        results[plan] = Faults.results(folder)
        assert all(results[plan])
    return results
