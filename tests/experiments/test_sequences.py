"""Commands in one folder, with options changed in between: refused in one line, or as in a fresh folder."""

from hypothesis import given, settings
from hypothesis import strategies as st
from run_folders import assert_same_counts, files_in

from elmlda import Ensemble, Sweep, report
from elmlda.errors import ElmldaError

COMMON = {
    "ridge": st.sampled_from([0.0, 0.5, "loo"]),
    "temperature": st.sampled_from([1.0, 0.5, "loo"]),
}
CHANGES = {
    Sweep: {
        **COMMON,
        "hidden": st.sampled_from([(4,), (4, 8), (10,)]),
        "repeats": st.integers(1, 4),
        "folds": st.sampled_from([None, 3]),
        "design": st.sampled_from(["nested", "independent"]),
    },
    Ensemble: {
        **COMMON,
        "hidden": st.sampled_from([4, 8]),
        "n": st.integers(1, 3),
        "repeats": st.integers(1, 2),
        "draws": st.sampled_from([0, 20]),
    },
}
FIRST = {Sweep: {"hidden": (4, 8), "repeats": 2}, Ensemble: {"hidden": 8, "n": 2, "repeats": 1}}
CHANGE = st.sampled_from([*CHANGES]).flatmap(
    lambda kind: st.tuples(st.just(kind), st.sampled_from([*CHANGES[kind]]), st.data())
)


@settings(derandomize=True, deadline=None, max_examples=15)
@given(st.lists(CHANGE, min_size=3, max_size=5))
def test_a_sequence_of_commands(tmp_path_factory, changes):
    folder, options = tmp_path_factory.mktemp("run"), {k: dict(v) for k, v in FIRST.items()}
    for kind, name, data in changes:
        options[kind][name] = data.draw(CHANGES[kind][name])
        before = files_in(folder)
        try:
            experiment = kind(dataset="iris", **options[kind])
            rows = experiment.run(folder)
        except ElmldaError as error:
            assert "\n" not in str(error)
            assert files_in(folder) == before
            options[kind] = dict(FIRST[kind])
        else:
            assert_same_counts(rows, experiment.run(tmp_path_factory.mktemp("fresh")))
            assert report(folder, "md").files
