"""Numbers that can't be trusted, and files that would do harm: refused by the commands themselves."""

import csv
import hashlib
import html.parser
import io
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from checks import edit_manifest
from command_line import read_raw_manifest, read_rows

from elmlda.core.evaluate import combine_posteriors, require_posteriors
from elmlda.errors import ElmldaError
from elmlda.networks import jobs
from elmlda.runs.posteriors import PosteriorStore

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = RNG.normal(size=(60, 4)) + Y[:, None]


def save(path="x.npz", **changes):
    arrays = {"x_train": X[:40], "y_train": Y[:40], "x_test": X[40:], "y_test": Y[40:], **changes}
    np.savez(path, **{name: values for name, values in arrays.items() if values is not None})


def with_value(values, value):
    changed = np.array(values, np.float64)
    changed[3, 1] = value
    return changed


def test_a_message_is_one_line_that_ends_somewhere(refusal, monkeypatch):
    """Whatever a file has put into it, nothing in it is an order to the terminal."""

    def fail(*_):
        raise ElmldaError("first\n\x1b[31m\u202e" + "x" * 9000 + "last")

    monkeypatch.setattr(jobs, "load_dataset", fail)
    message = refusal("sweep", "--dataset", "iris")
    assert message.startswith(r"first \x1b[31m\u202exxx")
    assert message.endswith("xxlast")
    assert len(message) < 2100


SWEEP = ("sweep", "--quiet", "--repeats", 1, "--fanout", "1-2", "--out", "run", "--dataset", "x.npz")


# Inputs


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["x_train", "x_test"])
def test_npz_with_what_is_no_number(refusal, name, value):
    save(**{name: with_value(X[:40] if name == "x_train" else X[40:], value)})
    assert f"x.npz, {name}: 1 of" in refusal(*SWEEP)
    assert not Path("run").exists()


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", ""])
def test_csv_with_what_is_no_number(refusal, value):
    rows = [f"{a},{b},{c}" for (a, b, *_), c in zip(X, Y, strict=True)]
    Path("x.csv").write_text("\n".join(["a,b,kind", *rows, f"1,{value},2"]) + "\n")
    message = refusal(*SWEEP[:-1], "x.csv", "--label", "kind")
    assert message.startswith("x.csv, line 62: ")
    assert "'b'" in message


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_samples_to_predict_with_what_is_no_number(invoke, refusal, value):
    save()
    assert invoke("train", "--dataset", "x.npz", "--fanout", 2, "--quiet").exit_code == 0
    np.save("new.npy", with_value(X, value))
    assert refusal("predict", "x-model.npz", "new.npy") == (
        "new.npy: sample 3 has values that are missing, NaN or infinite."
    )


# Overflow


@pytest.mark.parametrize("activation", ["relu", "sine"])
@pytest.mark.parametrize("precision", ["mixed", "double", "bfloat16"])
def test_activations_that_overflow(refusal, activation, precision):
    save()
    message = refusal(
        *SWEEP, "--activation", activation, "--weight-range", 1e300, "--precision", precision,
        "--input-scale", 1e200,
    )  # fmt: skip
    assert "too large for float64. Use a smaller --weight-range or smaller inputs." in message
    assert not list(Path("run").glob("*.csv"))


def test_weights_beyond_any_number(refusal):
    save()
    assert refusal(*SWEEP, "--weight-range", 1e308) == (
        "weight range is 1e+308: expected a number above zero and up to 1e+300."
    )


def test_a_test_sample_that_overflows_is_not_counted_as_some_class(refusal):
    save(x_test=with_value(X[40:], 1e29))
    message = refusal(*SWEEP, "--activation", "relu", "--weight-range", 1e150, "--input-scale", 1e140)
    assert "too large for float64" in message
    assert not list(Path("run").glob("*.csv"))


def test_a_sample_to_predict_that_overflows(invoke, refusal):
    save()
    trained = invoke("train", "--dataset", "x.npz", "--activation", "relu", "--quiet", "--hidden", 8)
    assert trained.exit_code == 0
    np.save("new.npy", with_value(X, 1.7e308))
    assert "sample 3 has inputs that give hidden outputs or scores too large" in refusal(
        "predict", "x-model.npz", "new.npy"
    )


# Singular and inaccurate matrices


def test_more_hidden_units_than_samples_without_a_ridge(refusal):
    save()
    message = refusal(*SWEEP[:4], "--fanout", 10, *SWEEP[6:])
    assert message.startswith("40 training samples in ")


