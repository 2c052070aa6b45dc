"""Errors: the same fact and advice, worded for the command line and for Python."""

import ast
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elmlda
from elmlda.core.solve import LostPrecisionError, SingularCovarianceError
from elmlda.errors import ElmldaError, ElmldaValueError, printable
from elmlda.options import OptionError

KINDS = (ElmldaError, ElmldaValueError, LostPrecisionError, SingularCovarianceError, OptionError)
ROOT = Path(elmlda.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LIBRARY = [path for path in FILES if "cli" not in path.relative_to(ROOT).parts]


@pytest.mark.parametrize(
    ("settings", "option", "argument"),
    [
        ({"ridge": 0.001}, "--ridge 0.001", "ridge=0.001"),
        ({"ridge": 0.5}, "--ridge 0.5", "ridge=0.5"),
        ({"jobs": np.int64(2)}, "--jobs 2", "jobs=2"),
        ({"precision": "double"}, "--precision double", "precision='double'"),
        ({"weight_range": None}, "--weight-range", "weight_range"),
        ({"input_weights": "receptive-field"},
         "--input-weights receptive-field", "input_weights='receptive-field'"),
        ({"out": None}, "--out", "folder"),
        ({"out": Path("results/mine")}, "--out results/mine", "folder='results/mine'"),
        ({"out": "my run"}, "--out 'my run'", "folder='my run'"),
        ({"fanout": 3}, "--fanout 3", "fanout=3"),
    ],
)  # fmt: skip
def test_a_setting_is_an_option_or_an_argument(settings, option, argument):
    (name,) = settings
    error = ElmldaError("no.", f"Use {{{name}}}.", **settings)
    assert error.for_command_line() == f"no. Use {option}."
    assert str(error) == f"no. Use {argument}."


def test_empty_braces_are_all_settings():
    error = ElmldaError("9 GB are free.", "At most {} would fit.", hidden=500, jobs=2)
    assert error.for_command_line() == "9 GB are free. At most --hidden 500 or --jobs 2 would fit."


def test_a_fact_is_never_formatted():
    error = ElmldaError("{ridge}/{0}/{: cannot be read.", "Add {ridge}.", ridge="{x}")
    assert str(error) == "{ridge}/{0}/{: cannot be read. Add ridge='{x}'."


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_back_from_a_worker_as_it_was(kind):
    error = kind("400 samples {.", "Add {ridge}, or {out}.", ridge=0.001, out=None)
    error.add_note("on worker 3")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error) == "400 samples {. Add ridge=0.001, or folder."
    assert copy.for_command_line() == "400 samples {. Add --ridge 0.001, or --out."
    assert copy.__notes__ == ["on worker 3"]


@pytest.mark.parametrize("kind", [ElmldaValueError, LostPrecisionError, SingularCovarianceError])
def test_what_no_network_can_be_made_with_is_a_value_error(kind):
    assert issubclass(kind, ValueError)


# Words of messages


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("Größe π ± 数", "Größe π ± 数"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("two\nlines\tand\0", r"two\nlines\tand\x00"),
        ("not UTF-8: \udce9", r"not UTF-8: \udce9"),
        ("right\u202eto left", r"right\u202eto left"),
        ("\x9b31m", r"\x9b31m"),
        (3, "3"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text, shown):
    assert printable(text) == shown


def test_long_text_is_shortened_in_the_middle():
    assert printable("abcdefghij", 5) == "ab…ij"
    assert printable("abcdefghij", 10) == "abcdefghij"
    assert printable("abc", 1) == "…"


@given(st.lists(st.integers(0, 0x10FFFF).map(chr)).map("".join), st.integers(1, 30))
def test_any_text_becomes_printable_utf8_within_the_limit(text, limit):
    shown = printable(text, limit)
    assert shown.isprintable()
    assert len(shown) <= limit
    shown.encode()


# The sources


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(ROOT)))
def test_errors_name_settings_not_options_of_the_command_line(path):
    raised = [
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Raise)
    ]
    parts = [part for node in raised for part in ast.walk(node) if isinstance(part, ast.Constant)]
    assert [part.value for part in parts if re.search(r"--[a-z]", str(part.value))] == []
