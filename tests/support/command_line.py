"""The command line, in this process or by its name, and what a run leaves in its folder."""

import csv
import sys
from pathlib import Path

from click.testing import CliRunner

from elmlda.cli import cli

ELMLDA = str(Path(sys.executable).with_name("elmlda"))


def invoke_here(*arguments):
    """`elmlda` with arguments, in this process; a traceback is one of the test's."""
    result = CliRunner().invoke(cli, list(map(str, arguments)))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def read_rows(path, without=()):
    """The rows of a CSV file, without some columns, such as times."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return [
            {name: value for name, value in row.items() if name not in without}
            for row in csv.DictReader(file)
        ]
