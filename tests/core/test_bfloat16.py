"""Rounding against ml_dtypes; MKL's products, in a process of their own, against float64."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmlda.core import bfloat16, hidden
from elmlda.core.bfloat16 import Mkl, Multiplier, choose_multiplier, round_to_bfloat16
from elmlda.core.hidden import HiddenLayer
from elmlda.core.input_weights import draw_uniform_weights
from elmlda.core.statistics import Statistics
from elmlda.settings import ACTIVATION_NAMES

properties = settings(derandomize=True, deadline=None, max_examples=200)


def is_installed(package):
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


needs_mkl = pytest.mark.skipif(not is_installed("mkl"), reason="needs elmlda[amx]")


def run_python(script):
    """In another process, which an illegal instruction may end."""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout


@pytest.fixture
def processor(monkeypatch):
    """Give this processor other features."""
    choose_multiplier.cache_clear()
    yield lambda *flags: monkeypatch.setattr(bfloat16, "read_cpu_flags", lambda: frozenset(flags))
    choose_multiplier.cache_clear()


@properties
@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=40), st.integers(1, 5))
def test_rounds_as_ml_dtypes_does(bits, n_rows):
    values = np.tile(np.array(bits, np.uint32), (n_rows, 1)).view(np.float32)
    values[np.isnan(values)] = np.nan  # arithmetic gives this one, its payload is none
    expected = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    round_to_bfloat16(values)
    np.testing.assert_array_equal(values, expected)


def test_ties_go_to_even_and_what_is_too_large_to_infinity():
    values = np.array([[1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, np.finfo(np.float32).max, -np.inf, 0]])
    rounded = values.astype(np.float32)
    round_to_bfloat16(rounded)
    assert rounded.tolist() == [[1, 1 + 2**-6, -1, np.inf, -np.inf, 0]]


def test_rounds_part_of_a_matrix(monkeypatch):
    monkeypatch.setattr(bfloat16, "ELEMENTS_PER_BLOCK", 7)
    values = np.random.default_rng(0).normal(size=(9, 8)).astype(np.float32)
    expected = values.copy()
    expected[2:7, 1:4] = values[2:7, 1:4].astype(ml_dtypes.bfloat16)
    round_to_bfloat16(values[2:7, 1:4])
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("activation", ACTIVATION_NAMES)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_rounded_layer_gives_the_rounded_outputs_of_another(activation, threads, monkeypatch):
    monkeypatch.setattr(hidden, "ELEMENTS_PER_TASK", 64)
    weights = draw_uniform_weights(np.random.default_rng(0), 6, 20, dtype=np.float32)
    inputs = np.random.default_rng(1).normal(size=(30, 6))
    expected = HiddenLayer(weights, activation).outputs(inputs).astype(ml_dtypes.bfloat16)
    found = HiddenLayer(weights, activation, threads=threads, is_rounded=True).outputs(inputs)
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    assert found.dtype == np.float32


@needs_mkl
def test_mkl_gives_the_gram_matrix_of_float64():
    """Tiles that are whole, cut off, and one alone; rows of a longer buffer; one thread and three."""
    said = run_python("""
import numpy as np
from elmlda.core import bfloat16
bfloat16.TILE_ROWS, bfloat16.TILE_COLUMNS, bfloat16.ELEMENTS_PER_BLOCK = 40, 16, 100
mkl = bfloat16.load_mkl().mkl
rng = np.random.default_rng(0)
for n_samples, n_hidden, threads in ((50, 96, 1), (33, 101, 3), (7, 5, 2), (1, 1, 1)):
    buffer = rng.normal(size=(n_samples + 9, n_hidden)).astype(np.float32)
    bfloat16.round_to_bfloat16(buffer)
    exact = buffer[:n_samples].T.astype(float) @ buffer[:n_samples]
    gram = np.ones((n_hidden, n_hidden), np.float32, order="F")
    rest = buffer[n_samples:].copy()
    bfloat16.add_gram_bfloat16(buffer[:n_samples].T, gram, mkl, threads)
    np.testing.assert_allclose(np.tril(gram), np.tril(exact + 1), atol=2e-5, rtol=1e-6)
    np.testing.assert_array_equal(buffer[n_samples:], rest)
