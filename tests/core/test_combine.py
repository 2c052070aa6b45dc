"""Combining classifiers: every scheme and size against doing it by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.core.evaluate import combine_posteriors, round_posteriors
from elmlda.options import COMBINATIONS


def draw_posteriors(seed: int, n_members: int = 5, n_samples: int = 40, n_classes: int = 4):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_classes, 0.3), (n_members, n_samples))


def by_hand(members: np.ndarray, scheme: str) -> np.ndarray:
    """The choices of an ensemble of all members, a sample at a time."""
    choices = []
    for sample in members.swapaxes(0, 1):
        if scheme == "vote":
            votes = [int((sample.argmax(axis=1) == c).sum()) for c in range(sample.shape[1])]
            best = [c for c, count in enumerate(votes) if count == max(votes)]
            choices.append(max(best, key=lambda c: sample[:, c].mean()))
        else:
            reduce = {"mean": np.mean, "product": np.prod, "median": np.median, "max": np.max}
            choices.append(int(reduce[scheme](sample, axis=0).argmax()))
    return np.array(choices)


@pytest.mark.parametrize("scheme", COMBINATIONS)
@settings(derandomize=True, deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_size_is_what_it_is_by_hand(scheme, seed):
    members = draw_posteriors(seed)
    combined = combine_posteriors(members, scheme)
    for size in range(1, len(members) + 1):
        expected = by_hand(members[:size], scheme)
        assert (combined[size - 1].argmax(axis=1) == expected).all()


@pytest.mark.parametrize("scheme", COMBINATIONS)
def test_rows_sum_to_one_and_one_member_is_itself(scheme):
    members = draw_posteriors(1)
    combined = combine_posteriors(members, scheme)
    np.testing.assert_allclose(combined.sum(axis=-1), 1)
    assert (combined[0].argmax(axis=1) == members[0].argmax(axis=1)).all()


def test_mean_is_the_mean():
    members = draw_posteriors(2)
    np.testing.assert_allclose(combine_posteriors(members)[-1], members.mean(axis=0))


def test_product_takes_the_priors_out_of_all_members_but_one():
    """Two members that repeat the prior know nothing: their combination is the prior."""
    priors = np.array([0.7, 0.2, 0.1])
    members = np.tile(priors, (2, 1, 1))
    np.testing.assert_allclose(combine_posteriors(members, "product", priors)[-1, 0], priors)


def test_product_of_contradicting_certainties_is_finite():
    members = np.array([[[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]])
    np.testing.assert_allclose(combine_posteriors(members, "product")[-1, 0], [0.5, 0.5, 0], atol=1e-30)


def test_median_of_zeros_falls_back_on_the_mean():
    members = np.eye(3)[:, None, :]
    np.testing.assert_allclose(combine_posteriors(members, "median")[-1, 0], np.full(3, 1 / 3))


def test_equal_votes_go_to_the_higher_mean():
    members = np.array([[[0.6, 0.4, 0.0]], [[0.05, 0.95, 0.0]]])
    assert combine_posteriors(members, "vote")[-1, 0].argmax() == 1


def test_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match="'sum': expected one of mean, product"):
        combine_posteriors(draw_posteriors(0), "sum")


def test_rounding_keeps_the_choice_where_float32_ties():
    exact = np.array([[0.5 - 1e-12, 0.5 + 1e-12], [0.5 + 1e-12, 0.5 - 1e-12], [0.25, 0.75]])
    assert exact.astype(np.float32).argmax(axis=1).tolist() == [0, 0, 1]
    rounded = round_posteriors(exact)
    assert rounded.dtype == np.float32
    assert rounded.argmax(axis=1).tolist() == [1, 0, 1]
    np.testing.assert_allclose(rounded, exact, rtol=2e-7)
