"""What reads files, each with sound files to begin with and what must hold for any other content.

Hypothesis and atheris share these. A check gets content and an empty file's folder; it returns
quietly if the content is read and right, or refused; anything else is an exception.
"""

import gzip
import io
import json
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import numpy as np
from checks import add_checks, identify, sign
from damage import REFUSALS, read_or_refuse, within
from made_up import RUN, calibration_records, ensemble_records, sweep_records, timing_records
from PIL import Image, ImageDraw

from elmlda.cli import cli
from elmlda.datasets import read_idx
from elmlda.datasets.csv_file import load_csv
from elmlda.datasets.images import read_digit
from elmlda.datasets.npz_file import load_npz
from elmlda.datasets.samples import Reading, read_samples
from elmlda.errors import ElmldaError
from elmlda.execute.cluster import find_scheduler
from elmlda.experiments.calibration import CalibrationRecord
from elmlda.experiments.compare import CompareRecord
from elmlda.experiments.ensemble import EnsembleRecord, MistakeRecord, PairRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.experiments.timing import TimingRecord
from elmlda.networks.model import Model, Recipe, fit_network
from elmlda.networks.model_file import read_model, write_model
from elmlda.ranges import LARGEST_COUNT, MOST, parse_ranges
from elmlda.runs.manifest import Entry, read_manifest
from elmlda.runs.posteriors import PosteriorStore, UntrustedPosteriorsWarning
from elmlda.runs.records import RecordFile
from elmlda.runs.run import Run
from elmlda.settings import NetworkSettings


@dataclass(frozen=True)
class Target:
    seeds: Callable[[], list[bytes]]
    """Content to begin with; the first is sound."""
    check: Callable[[bytes, Path], None]
    n_inputs: int
    """Of Hypothesis in the long run; the default run has a hundredth."""
    n_guided: int = 0
    """Of atheris, led by what the code does with them."""


# IDX


def _idx_seeds():
    raw = [
        struct.pack(">2xBB3I", 0x08, 3, 2, 2, 3) + bytes(range(12)),
        struct.pack(">2xBB1I", 0x0B, 1, 3) + bytes(6),
        struct.pack(">2xBB2I", 0x0E, 2, 1, 2) + bytes(16),
        struct.pack(">2xBB3I", 0x08, 3, 2**32 - 1, 28, 28) + bytes(8),
    ]
    return [*raw, *(gzip.compress(content, mtime=0) for content in raw[:2])]


def _check_idx(content, folder):
    path = folder / "x"
    path.write_bytes(content)
    values = read_or_refuse(read_idx, path)
    if values is not None:
        plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        header = 4 + 4 * plain[3]
        assert struct.unpack(f">{plain[3]}I", plain[4:header]) == values.shape
        assert plain[header:] == values.astype(values.dtype.newbyteorder(">")).tobytes()


# CSV


def _csv_seeds():
    rows = "\n".join(f"{i / 7:.3f},{'ab'[i % 2]},{i}e-2,{('cat', 'dog')[i % 2]}" for i in range(6))
    plain = f"size,fur,age,kind\n{rows}\n".encode()
    return [plain, plain.replace(b",", b";"), gzip.compress(plain, mtime=0), b'"a","kind"\n1,2\n']


def _check_csv(content, folder):
    path = folder / "x.csv"
    path.write_bytes(content)
    table = read_or_refuse(load_csv, path, "kind")
    if table is not None:
        assert np.isfinite(table.samples.inputs).all()
        assert table.samples.inputs.shape == (table.n_samples, len(table.feature_names))
        assert set(table.samples.labels) == set(range(table.n_classes))


def _check_csv_samples(content, folder):
    path = folder / "x.csv"
    path.write_bytes(content)
    for reading in (
        Reading(2, drop=("2", "4")),
        Reading(4, feature_names=("age", "fur=a", "fur=b", "size")),
    ):
        samples = read_or_refuse(read_samples, path, reading)
        assert samples is None or np.isfinite(samples).all()
        if samples is not None and not content.startswith(b"\x1f\x8b"):
            assert len(samples) <= content.count(b"\n") + content.count(b"\r") + 1


# NPZ and NPY


