"""What is kept of networks: one file each, and absent where a file is broken."""

import numpy as np
import pytest
from run_folders import files_in, room_for

from elmlda.errors import ElmldaError
from elmlda.runs.kept import MEMBERS, keep_network, list_kept, read_kept


def arrays_of(network, more=0):
    rng = np.random.default_rng((network, more))
    return {
        "posteriors": rng.random((5, 3)).astype(np.float16),
        "wrong": np.packbits(rng.random((3, 2, 5)) < 0.5, axis=-1),
        "sizes": np.array([4, 8]),
    }


def assert_kept(folder, networks):
    for name in ("posteriors", "wrong", "sizes"):
        kept = read_kept(folder, name, networks)
        assert list(kept) == list(networks)
        for network, values in kept.items():
            expected = arrays_of(network)[name]
            np.testing.assert_array_equal(values, expected)
            assert values.dtype == expected.dtype


def names_in(folder):
    return sorted(path.name for path in (folder / "kept").iterdir())


def test_networks_are_read_from_their_own_files_and_from_packed_ones_of_earlier_versions(tmp_path):
    """A network that is in both was trained again: its own file counts."""
    packed = {f"{k}-{n}": v for n in range(20) for k, v in arrays_of(n, more=n == 7).items()}
    (tmp_path / "kept").mkdir()
    np.savez(tmp_path / "kept" / "0-19.npz", **packed)
    for network in (42, 7, 20):
        keep_network(tmp_path, network, arrays_of(network))
    assert_kept(tmp_path, [*range(21), 42])
    assert list_kept(tmp_path) == [*range(21), 42]
    assert names_in(tmp_path) == ["0-19.npz", "20.npz", "42.npz", "7.npz"]
    assert read_kept(tmp_path, "posteriors", [43, 99, 1000]) == {}
    assert read_kept(tmp_path, "tempered", range(43)) == {}


def test_a_damaged_file_counts_as_absent_or_is_what_it_was(tmp_path):
    """A byte that is not part of an array may change nothing."""
    keep_network(tmp_path, 3, arrays_of(3))
    path = tmp_path / "kept" / "3.npz"
    whole = path.read_bytes()
    n_absent = 0
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        kept = read_kept(tmp_path, "posteriors", [3])
        n_absent += not kept
        if kept:
            np.testing.assert_array_equal(kept[3], arrays_of(3)["posteriors"])
    assert n_absent > len(whole) / 5
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert read_kept(tmp_path, "posteriors", [3]) == {}


@pytest.mark.parametrize("part", ["", MEMBERS])
def test_a_run_folder_that_is_gone_is_not_made_again(tmp_path, part):
    with pytest.raises(ElmldaError, match=str(tmp_path / "run")):
        keep_network(tmp_path / "run", 0, arrays_of(0), part)
    assert not (tmp_path / "run").exists()


def test_a_full_disk_leaves_what_was_kept(tmp_path):
    keep_network(tmp_path, 3, arrays_of(3))
    before = files_in(tmp_path)
    for room in (0, 100, len(before["kept/3.npz"]) - 1):
        for network in (3, 19):
            with room_for(room), pytest.raises(ElmldaError, match="kept"):
                keep_network(tmp_path, network, arrays_of(network, more=1))
        assert files_in(tmp_path) == before
