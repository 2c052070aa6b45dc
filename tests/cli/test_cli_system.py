"""What the system refuses, and terminals and pipes that are not as usual: one line, and runs go on."""

import errno
import os
import subprocess
from importlib import import_module

import numpy as np
import pytest
from command_line import ELMLDA, invoke_here, read_rows

from elmlda.experiments import sweep as sweep_module

NAME_TOO_LONG = "x" * 300
PATH_TOO_LONG = "/".join(["x" * 200] * 30)
NOT_UTF8 = os.fsdecode(b"\xe9")
NO_HOME = "~nobody-of-this-name/x"


@pytest.fixture
def small(make_dataset, tmp_path):
    """small.npz in the working folder: 60 and 20 samples of 4 inputs, in 3 classes."""
    data = make_dataset(60, 20, 4, 3)
    np.savez(
        tmp_path / "small.npz",
        x_train=data.train.inputs, y_train=data.train.labels,
        x_test=data.test.inputs, y_test=data.test.labels,
    )  # fmt: skip
    return "--dataset", "small.npz", "--fanout", 1


@pytest.fixture
def model(small, invoke):
    assert invoke("train", *small, "--out", "model.npz", "--quiet").exit_code == 0
    return "model.npz"


# Paths


@pytest.mark.parametrize("path", [NAME_TOO_LONG, PATH_TOO_LONG, NO_HOME], ids=["name", "path", "home"])
@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "--repeats", "1", "--out"),
        ("sweep", "--dataset"),
        ("sweep", "--data-dir"),
        ("sweep", "--config"),
        ("compare", "--dataset"),
        ("report",),
        ("train", "--out"),
        ("data", "info"),
        ("data", "verify", "--dataset"),
        ("data", "fetch", "fashion-mnist", "--from"),
        ("predict", "model.npz"),
        ("predict", "model.npz", "--drop", "1"),
    ],
    ids=" ".join,
)
def test_a_path_that_cannot_be(invoke, model, small, path, command):
    words = [str(word) for word in command]
    if words[0] in ("sweep", "train") and "--dataset" not in words and "--data-dir" not in words:
        words[1:1] = map(str, small)
    result = invoke(*words, path)
    assert result.exit_code in (1, 2)
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert path[:20] in result.stderr


def test_a_predicted_model_whose_name_is_too_long(refusal):
    assert "File name too long" in refusal("predict", NAME_TOO_LONG, "x.npy")


@pytest.mark.parametrize(
    "command",
    [("sweep", "--repeats", "1", "--out"), ("train", "--out")],
    ids=["sweep", "train"],
)
def test_a_name_that_is_not_utf8_is_written_and_shown_escaped(invoke, small, command):
    result = invoke(command[0], *small, *command[1:], NOT_UTF8)
    assert result.exit_code == 0, result.stderr
    assert r"\udce9" in result.stdout


def test_data_whose_name_is_not_utf8(invoke, small, tmp_path):
    (tmp_path / "small.npz").rename(tmp_path / f"{NOT_UTF8}.npz")
    words = "sweep", "--dataset", f"{NOT_UTF8}.npz", "--fanout", 1, "--repeats", 1
    for command in (words, words, ("report", r"results/\xe9", "--format", "md")):
        result = invoke(*command)
        assert result.exit_code == 0, result.stderr
    page = (tmp_path / r"results/\xe9/report.md").read_text("utf-8")
    assert r"\xe9" in page


@pytest.mark.parametrize(
    "command",
    [("sweep", "--dataset"), ("sweep", "--config"), ("report",), ("predict", NOT_UTF8)],
    ids=" ".join,
)
def test_a_name_that_is_not_utf8_and_not_there(refusal, command):
    assert r"\udce9" in refusal(*command, NOT_UTF8)


