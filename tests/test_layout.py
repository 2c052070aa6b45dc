"""The package's order: a folder imports only from those before it, and only `cli` imports click."""

import ast
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import elmlda
from elmlda.experiments.specs import Sweep, list_options
from elmlda.runs.tables import TABLES

ROOT = Path(elmlda.__file__).parent
LIGHT = {
    "errors",
    "machine",
    "options",
    "paper",
    "stop",
    "__version__",
}
ORDER = "core", "datasets", "networks", "runs", "experiments", "reports", "estimators", "verify", "cli"
FILES = sorted(ROOT.rglob("*.py"))
ALLOWED_IN_CORE = {"numpy", "scipy"}


def imported(source: str) -> list[str]:
    """Modules that a source imports, inside functions too, but for type checkers alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    modules = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
    return modules


def part_of(module: str) -> str:
    """The folder of the package that a module of it is in, or its own name at the root."""
    return module.split(".")[1] if "." in module else ""


def rank(part: str) -> int:
    return -1 if part in LIGHT else ORDER.index(part)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_imports_only_what_comes_before_it(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] in ("__init__", "__main__"):  # the doors, which lead everywhere
        return
    own = rank(parts[0])
    modules = [name for name in imported(path.read_text("utf-8")) if name.split(".")[0] == "elmlda"]
    assert [name for name in modules if rank(part_of(name)) > own] == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_command_line_knows_click(path):
    uses = any(name.split(".")[0] == "click" for name in imported(path.read_text("utf-8")))
    assert not uses or path.relative_to(ROOT).parts[0] == "cli"


@pytest.mark.parametrize("path", sorted((ROOT / "core").glob("*.py")), ids=name_of)
def test_the_mathematics_needs_numpy_and_scipy_alone(path):
    foreign = {name.split(".")[0] for name in imported(path.read_text("utf-8"))} - {"elmlda"}
    assert foreign <= ALLOWED_IN_CORE | sys.stdlib_module_names


def test_only_public_names_are_listed():
    assert dir(elmlda) == sorted(elmlda.__all__)
    assert {*elmlda.__all__} == {*elmlda._MODULES, "__version__"}
    assert all(hasattr(elmlda, name) for name in dir(elmlda))


def test_without_scikit_learn_only_estimators_are_missing():
    script = "import sys; sys.modules['sklearn'] = None; from elmlda import Sweep, report"
    subprocess.run([sys.executable, "-c", script], check=True)
    script += "; from elmlda import ELMClassifier"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "elmlda[sklearn]" in done.stderr


def test_a_row_passes_few_functions(tmp_path):
    """Whoever wants to know how a row comes about has to read these functions."""
    functions = set()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and code.co_name[0] != "<":
            functions.add((code.co_filename, code.co_qualname))

    for folder in ("warm-up", "run"):
        functions.clear()
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            Sweep(dataset="iris", hidden=[4, 8], repeats=1).run(tmp_path / folder)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    assert len(functions) <= 150
    assert len({path for path, _ in functions}) <= 24


OPTIONS = {name for name, declared in list_options().items() if declared.scope == "network"}
COLUMNS = {name for table in TABLES.values() for name in table.names}
READERS = [
    path for path in FILES if path.relative_to(ROOT).parts[0] in ("reports", "estimators", "cli")
]


@pytest.mark.parametrize("path", READERS, ids=name_of)
def test_no_module_lists_network_options_by_hand(path):
    """Declarations say which options there are; a list beside them would miss the next one."""
    strings = [
        node.value.replace(",", " ").split()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    words = {word for string in strings if all(map(str.isidentifier, string)) for word in string}
    assert len(words & (OPTIONS - COLUMNS)) <= 4  # defaults of the estimators that differ
