"""What the package must never do: run a shell, unpickle, evaluate, or time by a clock that jumps."""

import ast
from pathlib import Path

import pytest

import elmlda

FILES = sorted(Path(elmlda.__file__).parent.rglob("*.py"))
FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "time.time",
    "time.time_ns",
    "datetime.now",
    "datetime.utcnow",
    "datetime.datetime.now",
    "pd.read_pickle",
    "pandas.read_pickle",
    "joblib.load",
}
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "yaml", "pty"}


def find_faults(source):
    """What is wrong with a module, by line."""
    for node in ast.walk(ast.parse(source)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (
            f"{node.lineno}: {name}"
            for name in modules
            if name.partition(".")[0] in FORBIDDEN_MODULES or name in FORBIDDEN_CALLS
        )
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in FORBIDDEN_CALLS or name.rpartition(".")[2] in ("read_pickle", "to_pickle"):
                yield f"{node.lineno}: {name}"
            keywords = {word.arg: word.value for word in node.keywords}
            for keyword in ("shell", "allow_pickle"):
                if keyword in keywords and ast.unparse(keywords[keyword]) != "False":
                    yield f"{node.lineno}: {keyword}"
            if name in ("np.load", "numpy.load") and "allow_pickle" not in keywords:
                yield f"{node.lineno}: allow_pickle is not said"


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_module_does_nothing_dangerous(path):
    assert list(find_faults(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "subprocess.run('ls', shell=True)",
        "subprocess.run('ls', shell=is_shell)",
        "os.system('ls')",
        "import pickle",
        "from pickle import loads",
        "import yaml",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "eval('1')",
        "exec('1')",
        "pandas.read_pickle(path)",
        "start = time.time()",
        "from time import time",
    ],
)
def test_the_search_finds_it(line):
    assert list(find_faults(line))