@pytest.mark.parametrize("key", ["out", "dataset", "data_dir"])
def test_a_path_with_nul_in_a_configuration_file(invoke, small, tmp_path, key):
    (tmp_path / "mine.toml").write_text(f'{key} = "a\\u0000b"\n')
    given = small if key == "out" else ()
    result = invoke("sweep", *given, "--config", "mine.toml")
    assert result.exit_code == 2
    assert f"--{key.replace('_', '-')}" in result.stderr
    assert r"'a\x00b'" in result.stderr


@pytest.fixture
def secret(model, invoke, small, tmp_path):
    """The working folder and all in it may not be read, by root neither."""
    for name in ("elmlda.experiments", "elmlda.reports.write"):
        import_module(name)  # whose files may not be read either
    assert invoke("sweep", *small, "--repeats", 1, "--out", "run", "--quiet").exit_code == 0
    np.save("x.npy", np.zeros((1, 4)))
    for name in ("mine.toml", "a.csv"):
        (tmp_path / name).touch()
    kept = [tmp_path, *tmp_path.iterdir()]
    for path in reversed(kept):
        path.chmod(0)
    if os.getuid() == 0:
        os.seteuid(65534)
    yield
    os.seteuid(os.getuid())
    for path in kept:
        path.chmod(0o700)


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize(
    "command",
    [
        ("report", "run"),
        ("predict", "model.npz", "x.npy"),
        ("train", "--dataset", "small.npz"),
        ("train", "--dataset", "iris", "--fanout", 1, "--out", "new.npz"),
        ("sweep", "--dataset", "a.csv", "--label", "y"),
        ("sweep", "--dataset", "iris", "--fanout", 1, "--out", "run"),
        ("sweep", "--data-dir", "run"),
        ("sweep", "--config", "mine.toml"),
    ],
    ids=lambda words: "-".join(map(str, words[:3])),
)
def test_what_may_not_be_read(command):
    result = invoke_here(*command)
    assert result.exit_code == 1
    assert "Permission denied" in result.stderr.splitlines()[-1]


def test_what_the_system_cannot_read(refusal, tmp_path):
    """A file whose content is an input/output error."""
    for name in ("a.csv", "mine.toml"):
        (tmp_path / name).symlink_to("/proc/self/mem")
    for command in (
        ("train", "--dataset", "a.csv", "--label", "y"),
        ("sweep", "--config", "mine.toml"),
    ):
        assert "Input/output error" in refusal(*command)


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "--fanout", 1, "--repeats", 1, "--dataset", "iris"),
        ("train", "--dataset", "iris"),
        ("report",),
    ],
    ids=["sweep", "train", "report"],
)
def test_the_working_folder_is_gone(tmp_path, command):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1"; rmdir "$1"; shift; exec "$@"'
    words = ["sh", "-c", script, "sh", str(gone), ELMLDA, *map(str, command)]
    result = subprocess.run(words, capture_output=True, text=True, timeout=30)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", ["manifest.json", "sweep.csv"])
@pytest.mark.parametrize("command", ["sweep", "report"])
def test_a_pipe_in_a_runs_folder_is_not_waited_for(elmlda, small, tmp_path, name, command):
    if name == "sweep.csv":
        assert elmlda("sweep", *small, "--repeats", 1, "--out", "run").returncode == 0
        (tmp_path / "run" / "sweep.csv").unlink()
    else:
        (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / name)
    words = (
        ("sweep", *small, "--repeats", 1, "--out", "run") if command == "sweep" else ("report", "run")
    )
    result = subprocess.run(
        [ELMLDA, *map(str, words)], cwd=tmp_path, capture_output=True, text=True, timeout=30
    )
    assert result.returncode == 1
    assert f"run/{name}: a pipe or device, expected " in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("path", ["pipe", "/dev/zero"])
def test_a_pipe_or_device_for_a_configuration_file(refusal, tmp_path, path):
    os.mkfifo(tmp_path / "pipe")
    assert refusal("sweep", "--config", path) == f"{path}: a pipe or device, expected a TOML file."


