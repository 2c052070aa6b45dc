"""The commands that run one experiment: sweep, ensemble, calibration, timing and tune."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import Command
from elmlda.cli.conduct import conduct
from elmlda.cli.options import field_options, run_options
from elmlda.experiments import command_options


@click.command(cls=Command)
@field_options(command_options.SweepOptions)
@run_options()
def sweep(**options: Any) -> None:
    """Train PI-ELM and LDA-ELM on the same random input weights and count test errors (Table 1).

    Writes sweep.csv and manifest.json into the run's folder, each network's records as soon as it is
    tested. The same command again continues the run; --repeats and --fanout may grow. Sizes at which
    LDA has no solution are written to singular.csv and named at the end.
    """
    from elmlda.experiments.sweep import Sweep

    conduct(Sweep, options)


@click.command(cls=Command)
@field_options(command_options.EnsembleOptions)
@run_options()
def ensemble(**options: Any) -> None:
    """Combine LDA-ELM networks by their posterior probabilities and count test errors (Figure 2).

    Member i of repeat r is network r·n + i of the run. What a sweep at the same fan-out has kept in
    the run's folder is used; only the networks that are missing are trained. Writes ensemble.csv,
    mistakes.csv with the test samples that the whole ensembles get wrong, and pairs.csv with the
    errors of networks 0 and 1 combined, 2 and 3, and so on, as many as are kept.
    """
    from elmlda.experiments.ensemble import Ensemble

    conduct(Ensemble, options)


@click.command(cls=Command)
@field_options(command_options.CalibrationOptions)
@run_options()
def calibration(**options: Any) -> None:
    """Compare LDA-ELM's posterior probabilities with how often they are right on the test samples.

    Group g of n networks has networks g·n to g·n + n - 1 of the run. What sweep and ensemble have
    kept in the run's folder is used; only the networks that are missing are trained, and kept too.
    Writes calibration.csv: log-loss, Brier score, expected calibration error, and the bins of a
    reliability diagram. The same command again goes on where it stopped; --repeats, --fanout and --n
    may grow.
    """
    from elmlda.experiments.calibration import Calibration

    conduct(Calibration, options)


@click.command(cls=Command)
@field_options(command_options.TimingOptions)
@run_options("threads", "chunk")
def timing(**options: Any) -> None:
    """Time training and testing of PI-ELM, of LDA-ELM, and of both from one pass (Table 2).

    Each from scratch: random weights, hidden outputs, statistics, solution, test; LDA-ELM as the paper
    writes it, with its own covariance and factorisation, and posteriors. Every fan-out has weights of
    its own, as in the paper, also in the folder of a run whose --design is nested. Writes timing.csv;
    the table has the seconds of the fastest repeat, and LDA's extra time from within its own runs: what
    PI does not do, in per cent of the rest. Keep the machine idle meanwhile. The same command again
    goes on where it stopped; --repeats and --fanout may grow.
    """
    from elmlda.experiments.timing import Timing

    conduct(Timing, options)


@click.command(cls=Command)
@field_options(command_options.TuneOptions)
@run_options()
def tune(**options: Any) -> None:
    """Choose the ridge and the size of the input weights without the test samples.

    The last training samples are held out, networks are trained on the others with every setting, and
    errors are counted on those held out. Writes tune.csv; the same command again goes on where it
    stopped, and more values may be tried.
    """
    from elmlda.experiments.tune import Tune

    conduct(Tune, options)
