"""The package's order: a folder imports only from those before it, and only `cli` imports click."""

import ast
import sys
from pathlib import Path

import pytest

import elmlda

ROOT = Path(elmlda.__file__).parent
LIGHT = {"errors", "files", "machine", "options", "paper", "settings", "stop", "__version__"}
ORDER = (
    "core",
    "datasets",
    "networks",
    "runs",
    "verify",
    "experiments",
    "reports",
    "estimators",
    "cli",
)
FILES = sorted(ROOT.rglob("*.py"))
ALLOWED_IN_CORE = {"numpy", "scipy"}


def imported(source: str) -> list[str]:
    """Modules that a source imports, inside functions too, but for type checkers alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


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


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_module_is_one_that_windows_lacks(path):
    found = {name.split(".")[0] for name in imported(path.read_text("utf-8"))}
    assert found & {"fcntl", "grp", "pwd", "resource", "termios"} == set()


def test_modules_import_each_other_in_no_circle():
    names = {path: "elmlda." + ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in FILES}
    modules = {name.removesuffix(".__init__"): path for path, name in names.items()}

    def needs(name: str) -> set[str]:
        tree = ast.parse(modules[name].read_text("utf-8"))
        top = ast.Module([node for node in tree.body if not isinstance(node, ast.If)], [])
        only_top = [node for node in top.body if isinstance(node, ast.Import | ast.ImportFrom)]
        found = imported(ast.unparse(ast.Module(only_top, [])))
        return {one if one in modules else one.rpartition(".")[0] for one in found} & modules.keys()

    done: set[str] = set()

    def visit(name: str, on_the_way: tuple[str, ...]) -> None:
        assert name not in on_the_way, " → ".join((*on_the_way, name))
        if name not in done:
            for other in sorted(needs(name) - {"elmlda"}):
                visit(other, (*on_the_way, name))
            done.add(name)

    for name in sorted(modules):
        visit(name, ())
