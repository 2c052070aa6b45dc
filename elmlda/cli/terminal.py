"""What commands print: escaped, tables within 80 columns, failures in one line without a traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda import stop
from elmlda.errors import ElmldaError, printable
from elmlda.options import OptionError

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.reports.load import Run

LONGEST_MESSAGE = 2000
NO_ROOM = errno.ENOSPC, errno.EDQUOT, errno.EFBIG
NOTE = "± is half the width of the 95 % confidence interval of the mean."


def say(text: object, *, err: bool = False) -> None:
    """Print lines; control characters in them, from a file's name or a class's label, are escaped."""
    click.echo("\n".join(map(printable, str(text).split("\n"))), err=err)


def prepare_streams() -> None:
    """Make stdout and stderr take any character."""
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn warnings, the library's errors and the system's refusals into lines on stderr."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            yield
    except (ElmldaError, MemoryError, UnicodeError, OSError, EOFError) as error:
        if stop.is_asked_for():
            raise KeyboardInterrupt from error
        if isinstance(error, BrokenPipeError) and not error.filename:
            raise  # click ends quietly, as `| head` expects
        say(f"Error: {shorten(_explain(error))}", err=True)
        raise click.exceptions.Exit(2 if isinstance(error, OptionError) else 1) from error


def _explain(error: Exception) -> str:
    if isinstance(error, ElmldaError):
        return error.for_command_line()
    if isinstance(error, MemoryError):
        reason = str(error).rstrip(".") or "none is left"
        advice = "Use fewer hidden units or fewer --jobs; what was recorded is safe."
        return f"the memory is not enough: {reason}. {advice}"
    if not isinstance(error, OSError):  # click would take an EOFError for Ctrl-D
        return f"text or a file that cannot be read or written: {error}."
    if error.errno in NO_ROOM and not error.filename:
        # Files have names: this was output. Python would try to write the rest of it on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return f"the output cannot be written: {error.strerror}. What was recorded is safe."
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{where}{error.strerror or error}."


def _show_warning(message: Warning | str, *_: object) -> None:
    say(f"Warning: {shorten(str(message))}", err=True)


def shorten(message: str) -> str:
    """In one line."""
    return printable(" ".join(message.split()), LONGEST_MESSAGE)


# Tables: the report's numbers


def show_rows(name: str, folder: Path, rows: pd.DataFrame) -> str:
    """The table of some rows of an experiment in a run's folder."""
    import pandas as pd

    from elmlda.reports.load import KEYS, read_run

    run = read_run(folder)
    asked = getattr(run, name).merge(rows[KEYS[name]])
    show = {"sweep": _show_sweep, "ensemble": _show_ensembles, "timing": _show_times}[name]
    table = pd.DataFrame(show(replace(run, **{name: asked})))
    # Not every run has several ridges, or data that the paper has numbers of.
    is_needed = {name: any(table[name] != "") for name in table}
    is_needed["ridge"] = "ridge" in table and table["ridge"].nunique() > 1
    shown = table[[name for name in table if is_needed[name]]].to_string(index=False)
    return f"{shown}\n{NOTE}" if "±" in shown else shown


def _show_sweep(run: Run) -> Iterator[dict[str, Any]]:
    from elmlda.reports.tables import table1

    for row in table1(run).to_dict("records"):
        line = {"fan-out": f"{row['fanout']:g}", "hidden": f"{row['n_hidden']:,}"}
        line |= {"ridge": row["ridge"], "networks": f"{row['repeats']:,}"}
        for method in ("pi", "lda"):
            rate = _rate(row[f"{method}_error_percent"], row[f"{method}_interval"])
            line[f"{method.upper()}-ELM, %"] = rate or "no solution"
            line[f"{method.upper()} paper"] = _rate(row[f"paper_{method}_error_percent"])
        yield line | {"LDA better by": _percent(row["improvement_percent"])}


def _show_ensembles(run: Run) -> Iterator[dict[str, Any]]:
    from elmlda.reports.tables import ensemble_table

    losses = run.ensemble.groupby("size")["log_loss"].mean()
    for row in ensemble_table(replace(run, draws=run.draws.head(0))).to_dict("records"):
        line = {"networks": row["size"], "ensembles": row["ensembles"]}
        line["errors, %"] = _rate(row["ensembles_percent"], row["ensembles_interval"])
        line["paper"] = _rate(row["paper_error_percent"])
        loss = losses[row["size"]]
        yield line | {"log-loss": "" if loss != loss else f"{loss:.4f}"}


def _show_times(run: Run) -> Iterator[dict[str, Any]]:
    from elmlda.reports.tables import table2

    for row in table2(run.timing, beside_paper=False).to_dict("records"):
        line = {"fan-out": f"{row['fanout']:g}", "hidden": f"{row['n_hidden']:,}"}
        line |= {"pairs": row["pairs"]}
        line |= {
            f"{method}, s": _rate(row[f"{method}_cpu_seconds"]) for method in ("pi", "lda", "both")
        }
        yield line | {"LDA takes more by": _percent(row["overhead_percent"])}


def _rate(value: float, half: float = float("nan")) -> str:
    """As in 7.21 ± 0.02; without an interval, 7.21; without a value, nothing."""
    interval = "" if half != half else f" ± {half:.2f}"
    return "" if value != value else f"{value:.2f}{interval}"


def _percent(value: float) -> str:
    return "" if value != value else f"{value:.1f} %"