# Output


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "cp437"])
def test_characters_that_the_output_does_not_have(tmp_path, small, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    commands = [
        ("sweep", "--help"),
        ("compare", "--dataset", "small.npz", "--fanout", "1", "--out", "数", "--repeats", "1"),
        ("sweep", *small, "--out", "数", "--dry-run"),
    ]
    for words in commands:
        result = subprocess.run(
            [ELMLDA, *map(str, words)], cwd=tmp_path, env=environment, capture_output=True, timeout=30
        )
        assert result.returncode == 0, result.stderr.decode(encoding)
        assert result.stdout.decode(encoding)


SWEEP = "sweep --dataset small.npz --fanout 1 --repeats 2 --out run"


@pytest.mark.parametrize("redirection", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_run_without_stderr(tmp_path, small, redirection):
    command = f"exec {ELMLDA} {SWEEP} {redirection}"
    result = subprocess.run(["sh", "-c", command], cwd=tmp_path, stdout=subprocess.PIPE, timeout=30)
    assert result.returncode == 0
    assert len(read_rows(tmp_path / "run" / "sweep.csv")) == 2


def test_a_run_whose_stderr_is_a_pipe_that_closed(tmp_path, small):
    reading, writing = os.pipe()
    os.close(reading)
    words = [ELMLDA, *SWEEP.split()]
    result = subprocess.run(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=writing, timeout=30)
    os.close(writing)
    assert result.returncode == 0
    assert b"Records: run" in result.stdout
    assert len(read_rows(tmp_path / "run" / "sweep.csv")) == 2


# Text from data


@pytest.fixture
def coloured(make_dataset, tmp_path):
    """red.npz, one of whose labels would colour a terminal and break a line."""
    data = make_dataset(60, 20, 4, 3)
    labels = np.array(["plain", "\x1b[31mred", "two\r\nlines, and a comma"])
    np.savez(
        tmp_path / "red.npz",
        x_train=data.train.inputs, y_train=labels[data.train.labels],
        x_test=data.test.inputs, y_test=labels[data.test.labels],
    )  # fmt: skip
    return "red.npz"


def test_labels_are_escaped_on_the_terminal_and_in_csv(invoke, coloured):
    np.save("x.npy", np.load(coloured)["x_test"])
    trained = invoke("train", "--dataset", coloured, "--fanout", 2, "--out", "red\x1b[31m.npz")
    plain = invoke("predict", "red\x1b[31m.npz", "x.npy")
    table = invoke("predict", "red\x1b[31m.npz", "x.npy", "--csv")
    for result in (trained, plain, table, invoke("data", "info", coloured)):
        assert result.exit_code == 0, result.stderr
        assert all(line.isprintable() for line in result.stdout.split("\n"))
    assert len(plain.stdout.splitlines()) == 20
    lines = table.stdout.splitlines()
    assert len(lines) == 21
    assert r'"posterior_two\r\nlines, and a comma"' in lines[0]


# Bugs


def test_a_bug_shows_its_traceback_and_asks_to_report_it(monkeypatch, small, capfd, tmp_path):
    from elmlda import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["elmlda", *SWEEP.split()])
    monkeypatch.setattr(sweep_module, "execute", lambda *_: 1 / 0)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    lines = capfd.readouterr().err.splitlines()
    assert "Traceback (most recent call last):" in lines
    assert lines[-2] == "ZeroDivisionError: division by zero"
    assert lines[-1].startswith("This is a bug in elmlda")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(errno.EIO, "Input/output error", "disk"), "disk: Input/output error."),
        (OverflowError("too large"), "a number is too large: too large."),
        (UnicodeEncodeError("ascii", "é", 0, 1, "no"), "text that cannot be written or read: "),
        (
            ImportError("x.so: failed to map segment from shared object"),
            "a library cannot be loaded: x.so: failed to map segment from shared object. Raise ulimit",
        ),
    ],
    ids=["file", "size", "text", "library"],
)
def test_what_the_system_refuses_anywhere_is_one_line(refusal, small, monkeypatch, error, line):
    def fail(*_):
        raise error

    monkeypatch.setattr(sweep_module, "execute", fail)
    assert refusal("sweep", *small, "--repeats", 1, "--quiet").startswith(line)