def test_a_singular_covariance_without_a_ridge(invoke):
    """Inputs that are copies of each other: half of the hidden units' inputs say nothing new."""
    save(x_train=X[:40, [0, 0, 0, 0]] * 1e-9, x_test=X[40:, [0, 0, 0, 0]] * 1e-9)
    result = invoke(*SWEEP, "--input-scale", 1e-9)
    assert result.exit_code == 1
    assert "LDA's covariance is singular: " in result.stderr.splitlines()[-1]
    assert "or --ridge 1e-3 with another --out for a new run." in result.stderr
    assert [path.name for path in Path("run").glob("*.csv")] == ["singular.csv"]


def test_float32_that_is_not_enough_is_computed_in_double_and_recorded(invoke):
    save()
    assert invoke(*SWEEP, "--input-scale", 0.02).exit_code == 0
    rows = read_rows("run/sweep.csv")
    assert {row["precision"] for row in rows} == {"double"}
    assert invoke(*SWEEP[:-4], "--out", "exact", *SWEEP[-2:], "--input-scale", 0.02,
                  "--precision", "double").exit_code == 0  # fmt: skip
    exact = read_rows("exact/sweep.csv")
    for name in ("pi_errors", "pi_constant_errors", "lda_errors"):
        assert [row[name] for row in rows] == [row[name] for row in exact]


# Posteriors


WRONG = {
    "too little": [[0.5, 0.4], [0.5, 0.5]],
    "too much": [[0.5, 0.5], [0.6, 0.5]],
    "negative": [[1.5, -0.5], [0.5, 0.5]],
    "nan": [[np.nan, 0.5], [0.5, 0.5]],
}


@pytest.mark.parametrize("rows", WRONG.values(), ids=WRONG)
def test_posteriors_that_do_not_sum_to_one(rows, tmp_path):
    rows = np.array(rows, np.float32)
    require_posteriors(np.full((3, 2, 2), 0.5))
    with pytest.raises(ElmldaError, match="do not sum to one"):
        require_posteriors(rows)
    with pytest.raises(ElmldaError, match="do not sum to one"):
        combine_posteriors(rows[None])
    with pytest.raises(ElmldaError, match="do not sum to one"):
        PosteriorStore(tmp_path, {}, (2, 2)).write((0,), 4, rows)
    assert not list(tmp_path.iterdir())


def test_posteriors_that_were_changed_are_not_averaged(invoke):
    save()
    assert invoke(*SWEEP).exit_code == 0
    kept = Path("run/posteriors/0-8.npz")
    with np.load(kept) as stored:
        arrays = dict(stored)
    arrays["posteriors"] = arrays["posteriors"] * np.float32(0.5)
    arrays["sha256"] = np.array(hashlib.sha256(arrays["posteriors"].tobytes()).hexdigest())
    np.savez(kept, **arrays)
    ensemble = ("ensemble", "--quiet", "--n", 1, "--repeats", 1, "--fanout", 2, *SWEEP[-4:])
    result = invoke(*ensemble)
    assert result.exit_code == 0
    assert "trained again where it is needed: posteriors of sample 0 do not sum" in result.stderr
    swept, combined = read_rows("run/sweep.csv"), read_rows("run/ensemble.csv")
    assert combined[0]["errors"] == swept[-1]["lda_errors"]


# Nothing is unpickled


class Harm:
    def __reduce__(self):
        return Path.touch, (Path("harm"),)


def harmful_npy():
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([Harm()], object), allow_pickle=True)
    return file.getvalue()


def test_the_pickle_does_harm(tmp_path, monkeypatch):
    """Else the next test would show nothing."""
    monkeypatch.chdir(tmp_path)
    np.load(io.BytesIO(harmful_npy()), allow_pickle=True)
    assert Path("harm").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        (*SWEEP[:-1], "harmful.npz"),
        ("data", "info", "harmful.npz"),
        ("data", "verify", "harmful.npz"),
        ("train", "--dataset", "harmful.npz"),
        ("predict", "harmful.npz", "new.npy"),
        ("predict", "x-model.npz", "harmful.npz", "--key", "x"),
        ("predict", "x-model.npz", "harmful.npy"),
        ("predict", "x-model.npz", "pickle.npy"),
        ("predict", "x-model.npz", "pickle.npz"),
        ("predict", "pickle.npz", "new.npy"),
    ],
    ids=lambda arguments: " ".join(map(str, arguments))[:40],
)
def test_nothing_is_unpickled(invoke, arguments):
    save()
    assert invoke("train", "--dataset", "x.npz", "--quiet", "--hidden", 8).exit_code == 0
    np.save("new.npy", X)
    Path("harmful.npy").write_bytes(harmful_npy())
    with zipfile.ZipFile("harmful.npz", "w") as archive:
        for name in ("x", "y", "about", "classes", "output_weights"):
            archive.writestr(f"{name}.npy", harmful_npy())
    for name in ("pickle.npy", "pickle.npz"):
        Path(name).write_bytes(pickle.dumps(Harm()))
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert not Path("harm").exists()
    if "harmful" in str(arguments):
        assert "unpickled" in result.output
    assert "Traceback" not in result.output


