"""Options: every form in which Python has a value, and every value that is refused at once, by name."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda import Compare, Ensemble, Sweep, Timing, load_dataset, report
from elmlda.errors import ElmldaError, UnknownNameError
from elmlda.options import LARGEST_SIZE, MachineOptions, OptionError, declarations

EXPERIMENTS = (Sweep, Ensemble, Timing, Compare)
KINDS = (*EXPERIMENTS, MachineOptions)
NOT_NUMBERS = ("x", "", None, [1, 2], {}, frozenset({object}), True, "1 000", b"1", 1j)
NOT_WHOLE = (*NOT_NUMBERS, 1.5, 2.0, np.float64(2), "1.5")


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_satisfy_their_constraints(kind):
    assert kind().changed() == {}
    for name, declared in declarations(kind).items():
        value = getattr(kind(), name)
        for default in (declared.default, value):
            assert default is None or declared.constraint.check(name, default) == value


PLAIN = {
    "seed": [(3, [3, "3", np.int64(3), np.uint8(3), np.array(3)]), (2**63, [2**63, np.uint64(2**63)])],
    "repeats": [(7, [7, " 7", np.int32(7), np.uint64(7)])],
    "hidden": [
        ((5,), [5, "5", [5], (5,), {5}, np.int64(5), np.array([5]), pd.Series([5]), range(5, 6)]),
        ((1, 2, 3), ["1-3", "3, 1,2", "1,2-3", [3, 1, 2, 2], np.arange(1, 4), pd.Series([1, 2, 3])]),
        ((1, 2, 3), [range(1, 4), ["1", "2-3"], pd.Index([1, 2, 3]), np.array([3, 2, 1], np.uint8)]),
    ],
    "ridge": [
        (0.5, [0.5, "0.5", np.float32(0.5), [0.5], np.array([0.5]), (0.5, 0.5), Fraction(1, 2)]),
        (0.0, [0, "0", False + 0, np.int64(0), [0]]),
        ("loo", ["loo", ["loo"], np.str_("loo")]),
        ((0.0, "loo"), ["0,loo", "0, loo", [0, "loo"], np.array([0, "loo"], object), (0.0, "loo", 0)]),
        ((1e-3, 1.0), ["1e-3,1", np.array([1e-3, 1]), pd.Series([1e-3, 1])]),
    ],
    "priors": [
        ("frequencies", ["frequencies"]),
        ((0.25, 0.25, 0.5), ["0.25,0.25,0.5", [0.25, 0.25, 0.5], np.array([0.25, 0.25, 0.5])]),
        ((0.25, 0.75), [pd.Series([0.25, 0.75]), (Fraction(1, 4), "0.75"), np.float32([0.25, 0.75])]),
    ],
    "bias": [(True, [True, np.True_]), (False, [False, np.bool_(0)])],
    "weight_range": [(2.0, [2, 2.0, "2", np.float32(2), np.int8(2)])],
    "activation": [("relu", ["relu", np.str_("relu")])],
    "dataset": [("a/b.csv", ["a/b.csv", Path("a/b.csv")])],
    "label": [("kind", ["kind", np.str_("kind")]), ("4", ["4", 4, np.int64(4)])],
    "drop": [
        (("a", "b"), [["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Index(["a", "b"])]),
        (("ab",), ["ab", ["ab"]]),
        (("2", "3"), [[2, 3], ["2", 3], np.array([2, 3]), range(2, 4)]),
        (("2",), [2, np.int64(2)]),
    ],
    "folds": [(10, [10, "10", np.int64(10)]), (None, [None])],
}


@pytest.mark.parametrize(
    ("name", "plain", "form"),
    [(name, plain, form) for name, cases in PLAIN.items() for plain, forms in cases for form in forms],
    ids=lambda value: repr(value)[:30],
)
def test_every_plausible_form_gives_what_the_plain_one_gives(name, plain, form):
    spec, expected = Sweep(**{name: form}), Sweep(**{name: plain})
    value = getattr(spec, name)
    assert value == plain
    for part in value if isinstance(value, tuple) else [value]:
        assert type(part) in (int, float, str, bool, type(None))
    assert spec == expected
    assert repr(spec) == repr(expected)


def test_other_experiments_take_the_same_forms():
    assert Ensemble(fanout=np.int64(3), n=np.int16(2)) == Ensemble(fanout="3", n=2)
    assert Timing(fanout=np.arange(1, 4)) == Timing(fanout="1-3")
    assert Compare(dataset="iris").dataset == Compare(dataset=["iris"]).dataset == ("iris",)
    assert Compare(dataset="iris, wine").dataset == Compare(dataset=["iris", "wine"]).dataset
    assert Compare(dataset=Path("a.csv")).dataset == Compare(dataset=[Path("a.csv")]).dataset
    table, pair = pd.DataFrame({"a": [1]}), (np.ones((3, 2)), np.arange(3))
    assert Sweep(dataset=table).dataset is table
    assert Sweep(dataset=list(pair)).dataset[1] is pair[1]
    assert MachineOptions(jobs=np.int64(1), threads="2") == MachineOptions(jobs=1, threads=2)


REFUSED = {
    Sweep: {
        "design": ["nestde", "", None, 1],
        "activation": ["Tanh", None, 0],
        "precision": ["half", "float32"],
        "input_weights": ["normal"],
        "missing": ["zero", 0],
        "seed": [*NOT_WHOLE, -1, 2**63 + 1],
        "repeats": [*NOT_WHOLE, -3, 0, 10_001],
        "min_field": [0, None],
        "hidden": ["x", "", 0, -4, "3-1", "1,,2", "5-", "1-5:2", "1}", [1.5], [], True, "1e3"],
        "fanout": [None, np.array([]), [0, 1], {}, "1-999999999", LARGEST_SIZE + 1, [[1, 2]], 1.0],
        "ridge": ["0.1000001,0.1000002", -1, "x", "", np.nan, np.inf, [], "0,,1", [0, -1], True],
        "priors": ["x", [], [0.5, 0.6], [-0.5, 1.5], [0, 1], None, [np.nan, 1], "uniform,", True],
        "weight_range": [0, -1, np.nan, "x", None, [1], True],
        "weight_norm": [0, None],
        "input_scale": [0, -1, np.inf, "1/255", True],
        "bias": ["no", 1, 0, None, "True"],
        "keep": ["no", 1, None],
        "folds": [-2, 0, 1, 2.5, "x", True],
        "validation": [0, -1, 0.2, True],
        "dataset": [None, 5, "", " ", [], ["iris"], ("iris", "wine"), "a\0b", [1, 2, 3]],
        "label": ["", 1.5, ["a"], True],
        "drop": [[""], None, 1.5, [None], [["a"]]],
    },
    Ensemble: {
        "n": [0, -1, 1.5, None],
        "fanout": [[1, 2], "1-2", 0, None],
        "hidden": [[1, 2], 0, "1,2"],
        "ridge": [[0, 1], "0,1"],
        "repeats": [0],
    },
    Timing: {"pairs": [0, -1, None], "ridge": [[0, 1], "loo"]},
    Compare: {"dataset": [[], "", ",", None, [""], 3.5], "folds": [1, None], "ridge": [[], -1]},
    MachineOptions: {
        "jobs": [*NOT_WHOLE, 0, -1, 10**6],
        "threads": [0, "x", 1.5],
        "cluster": ["", " ", 5, "no-such-file.json"],
    },
}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        pytest.param(kind, name, value, id=f"{kind.__name__}-{name}-{value!r:.25}")
        for kind, cases in REFUSED.items()
        for name, values in cases.items()
        for value in values
    ],
)
def test_a_wrong_value_is_refused_by_the_options_name(kind, name, value):
    with pytest.raises(ElmldaError) as caught:
        kind(**{name: value})
    message, option = str(caught.value), f"--{name.replace('_', '-')}"
    assert name in message.replace("=", " ").split()
    assert option in caught.value.for_command_line().split()
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *((kind, {"fanout": 3, "hidden": 10}) for kind in EXPERIMENTS),
        (Sweep, {"folds": 3, "validation": 10}),
        (Sweep, {"folds": 3, "design": "independent"}),
        (MachineOptions, {"cluster": "tcp://host:1", "jobs": 2}),
    ],
)
def test_options_that_exclude_each_other(kind, options):
    with pytest.raises(ElmldaError) as caught:
        kind(**options)
    assert set(caught.value.settings) & set(options)
    for name, value in options.items():
        kind(**{name: value})


@pytest.mark.parametrize(
    ("call", "name", "suggestion"),
    [
        (Sweep, "fanuot", "Did you mean 'fanout'?"),
        (Compare, "fold", "Did you mean 'folds'?"),
        (MachineOptions, "thread", "Did you mean 'threads'?"),
        (Timing, "temperature", "Timing"),
        (Sweep().run, "job", "Did you mean 'jobs'?"),
        (Compare().run, "treads", "Did you mean 'threads'?"),
        (Sweep().dry_run, "job", "Did you mean 'jobs'?"),
        (load_dataset, "labels", "Did you mean 'label'?"),
        (report, "format", "Did you mean 'formats'?"),
    ],
)
def test_an_unknown_argument_is_refused_with_the_nearest_one(call, name, suggestion):
    with pytest.raises(UnknownNameError, match=re.escape(repr(name))) as caught:
        call(**{name: "loo"})
    assert suggestion in str(caught.value)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("kind", EXPERIMENTS)
def test_an_unknown_data_set_is_refused_with_the_nearest_one(kind):
    with pytest.raises(ValueError, match=r"'irs'.*'iris'"):
        kind(dataset="irs")


def test_jupyter_shows_a_table_of_the_options_that_differ_from_their_defaults():
    frame, pair = pd.DataFrame({"a": range(900)}), (np.ones((3, 2)), pd.Series(["a", "b", "<c>"]))
    for dataset, shape in (("iris", "iris"), (frame, "900 × 1"), (pair, "3 × 2")):
        spec = Sweep(dataset=dataset, hidden=range(1, 1000), bias=True)
        table = spec._repr_html_()
        names = re.findall("<th>(.+)</th>", table)
        assert names == ["Sweep", "dataset", "bias", "hidden"]
        assert shape in re.findall("<td>(.+)</td>", table)[0]
        assert shape in repr(spec)
        assert len(repr(spec)) < 100
    assert "<table" in Sweep()._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_the_docstring_explains_every_argument(kind):
    _, _, parameters = kind.__doc__.partition("Parameters\n----------\n")
    assert re.findall(r"^(\w+) : ", parameters, re.M) == list(declarations(kind))
    assert "--" not in parameters


# Whatever is given

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=5,
)
CONSTRAINTS = {
    declared.constraint.expected: declared.constraint
    for kind in KINDS
    for declared in declarations(kind).values()
}


@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
@settings(deadline=None)
@given(value=ANYTHING | st.from_regex(r"[0-9{},:. -]{1,8}", fullmatch=True))
def test_anything_is_kept_or_refused_by_name(constraint, value):
    """A kept value is kept again, as when a config file is read back."""
    try:
        kept = constraint.check("it", value)
    except OptionError as refused:
        message = str(refused)
    else:
        assert constraint.check("it", kept) == kept
        return
    assert message.startswith("it is ")