def _npz_bytes(save=np.savez, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def _npy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz_seeds():
    x, y = np.arange(24.0).reshape(8, 3), np.arange(8) % 2
    return [
        _npz_bytes(x=x, y=y),
        _npz_bytes(np.savez_compressed, x=x, y=np.array(list("abababab"))),
        _npz_bytes(x_train=x, y_train=y, x_test=x[:2], y_test=y[:2]),
        _npz_bytes(x=np.array([{}, 1], object), y=y[:2]),
    ]


def _check_npz(content, folder):
    path = folder / "x.npz"
    path.write_bytes(content)
    source = read_or_refuse(load_npz, path)
    if source is not None:
        inputs = source.samples.inputs if hasattr(source, "samples") else source.train.inputs
        assert np.isfinite(inputs).all()


def _npy_seeds():
    arrays = [np.arange(12.0).reshape(2, 6), np.arange(6, dtype=np.uint8), np.array(["a"] * 6)]
    return [
        *map(_npy_bytes, arrays),
        _npy_bytes(np.array([None] * 6)),
        _npy_bytes(arrays[0].T.copy().T),
    ]


def _check_npy(content, folder):
    path = folder / "x.npy"
    path.write_bytes(content)
    samples = read_or_refuse(read_samples, path, Reading(6))
    if samples is not None:
        expected = np.load(io.BytesIO(content), allow_pickle=False)
        np.testing.assert_array_equal(samples, expected.reshape(-1, 6))


# Models


@cache
def _model():
    rng = np.random.default_rng(0)
    labels, inputs = np.arange(30) % 3, rng.normal(size=(30, 4))
    inputs[:, 0] += labels
    recipe = Recipe(np.random.SeedSequence(3), 4, 5, NetworkSettings())
    network = fit_network(recipe, inputs, labels, 0.1, np.full(3, 1 / 3), 3)
    return Model((network,), np.array(["a", "b", "c"]), image_shape=(2, 2)), inputs[:5]


@cache
def _model_seeds():
    path = Path(_scratch()) / "model.npz"
    contents = []
    for with_input_weights in (False, True):
        write_model(path, _model()[0], with_input_weights)
        contents.append(path.read_bytes())
    return contents


@cache
def _scratch():
    import tempfile

    return tempfile.mkdtemp()


def _check_model(content, folder):
    path = folder / "x.npz"
    path.write_bytes(content)
    found = read_or_refuse(read_model, path)
    if found is not None:
        model, inputs = _model()
        np.testing.assert_array_equal(found.values(inputs), model.values(inputs))
        assert found.classes.tolist() == model.classes.tolist()


# Images


@cache
def _image_seeds():
    contents = []
    for mode in ("L", "RGB", "LA", "P", "I;16"):
        image = Image.new("L", (24, 20), 250)
        ImageDraw.Draw(image).line([(6, 4), (16, 14), (10, 17)], fill=10, width=3)
        image = Image.fromarray(np.asarray(image, np.uint16)) if mode == "I;16" else image.convert(mode)
        kinds = {"L": ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP"), "RGB": ("PNG", "JPEG", "TIFF")}
        for kind in kinds.get(mode, ("PNG",)):
            file = io.BytesIO()
            image.save(file, kind)
            contents.append(file.getvalue())
    return contents


def _check_image(content, folder):
    path = folder / "x.png"
    path.write_bytes(content)
    for shape, as_is in (((28, 28), False), ((20, 24), True)):
        digit = read_or_refuse(read_digit, path, shape, as_is)
        assert digit is None or (digit.image.shape, digit.image.dtype) == (shape, np.uint8)


# Configurations and lists of numbers


def _toml_seeds():
    return [
        b'repeats = 2\nseed = 1\n[sweep]\nfanout = "1-3,5"\nposteriors = false\nridge = 0.5\n',
        b'[sweep]\nhidden = [10, 20]\nactivation = "relu"\npriors = "0.1,0.9"\n[compare]\nfolds = 3\n',
        b'[ensemble]\ncombine = ["mean", "vote"]\nn = 3\n[timing]\nchunk = 10\nthreads = 1\n',
        b"fanout = " + b"[" * 2000 + b"]" * 2000,
        b"seed = 0x" + b"f" * 5000,
        b"repeats = " + b"9" * 5000,
        b"[sweep]\n" + b".".join([b"a"] * 200) + b" = 1\n",
    ]


def _check_toml(content, folder):
    path = folder / "x.toml"
    path.write_bytes(content)
    group = click.Context(cli, info_name="elmlda")
    for name in ("sweep", "ensemble", "compare"):
        with within():
            try:
                with cli.commands[name].make_context(name, ["--config", str(path)], group) as context:
                    params = context.params
                assert 1 <= params["repeats"] <= 10_000
                NetworkSettings(params["activation"], params["weight_range"], params["input_scale"])
            except (ElmldaError, click.UsageError) as error:
                REFUSALS.append(str(error))


def _check_ranges(content, folder):
    text = content.decode("utf-8", "replace")
    numbers = read_or_refuse(parse_ranges, text)
    if numbers is not None:
        assert numbers == tuple(sorted(set(numbers)))
        assert 1 <= numbers[0] <= numbers[-1] <= LARGEST_COUNT
        assert len(numbers) <= MOST
        spans = [part.strip().split(":")[0].split("-") for part in text.split(",")]
        assert numbers[0] == min(int(span[0]) for span in spans)


# Records, manifests, reports


def _compare_records():
    return [
        CompareRecord(
            repeat, fold, 2.0, 8, rule, 0.25 if rule == "gcv" else 0.0, 3, 2, 1, 135, 15, "double",
            "0 1 2", "0 1 0", "5 5 5",
        )
        for repeat in range(2) for fold in range(2) for rule in ("gcv", "none")
    ]  # fmt: skip


RECORDS = {
    "sweep": (SweepRecord, sweep_records({1: [(7.2, 6.9), (7.1, 6.8)], 2: [(5.2, 5.0)] * 2})),
    "ensemble": (EnsembleRecord, ensemble_records({1: [2.1, 2.0], 2: [1.9, 0.02]})),
    "mistakes": (
        MistakeRecord,
        [MistakeRecord(1, 2, "mean", 7 * i, i, i + 1, 0.9, 0.05) for i in range(2)],
    ),
    "timing": (TimingRecord, timing_records({1: [(12.0, 20.0, 40.0)], 3: [(84.0, 90.0, 160.0)]})),
    "compare": (CompareRecord, _compare_records()),
    "pairs": (PairRecord, [PairRecord(pair, 2 * pair, 2 * pair + 1, 190, 10_000) for pair in (3, 4)]),
    "calibration": (
        CalibrationRecord,
        calibration_records({(1, 1): [(98.0, 93.0), (97.5, 93.5)], (2, 2): [(98.0, 97.0)]}),
    ),
}


@cache
def _records_bytes(name):
    record_type, records = RECORDS[name]
    file = RecordFile(Path(_scratch()) / f"{name}.csv", record_type, "")
    if not file.path.exists():
        file.append(records)
    return file.path.read_bytes()


def _unchecked_bytes(name):
    """Without the column of checks."""
    lines = _records_bytes(name).decode().splitlines()
    return "".join(f"{line.rpartition(',')[0]}\n" for line in lines).encode()


def _check_records(name):
    record_type, written = RECORDS[name]

    def check(content, folder):
        path = folder / "x.csv"
        path.write_bytes(content)
        found = read_or_refuse(RecordFile(path, record_type, "").read)
        assert found is None or set(found) <= set(written), "a record that was never written"

    return check


@cache
def _manifest_bytes():
    folder = Path(_scratch()) / "run"
    extent, machine = {"repeats": 2, "n_hidden": [784, 1568]}, {"cpu": "Abacus 7", "cores": 2}
    with Run.open(folder, Entry("sweep", RUN, {}, extent, machine, "elmlda sweep --fanout 1-2")):
        pass
    return (folder / "manifest.json").read_bytes()


def _check_manifest(content, folder):
    (folder / "manifest.json").write_bytes(content)
    found = read_or_refuse(read_manifest, folder)
    expected = json.loads(_manifest_bytes())
    del expected["sha256"]
    assert found is None or found == expected, "a manifest that was never written"


def _unsigned_manifest():
    planned = {
        "sweep": {"repeats": 2, "n_hidden": [784, 1568]},
        "ensemble": {"repeats": 2, "combine": ["mean"], "n": 2, "n_hidden": 15680},
        "timing": {"repeats": 1, "n_hidden": [784, 2352], "threads": 2, "chunk": 4000},
        "compare": {"repeats": 2, "n_hidden": [8], "rules": ["gcv", "none"], "folds": 2},
    }
    whole = {
        "schema": 3, "elmlda": "0.1.0", "run": RUN, "experiments": planned,
        "commands": ["elmlda sweep"], "machines": [{"a": 1}],
    }  # fmt: skip
    return json.dumps(whole, indent=1).encode()


def _report_seeds():
    """A whole folder in one piece of text; checks that fit are added to whatever becomes of it."""
    wholes = [RECORDS.keys(), {"compare"}, {"sweep"}]
    return [
        b"\0\0".join(
            [_unsigned_manifest(), *(_unchecked_bytes(n) if n in some else b"" for n in RECORDS)]
        )
        for some in wholes
    ]


def _check_report(content, folder):
    from elmlda.reports.records import read_run  # here: matplotlib takes its time
    from elmlda.reports.write import report

    manifest, *records = content.split(b"\0\0")
    (folder / "manifest.json").write_bytes(sign(manifest))
    for (name, (record_type, _)), rows in zip(RECORDS.items(), records, strict=False):
        path = folder / f"{name}.csv"
        path.unlink(missing_ok=True)
        if rows:
            path.write_bytes(add_checks(rows, _identity(manifest, record_type)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if read_or_refuse(read_run, folder) is not None:
            read_or_refuse(report, folder, ("csv", "md"))


def _identity(manifest, record_type):
    """What the checks begin with, if the manifest is one at all."""
    try:
        return identify(json.loads(manifest), record_type.EXPERIMENT, record_type.FIXED)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return ""


def _posteriors():
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 4).astype(np.float32)
    return rows, PosteriorStore


@cache
def _posterior_seeds():
    folder = Path(_scratch())
    rows, store = _posteriors()
    store(folder, RUN, rows.shape).write((0,), 784, rows)
    return [(folder / "posteriors/0-784.npz").read_bytes()]


def _check_posteriors(content, folder):
    (folder / "posteriors").mkdir(exist_ok=True)
    (folder / "posteriors/0-784.npz").write_bytes(content)
    rows, store = _posteriors()
    with within(), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = store(folder, RUN, rows.shape).read((0,), 784)
        except UntrustedPosteriorsWarning as warning:
            REFUSALS.append(str(warning))
            return
    np.testing.assert_array_equal(found, rows)


# Scheduler files


def _scheduler_seeds():
    whole = {"type": "Scheduler", "id": "a", "address": "tcp://127.0.0.1:8786", "workers": {}}
    return [json.dumps(whole).encode(), b'{"address": ' + b"[" * 100_000, b'{"address": null}', b"[]"]


def _check_scheduler(content, folder):
    path = folder / "scheduler.json"
    path.write_bytes(content)
    address = read_or_refuse(find_scheduler, str(path))
    assert address is None or (address.isprintable() and address.rpartition(":")[2].isdigit())


def _range_seeds():
    return [b"1-20", b"1-10,12,15,20", b"1000-5000:1000", b"1-1000000000000000000", b"1-9999," * 3000]


TARGETS = {
    "idx": Target(_idx_seeds, _check_idx, 4000, 20_000),
    "csv": Target(_csv_seeds, _check_csv, 3000),
    "csv-samples": Target(_csv_seeds, _check_csv_samples, 2000),
    "npz": Target(_npz_seeds, _check_npz, 3000, 10_000),
    "npy": Target(_npy_seeds, _check_npy, 3000, 15_000),
    "model": Target(_model_seeds, _check_model, 2000, 4_000),
    "image": Target(_image_seeds, _check_image, 2000),
    "toml": Target(_toml_seeds, _check_toml, 1500),
    "ranges": Target(_range_seeds, _check_ranges, 4000, 40_000),
    **{
        f"records-{name}": Target(
            lambda name=name: [_records_bytes(name)], _check_records(name), 3000,
            15_000 if name == "sweep" else 0,
        )
        for name in RECORDS
    },
    "manifest": Target(lambda: [_manifest_bytes()], _check_manifest, 3000),
    "posteriors": Target(_posterior_seeds, _check_posteriors, 2000),
    "scheduler": Target(_scheduler_seeds, _check_scheduler, 2000),
    "report": Target(_report_seeds, _check_report, 400),
}  # fmt: skip