print("done")
""")
    assert said == "done\n"


@needs_mkl
def test_mkl_comes_without_threads_of_its_own():
    said = run_python("""
from pathlib import Path
from elmlda.core.bfloat16 import load_mkl
import numpy as np
from elmlda.core.bfloat16 import add_product
ones = np.full((64, 64), 0x3F80, np.uint16, order="F")
out = np.zeros((64, 64), np.float32, order="F")
add_product(ones, ones, out, load_mkl().mkl)
assert (out == 64).all()
maps = Path("/proc/self/maps").read_text()
print("mkl_sequential" in maps, "iomp" in maps, "mkl_intel_thread" in maps)
""")
    assert said == "True False False\n"


@needs_mkl
def test_the_same_counts_with_mkl_and_with_the_float32_blas():
    said = run_python("""
import numpy as np
from elmlda.core import bfloat16
from elmlda.datasets import load_dataset
from elmlda.networks.train import run_network
from elmlda.settings import NetworkSettings, Resources
settings = NetworkSettings(precision="bfloat16", ridge=1.0)
def run():
    bfloat16.choose_multiplier.cache_clear()
    data, rng = load_dataset("digits"), np.random.default_rng(0)
    found = run_network(data, rng, (64, 128, 256), settings, Resources(2, 300))
    return found.precision, *found.pi_errors, *found.lda_errors
bfloat16.read_cpu_flags = lambda: set()
print(*run())
bfloat16.read_cpu_flags = lambda: {"amx_bf16"}
print(*run())
print(bfloat16.choose_multiplier().library)
""")
    blas, mkl, library = said.splitlines()
    assert library == f"MKL {version('mkl')}"
    assert blas.split()[0] == mkl.split()[0] == "bfloat16"
    differences = [int(a) - int(b) for a, b in zip(blas.split()[1:], mkl.split()[1:], strict=True)]
    assert max(map(abs, differences)) <= 1


def test_without_matrix_units_the_float32_blas_multiplies(processor):
    for flags in ((), ("avx2",), ("avx512_bf16", "amx_int8")):
        processor(*flags)
        choose_multiplier.cache_clear()
        found = choose_multiplier()
        assert found.mkl is None
        assert str(found).endswith("this processor has no matrix units (AMX)")


def test_without_the_package_it_says_how_to_install_it(processor, monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    processor("amx_bf16")
    monkeypatch.setattr(bfloat16, "distribution", missing)
    bfloat16.load_mkl.cache_clear()
    assert choose_multiplier().mkl is None
    assert str(choose_multiplier()).endswith("pip install 'elmlda[amx]'")


@pytest.mark.parametrize("files", [None, [], ["libmkl_rt.so.3"]])
def test_a_package_without_a_library_that_works(processor, monkeypatch, tmp_path, files):
    class Broken:
        version = "1.0"

        def __init__(self, _):
            self.files = files and [tmp_path / name for name in files]

        def locate_file(self, path):
            return path

    processor("amx_bf16")
    monkeypatch.setattr(bfloat16, "distribution", Broken)
    bfloat16.load_mkl.cache_clear()
    (tmp_path / "libmkl_rt.so.3").write_bytes(b"no library")
    assert choose_multiplier().mkl is None
    assert "MKL cannot be used (" in str(choose_multiplier())


def test_weighted_samples_are_not_for_matrix_units(monkeypatch):
    """The root of a weight times a bfloat16 number is none."""
    asked = []
    units = Multiplier("units", "here", Mkl(lambda *_: None, lambda: None))
    monkeypatch.setattr(hidden, "choose_multiplier", lambda: units)
    monkeypatch.setattr(hidden, "add_gram_bfloat16", lambda *arguments: asked.append(arguments))
    weights = draw_uniform_weights(np.random.default_rng(0), 3, 4, dtype=np.float32)
    rounded, plain = (HiddenLayer(weights, is_rounded=which) for which in (True, False))
    labels, ones = np.array([0, 1, 0]), np.ones(3)
    for layer, sample_weights, n_asked in ((rounded, ones, 0), (plain, None, 0), (rounded, None, 1)):
        statistics = Statistics.zeros(4, 2, np.float32)
        statistics.add(layer.outputs(np.eye(3)), labels, sample_weights, layer)
        assert len(asked) == n_asked
        assert np.diagonal(statistics.gram).all() != n_asked
