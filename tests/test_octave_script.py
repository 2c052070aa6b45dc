"""Table 2 with GNU Octave: the order of the methods, and the same errors."""

import shutil

import measure
import numpy as np
import pandas as pd
import pytest

from elmlda import paper


def test_each_method_is_first_in_half_of_the_blocks():
    blocks = list(measure.list_blocks())
    networks = pd.DataFrame(blocks, columns=["network", "fanout", "order"])
    assert networks.groupby("fanout")["network"].nunique().to_dict() == {
        f: 5 if f <= 10 else 3 for f in paper.FANOUTS
    }
    firsts = [order[0] for *_, order in blocks]
    assert abs(firsts.count("pi") - firsts.count("lda")) <= 1


@pytest.mark.skipif(not shutil.which("octave-cli"), reason="GNU Octave is not installed")
def test_octave_makes_the_same_errors(tmp_path, make_dataset):
    data = make_dataset(n_train=900, n_test=500, n_inputs=12, n_classes=4, dtype=np.uint8)
    counts = measure.compare(tmp_path, data, 3, 0)
    for octave, ours in counts.values():
        assert octave == ours
        assert 0 < ours < 375
