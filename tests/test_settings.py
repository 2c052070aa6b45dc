import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal_of

from elmlda.errors import ElmldaError
from elmlda.networks.steps import HIDDEN_DTYPES
from elmlda.settings import (
    ACTIVATION_NAMES,
    PRECISIONS,
    NetworkJob,
    NetworkSettings,
    Resources,
    parse_priors,
)

properties = settings(derandomize=True, deadline=None)


def test_the_defaults_are_the_papers():
    found = NetworkSettings()
    assert (found.activation, found.weight_range, found.ridge) == ("tanh", 0.5, 0)
    assert (found.priors, found.precision, found.input_scale) == ("uniform", "mixed", None)


def test_every_precision_is_one_that_networks_have():
    assert tuple(HIDDEN_DTYPES) == PRECISIONS


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("activation", ACTIVATION_NAMES),
        ("precision", PRECISIONS),
        ("weight_range", (1e-9, 1, 1e9)),
        ("input_scale", (None, 1 / 255, 1)),
        ("ridge", (0, 1e-12, 1e6)),
        ("priors", ("uniform", "frequencies", "0.2,0.3,0.5", " 0.5, 0.5 ")),
    ],
)
def test_values_that_are_accepted(name, values):
    for value in values:
        assert getattr(NetworkSettings(**{name: value}), name) == value


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "activation",
            "tan",
            "activation is 'tan': expected one of tanh, logistic, relu, softsign, sine.",
        ),
        ("activation", "", "activation is '': expected one of tanh"),
        ("precision", "single", "precision is 'single': expected one of mixed, double, bfloat16."),
        ("weight_range", 0, "weight range is 0: expected a number above zero and up to 1e+300."),
        ("weight_range", -0.5, "weight range is -0.5: expected"),
        ("weight_range", math.inf, "weight range is inf: expected"),
        ("weight_range", math.nan, "weight range is nan: expected"),
        ("input_scale", 0.0, "input scale is 0.0: expected a number above zero and up to 1e+300."),
        ("input_scale", math.nan, "input scale is nan: expected"),
        ("ridge", -1e-9, "ridge is -1e-09: expected a number that is not negative."),
        ("ridge", math.nan, "ridge is nan: expected"),
        ("ridge", math.inf, "ridge is inf: expected"),
        ("priors", "equal", "priors are 'equal': expected uniform, frequencies, or one number a class"),
        ("priors", "", "priors are '': expected uniform"),
        ("priors", "0.5,", "priors are '0.5,': expected uniform"),
        ("priors", "0.5 0.5", "priors are '0.5 0.5': expected uniform"),
        ("priors", "1,0", "priors are '1,0': each must be a number above zero."),
        ("priors", "1,-1", "priors are '1,-1': each must"),
        ("priors", "1,nan", "priors are '1,nan': each must"),
        ("priors", "inf,1", "priors are 'inf,1': each must"),
    ],
)
def test_values_that_are_refused_in_one_line(name, value, message):
    for make in (NetworkSettings, lambda **given: replace(NetworkSettings(), **given)):
        assert refusal_of(make, **{name: value}).startswith(message)


@properties
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12))
def test_priors_sum_to_one(values):
    shares = np.array(values) / math.fsum(values)
    found = parse_priors(",".join(map(str, shares.tolist())))
    assert math.fsum(found) == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(found, shares, rtol=1e-12)


@pytest.mark.parametrize("text", ["1,1", "0.3,0.3,0.3", "1e308,1e308", "1e-300,1e-300"])
def test_priors_that_do_not_sum_to_one_are_refused(text):
    with pytest.raises(ElmldaError, match=r"priors are .*: their sum is .*, expected 1\."):
        parse_priors(text)


def test_settings_cannot_change_under_a_network():
    with pytest.raises(FrozenInstanceError):
        NetworkSettings().ridge = 1
    with pytest.raises(FrozenInstanceError):
        Resources().threads = 2


def test_jobs_that_are_equal_are_one_job():
    job = {"dataset": None, "seed": 1, "key": (0,), "sizes": (5,)}
    assert NetworkJob(**job) == NetworkJob(**job, settings=NetworkSettings(), resources=Resources())
    assert hash(NetworkJob(**job)) == hash(NetworkJob(**job))
    assert NetworkJob(**job) != NetworkJob(**job, settings=NetworkSettings(ridge=1))
