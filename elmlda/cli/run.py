"""What every command that trains networks does alike: data, settings, memory, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm

from elmlda.cli.formats import format_seconds
from elmlda.core.arrays import FloatArray
from elmlda.datasets import Dataset, find_info
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.errors import ElmldaError
from elmlda.execute.local import Backend
from elmlda.machine import count_cores, describe_machine, share_cores
from elmlda.networks.cost import (
    Problem,
    count_operations,
    measure_matmul_speed,
    predict_peak_bytes,
    predict_total_bytes,
    predict_waiting_bytes,
)
from elmlda.networks.jobs import load_job_data
from elmlda.networks.memory import require_room
from elmlda.networks.steps import HIDDEN_DTYPES, resolve_priors
from elmlda.runs.manifest import check_same_run, read_manifest
from elmlda.runs.posteriors import PosteriorStore
from elmlda.runs.run import Run
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources

OVERHEAD = 1.15
"""What a network takes beyond its floating-point operations at matrix-multiply speed."""


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
    cluster: str | None = None
    """Where the scheduler is that gives networks to workers."""
    n_blocks: int = 1
    """Of rows, which workers share out among them for every network."""
    varied: frozenset[str] = frozenset()
    """Settings that are not the same for all networks of the run."""

    def identity(self) -> dict[str, Any]:
        """What makes the run's networks what they are, for its manifest."""
        settings = self.settings.identity()
        return {
            "dataset": self.dataset.name,
            "sha256": self.dataset.checksums,
            "design": self.design,
            "seed": self.seed,
            **{name: value for name, value in settings.items() if name not in self.varied},
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
        return Problem.of(self.dataset, sizes)


def prepare(options: dict[str, Any]) -> Setup:
    """Read the options that all such commands have, and load the data."""
    settings = NetworkSettings(**{name: options[name] for name in NetworkSettings.__dataclass_fields__})
    ref = DatasetRef(options["dataset"], options["data_dir"], options["label"])
    load_job_data.cache_clear()  # a process that runs several commands may find another file there
    dataset = load_job_data(ref)  # which jobs of this process find there: one copy for both
    jobs, cluster = options["jobs"], options.get("cluster")
    if cluster:
        refuse_beside_cluster(options)
        ref = find_anywhere(ref)
    threads = options["threads"] or share_cores(jobs)
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
        cluster,
        options.get("split_rows", 1),
    )
    setup.priors()  # so that wrong ones are refused at once
    dataset.input_space.require(settings)
    return setup


def refuse_what_cannot_be(setup: Setup, sizes: tuple[int, ...]) -> None:
    """Refuse, before anything is computed, what would fail hours later."""
    refuse_too_few_samples(setup, sizes[-1])
    n_train = len(setup.dataset.train.labels)
    if setup.n_blocks > n_train:
        raise ElmldaError(
            f"--split-rows {setup.n_blocks} is more than the {n_train:,} training samples."
        )
    if not setup.cluster:

        def needed(n_hidden: int, chunk: int, jobs: int) -> int:
            up_to = (*(size for size in sizes if size < n_hidden), n_hidden)
            return peak_bytes(with_share(setup, chunk, jobs), up_to)

        chunk, jobs = setup.resources.chunk, setup.n_processes
        require_room(sizes[-1], setup.dataset.n_inputs, chunk, jobs, needed)


def refuse_too_few_samples(setup: Setup, n_hidden: int) -> None:
    """Refuse LDA-ELM without a ridge on no more samples than hidden units."""
    n_train = len(setup.dataset.train.labels)
    if setup.settings.ridge == 0 and n_hidden >= n_train:
        fanout = (n_train - 1) // setup.dataset.n_inputs
        smaller = f", or have a fan-out of at most {fanout}" if fanout else ""
        raise ElmldaError(
            "LDA needs more training samples than hidden units or a ridge: "
            f"{n_train:,} samples, {n_hidden:,} hidden units. Add --ridge 1e-3{smaller}."
        )


def with_share(setup: Setup, chunk: int, jobs: int) -> Setup:
    """The same with another chunk, and so many networks at a time."""
    return replace(setup, resources=replace(setup.resources, chunk=chunk), n_processes=jobs)


def refuse_beside_cluster(options: dict[str, Any]) -> None:
    """Refuse what only the workers of a cluster can have."""
    if options["jobs"] > 1:
        raise ElmldaError(
            f"--cluster and --jobs {options['jobs']} exclude each other: start more workers instead."
        )
    if options["threads"]:
        raise ElmldaError(
            "--cluster and --threads exclude each other: each worker's own dask worker --nthreads "
            "counts."
        )


def find_anywhere(ref: DatasetRef) -> DatasetRef:
    """The same data for a process in another folder."""
    name = ref.name
    if ref.data_dir is None and name and find_info(name) is None:
        name = str(Path(name).expanduser().absolute())
    return replace(ref, name=name, data_dir=ref.data_dir and ref.data_dir.absolute())


def choose_place(setup: Setup, sizes: tuple[int, ...]) -> Backend | int:
    """Where networks of these sizes are to run."""
    if not setup.cluster:
        return setup.n_processes
    from elmlda.execute.cluster import Cluster

    return Cluster(
        setup.cluster, setup.ref, load_job_data, setup.dataset.checksums, peak_bytes(setup, sizes)
    )


def peak_bytes(setup: Setup, sizes: tuple[int, ...]) -> int:
    """Memory that the run takes at its peak: all its processes together, or one worker."""
    data, resources = setup.dataset, setup.resources
    itemsize = hidden_itemsize(setup.settings)
    inputs = data.train.nbytes + data.test.nbytes
    one = predict_peak_bytes(setup.problem(sizes), resources.chunk, itemsize, inputs)
    waiting = predict_waiting_bytes(setup.n_blocks, itemsize, sizes[-1])
    return predict_total_bytes(one, inputs, setup.n_processes) + waiting


def hidden_itemsize(settings: NetworkSettings) -> int:
    """Bytes of one hidden output."""
    return HIDDEN_DTYPES[settings.precision]().itemsize


def describe_plan(setup: Setup, jobs: Sequence[NetworkJob], n_recorded: int) -> list[str]:
    """What a run would do and take, in lines."""
    lines = [
        f"folder         {setup.folder}",
        f"data           {setup.dataset.name}: {len(setup.dataset.train.labels):,} to train on, "
        f"{len(setup.dataset.test.labels):,} to test on"
        + ("" if setup.dataset.has_own_split else ", always the same"),
        f"recorded       {n_recorded:,} rows that the plan asks for",
        f"to be trained  {len(jobs):,} networks ({setup.design} design), "
        + (
            f"by the workers at {setup.cluster}"
            if setup.cluster
            else f"in {setup.n_processes} × {setup.resources.threads} threads"
        ),
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
            f"peak memory    {peak_bytes(setup, largest) / 1e9:.2f} GB"
            + (" for each worker" if setup.cluster else ""),
            f"time           about {format_seconds(seconds)}"
            + (" without the cluster" if setup.cluster else "")
            + f", from the {speeds[0] / 1e9:.0f} "
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
def progress(total: int, done: int, unit: str, quiet: bool) -> Iterator[tqdm[Any]]:
    """A bar on stderr, whose line ends before anything else is printed, however that comes."""
    with tqdm(
        total=total,
        initial=done,
        unit=unit,
        disable=quiet,
        file=sys.stderr,
        dynamic_ncols=True,
        mininterval=0.1 if sys.stderr.isatty() else 60,  # a log file needs fewer lines
    ) as bar:
        click.get_current_context().call_on_close(bar.close)
        yield bar
