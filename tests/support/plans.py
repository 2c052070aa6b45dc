"""An experiment's plan carried out, without a folder."""

from pathlib import Path

import numpy as np

from elmlda.datasets import Dataset, Split
from elmlda.execute.local import Local
from elmlda.experiments.options import Share
from elmlda.experiments.plan import Work
from elmlda.settings import DatasetRef


def make_unread(n_inputs):
    """Data that no network is trained on: so many samples that none would be cheap in double."""
    many = Split(np.broadcast_to(np.uint8(0), (10**9, n_inputs)), np.broadcast_to(0, 10**9))
    return Dataset("unread", many, many, classes=("0",))


def make_plan(experiment, data, ref=None, **share):
    """The experiment on data that its jobs find by `ref`."""
    ref = ref or DatasetRef("clouds")
    return experiment.plan_type(experiment, data, ref, Path("nowhere"), Share(**share))


def work_of(plan, jobs=None, processes=1, records=None):
    """What the frame would hand to the plan's steps."""
    jobs = plan.jobs() if jobs is None else jobs
    return Work(jobs, records or {}, Local(processes))


def carry_out(plan, jobs=None, processes=1):
    """All records of the plan's jobs, in the order in which they come."""
    return [record for step in plan.steps(work_of(plan, jobs, processes)) for record in step.records]
