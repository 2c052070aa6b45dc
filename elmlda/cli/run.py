"""What every command that trains networks does alike: data, settings, memory, progress, Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm

from elmlda.arrays import FloatArray
from elmlda.cli.formats import format_seconds
from elmlda.cost import Problem, count_operations, measure_matmul_speed, predict_peak_bytes
from elmlda.datasets import Dataset, load_dataset
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.datasets.content import available_memory
from elmlda.errors import ElmldaError
from elmlda.machine import count_cores, describe_machine
from elmlda.network import HIDDEN_DTYPES, resolve_priors
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources
from elmlda.store import PosteriorStore, Run, check_same_run, read_manifest

OVERHEAD = 1.15
"""What a network takes beyond its floating-point operations at matrix-multiply speed."""

RESUMES = "Every finished network is recorded; the same command goes on from there."


@dataclass(frozen=True)
class Setup:
    """A command's data, settings and share of the machine."""

    dataset: Dataset
    ref: DatasetRef
    seed: int
    design: str
    settings: NetworkSettings
    resources: Resources
    n_processes: int
    folder: Path

    def identity(self) -> dict[str, Any]:
        """What makes the run's networks what they are, for its manifest."""
        return {
            "dataset": self.dataset.name,
            "sha256": self.dataset.checksums,
            "design": self.design,
            "seed": self.seed,
            **vars(self.settings),
            "input_scale": self.settings.input_scale or self.dataset.input_scale,
            **self.dataset.preparation,
        }

    @property
    def is_papers_data(self) -> bool:
        return self.dataset.checksums == MNIST_SHA256

    def open_run(self, experiment: str, fixed: dict[str, Any], grown: dict[str, Any]) -> Run:
        return Run(self.folder, experiment, self.identity(), fixed, grown, describe_machine())

    def check_folder(self, experiment: str, fixed: dict[str, Any]) -> None:
        """Refuse a folder of another configuration, without touching it."""
        manifest = read_manifest(self.folder)
        if manifest:
            check_same_run(self.folder, manifest, self.identity(), experiment, fixed)

    def posteriors(self) -> PosteriorStore:
        shape = len(self.dataset.test.labels), self.dataset.n_classes
        return PosteriorStore(self.folder, self.identity(), shape)

    def priors(self) -> FloatArray:
        counts = np.bincount(self.dataset.train.labels, minlength=self.dataset.n_classes)
        return resolve_priors(self.settings.priors, counts)

    def problem(self, sizes: tuple[int, ...]) -> Problem:
        data = self.dataset
        counts = len(data.train.labels), len(data.test.labels), data.n_inputs, data.n_classes
        return Problem(*counts, sizes)


def prepare(options: dict[str, Any]) -> Setup:
    """Read the options that all such commands have, and load the data."""
    settings = NetworkSettings(**{name: options[name] for name in NetworkSettings.__dataclass_fields__})
    ref = DatasetRef(options["dataset"], options["data_dir"], options["label"])
    dataset = load_dataset(ref.name, ref.data_dir, ref.label)
    jobs = options["jobs"]
    threads = options["threads"] or max(1, count_cores() // jobs)
    if jobs * threads > count_cores() and jobs > 1:
        raise ElmldaError(
            f"--jobs {jobs} × --threads {threads} is more than the {count_cores()} cores here: "
            "lower one of them."
        )
    setup = Setup(
        dataset,
        ref,
        options["seed"],
        options["design"],
        settings,
        Resources(threads, options["chunk"]),
        jobs,
        options["out"] or Path("results") / dataset.name,
    )
    setup.priors()  # so that wrong ones are refused at once
    return setup


def refuse_what_cannot_be(setup: Setup, sizes: tuple[int, ...]) -> None:
    """Refuse, before anything is computed, what would fail hours later."""
    n_train = len(setup.dataset.train.labels)
    if setup.settings.ridge == 0 and sizes[-1] >= n_train:
        fanout = (n_train - 1) // setup.dataset.n_inputs
        smaller = f", or have a fan-out of at most {fanout}" if fanout else ""
        raise ElmldaError(
            "LDA needs more training samples than hidden units or a ridge: "
            f"{n_train:,} samples, {sizes[-1]:,} hidden units. Add --ridge 1e-3{smaller}."
        )
    needed, available = peak_bytes(setup, sizes), available_memory()
    if available is not None and needed > available:
        raise ElmldaError(
            f"{sizes[-1]:,} hidden units need {needed / 1e9:.1f} GB of memory for "
            f"{setup.n_processes} at a time, {available / 1e9:.1f} GB are free. "
            "Use fewer hidden units, a smaller --chunk or fewer networks side by side."
        )


def peak_bytes(setup: Setup, sizes: tuple[int, ...]) -> int:
    """Memory that the run takes at its peak, all its processes together."""
    data, resources = setup.dataset, setup.resources
    itemsize = HIDDEN_DTYPES[setup.settings.precision]().itemsize
    inputs = data.train.inputs.nbytes + data.test.inputs.nbytes
    one = predict_peak_bytes(setup.problem(sizes), resources.chunk, itemsize, inputs)
    return one * setup.n_processes


def describe_plan(setup: Setup, jobs: list[NetworkJob], n_recorded: int) -> list[str]:
    """What a run would do and take, in lines."""
    lines = [
        f"folder         {setup.folder}",
        f"data           {setup.dataset.name}: {len(setup.dataset.train.labels):,} to train on, "
        f"{len(setup.dataset.test.labels):,} to test on"
        + ("" if setup.dataset.has_own_split else ", always the same"),
        f"recorded       {n_recorded:,} rows that the plan asks for",
        f"to be trained  {len(jobs):,} networks ({setup.design} design), in {setup.n_processes} "
        f"× {setup.resources.threads} threads",
    ]
    if jobs:
        largest = max((job.sizes for job in jobs), key=lambda sizes: sizes[-1])
        speeds = [
            measure_matmul_speed(dtype)
            for dtype in (HIDDEN_DTYPES[setup.settings.precision], HIDDEN_DTYPES["double"])
        ]
        seconds = OVERHEAD * sum(
            count_operations(setup.problem(job.sizes)).seconds(*speeds) for job in jobs
        )
        lines += [
            f"peak memory    {peak_bytes(setup, largest) / 1e9:.2f} GB",
            f"time           about {format_seconds(seconds)}, from the {speeds[0] / 1e9:.0f} "
            "GFLOP/s that this machine's matrix multiplication reaches just now",
        ]
    return lines


def note_double(bar: tqdm[Any], repeat: int) -> None:
    """Say once that a network was computed again, without disturbing the bar.

    On a set with few inputs that is nearly every network: a line for each would bury the rest.
    """
    if not getattr(bar, "told_of_double", False):
        bar.write(
            f"repeat {repeat}: float32 was not enough, computed in double; others may follow",
            file=sys.stderr,
        )
        vars(bar)["told_of_double"] = True


@contextmanager
def progress(
    total: int, done: int, unit: str, quiet: bool, stopped: str = RESUMES
) -> Iterator[tqdm[Any]]:
    """A bar on stderr; Ctrl-C inside ends it and says how to go on."""
    bar = tqdm(
        total=total,
        initial=done,
        unit=unit,
        disable=quiet,
        file=sys.stderr,
        dynamic_ncols=True,
        mininterval=0.1 if sys.stderr.isatty() else 60,  # a log file needs fewer lines
    )
    try:
        yield bar
    except KeyboardInterrupt:
        bar.close()
        click.echo(f"Stopped. {stopped}", err=True)
        raise
    finally:
        bar.close()