# Names


EVIL = "<script>alert(1)</script>\"'|`x`**y**$z_^$ &amp; ``` <img src=x onerror=alert(2)>"


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.text = [], []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)


def test_names_do_nothing_in_a_report(invoke):
    """In the data set's name, the label's column, a feature's and a class's, and the machine's."""
    name = EVIL.replace("/", "%")  # a file's name can't have it
    rows = [f"{a:.3f},{b:.3f},{'x' if c else 'y'}" for (a, b, *_), c in zip(X, Y, strict=True)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["a", EVIL, f"{EVIL}\nlabel"])
    for row in rows:
        a, b, kind = row.split(",")
        writer.writerow([a, b, EVIL if kind == "x" else "plain"])
    Path(f"{name}.csv").write_text(file.getvalue())
    options = ("--quiet", "--repeats", 2, "--fanout", "1-2", "--out", "all")
    data = ("--dataset", f"{name}.csv", "--label", f"{EVIL} label")
    Path(f"{name}.csv").write_text(file.getvalue().replace("\nlabel", " label"))
    result = invoke("compare", *options, *data)
    assert result.exit_code == 0, result.output
    (run,) = Path("all").iterdir()
    assert run.name == name
    sweep = invoke("sweep", "--quiet", "--repeats", 2, "--fanout", "1-2", "--out", "swept", *data)
    assert sweep.exit_code == 0, sweep.output
    for folder in (run, Path("all"), Path("swept")):
        result = invoke("report", folder)
        assert result.exit_code == 0, result.output
        tags = Tags()
        page = (folder / "report.html").read_text()
        tags.feed(page)
        assert sum(tag == "script" for tag, _ in tags.found) == 1, "the page's own"
        assert not any("onerror" in attributes for _, attributes in tags.found)
        assert all(
            attributes["src"].startswith("data:") for tag, attributes in tags.found if tag == "img"
        )
        assert name[:30] in "".join(tags.text), "long names are shortened"
        markdown = (folder / "report.md").read_text()
        fence = re.search(r"^(`{3,})sh$", markdown, re.MULTILINE)[1]
        outside = re.sub(rf"^{fence}sh$.*?^{fence}$", "", markdown, flags=re.MULTILINE | re.DOTALL)
        assert "`" * 3 not in outside.replace("\\`", "")
        assert "<script" not in outside.replace("\\<", "")
        assert "<img" not in outside.replace("\\<", "")
        assert "|" not in re.sub(r"^\|.*$", "", outside, flags=re.MULTILINE).replace("\\|", "")
        widths = [
            line.replace("\\|", "").count("|") for line in outside.splitlines() if line[:1] == "|"
        ]
        assert len(set(widths)) <= 4, "a name has made a column"


def test_an_edited_manifest_does_nothing_in_a_report(invoke):
    """What is no name but could be written by hand into a manifest, checksum and all."""
    save()
    assert invoke(*SWEEP).exit_code == 0
    manifest = read_raw_manifest("run")
    evil = f"{EVIL}\n\n```\n<script>"
    manifest |= {"machines": [{evil: evil}], "commands": [evil]}
    manifest["run"] |= {"sha256": {evil: evil}, "activation": evil, evil: evil, "label": evil}
    edit_manifest(Path("run"), manifest)
    assert invoke("report", "run", "--format", "html", "--format", "md").exit_code == 0
    tags = Tags()
    tags.feed(Path("run/report.html").read_text())
    assert sum(tag == "script" for tag, _ in tags.found) == 1
    assert not any(tag == "img" and "onerror" in attributes for tag, attributes in tags.found)
    markdown = Path("run/report.md").read_text()
    fence = re.search(r"^(`{3,})sh$", markdown, re.MULTILINE)[1]
    assert len(fence) == 4
    outside = re.sub(rf"^{fence}sh$.*?^{fence}$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    assert "<script" not in re.sub(r"`[^`\n]*`", "", outside).replace("\\<", "")
