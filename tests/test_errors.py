"""Errors: the same fact and advice, worded for the command line and for Python."""

import ast
import pickle
import re
from pathlib import Path
from string import Formatter

import numpy as np
import pytest

import elmlda
from elmlda.core.solve import LostPrecisionError, SingularCovarianceError
from elmlda.errors import ElmldaError, ElmldaValueError
from elmlda.networks.model import TooLargeError

KINDS = (ElmldaError, ElmldaValueError, LostPrecisionError, SingularCovarianceError, TooLargeError)
ROOT = Path(elmlda.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LIBRARY = [path for path in FILES if "cli" not in path.relative_to(ROOT).parts]
PASS_ADVICE_ON = {"write_atomically": (2, {"out"}), "explain_refusal": (1, {"out"})}
"""Functions that take an error's advice: at which place, and for which settings."""


@pytest.mark.parametrize(
    ("settings", "option", "argument"),
    [
        ({"ridge": "1e-3"}, "--ridge 1e-3", "ridge=1e-3"),
        ({"ridge": 0.5}, "--ridge 0.5", "ridge=0.5"),
        ({"jobs": np.int64(2)}, "--jobs 2", "jobs=2"),
        ({"precision": "double"}, "--precision double", "precision='double'"),
        ({"weight_range": None}, "--weight-range", "weight_range"),
        ({"input_weights": "receptive-field"},
         "--input-weights receptive-field", "input_weights='receptive-field'"),
        ({"out": None}, "--out", "folder"),
        ({"out": Path("results/mine")}, "--out results/mine", "folder='results/mine'"),
        ({"out": "my run"}, "--out 'my run'", "folder='my run'"),
        ({"fanout": 3}, "--fanout 3", "fanouts=3"),
        ({"from_": "data"}, "--from data", "source='data'"),
    ],
)  # fmt: skip
def test_a_setting_is_an_option_or_an_argument(settings, option, argument):
    (name,) = settings
    error = ElmldaError("no.", f"Use {{{name}}}.", **settings)
    assert error.for_command_line() == f"no. Use {option}."
    assert str(error) == f"no. Use {argument}."


def test_empty_braces_are_all_settings():
    error = ElmldaError("9 GB are free.", "At most {} would fit.", hidden=500, jobs=2)
    assert error.for_command_line() == "9 GB are free. At most --hidden 500 or --jobs 2 would fit."


def test_a_fact_is_never_formatted():
    error = ElmldaError("{ridge}/{0}/{: cannot be read.", "Add {ridge}.", ridge="{x}")
    assert str(error) == "{ridge}/{0}/{: cannot be read. Add ridge='{x}'."


def test_without_advice_the_fact_is_all():
    error = ElmldaError("data/{a}: empty.")
    assert str(error) == error.for_command_line() == "data/{a}: empty."


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_back_from_a_worker_as_it_was(kind):
    error = kind("400 samples {.", "Add {ridge}, or {out}.", ridge="1e-3", out=None)
    error.add_note("on worker 3")
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is kind
    assert str(found) == str(error) == "400 samples {. Add ridge=1e-3, or folder."
    assert found.for_command_line() == "400 samples {. Add --ridge 1e-3, or --out."
    assert found.__notes__ == ["on worker 3"]


@pytest.mark.parametrize("kind", [ElmldaValueError, LostPrecisionError, SingularCovarianceError])
def test_what_no_network_can_be_made_with_is_a_value_error(kind):
    assert issubclass(kind, ValueError)


# The sources


def find_advice(source):
    """Each advice in a module: its line, its template (None if it is computed) and its settings."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    parameters = {  # where a function hands on the advice that it has been given
        id(name)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name in PASS_ADVICE_ON
        for name in ast.walk(function)
        if isinstance(name, ast.Name) and name.id == "advice"
    }
    names = {kind.__name__ for kind in KINDS}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        place, passed_on = PASS_ADVICE_ON.get(name, (1, set()))
        if name in names or passed_on:
            keywords = {word.arg: word.value for word in node.keywords}
            advice = node.args[place] if len(node.args) > place else keywords.get("advice")
            for one in [advice.body, advice.orelse] if isinstance(advice, ast.IfExp) else [advice]:
                found = constants.get(one.id, one) if isinstance(one, ast.Name) else one
                if found is not None and id(found) not in parameters:
                    template = found.value if isinstance(found, ast.Constant) else None
                    yield node.lineno, template, passed_on or keywords.keys()


def find_faults(source):
    """Advice that cannot be formatted, by line."""
    for line, template, settings in find_advice(source):
        if template is None:
            yield f"{line}: advice is no literal, so a path in it might have braces"
        else:
            used = {field for _, field, _, _ in Formatter().parse(template) if field}
            yield from (f"{line}: {name} is not passed" for name in sorted(used - settings))


def find_options(source, raised_only=False):
    """Sentences that name an option of the command line, by line."""
    tree = ast.parse(source)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    if raised_only:
        tree.body = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            is_word_of_command = re.fullmatch(r"--[a-z-]+", node.value)
            if re.search(r"--[a-z]", node.value) and not is_word_of_command:
                yield f"{node.lineno}: {node.value}"


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_advice_can_be_formatted(path):
    assert list(find_faults(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_only_the_command_line_names_options(path):
    # Modules that declare the options have their help, which names other options.
    declares = path.parent.name == "experiments" and path.stem.endswith("options")
    assert list(find_options(path.read_text("utf-8"), raised_only=declares)) == []


@pytest.mark.parametrize(
    "line",
    [
        "raise ElmldaError('no.', 'Add {ridge}.')",
        "raise ElmldaError('no.', 'Add {ridge}.', rigde=1)",
        "raise errors.ElmldaValueError('no.', 'Add {ridge}.' if few else 'Use {out}.', ridge=1)",
        "raise LostPrecisionError('no.', f'Look at {path}.')",
        "raise LostPrecisionError('no.', advice='Look at ' + path)",
        "raise LostPrecisionError('no.', advice)",
        "raise TooLargeError('no.', ADVICE)\nADVICE = 'Add {ridge}.'",
        "write_atomically(path, content, 'Add {ridge}.')",
    ],
)
def test_the_search_finds_advice_that_cannot_be_formatted(line):
    assert len(list(find_faults(line))) == 1


def test_the_search_knows_every_kind_of_error():
    def below(kind):
        return {kind}.union(*(below(one) for one in kind.__subclasses__()))

    assert below(ElmldaError) == set(KINDS)
    n_raised = sum(len(list(find_advice(path.read_text("utf-8")))) for path in LIBRARY)
    assert n_raised > 25
    takers = {
        node.name: node.args
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and "advice" in {one.arg for one in node.args.args}
    }
    assert takers.keys() == {*PASS_ADVICE_ON, "__init__"}


def test_the_search_finds_an_option_in_a_sentence():
    assert list(find_options("f'{path}: use --ridge {x}.'"))
    assert not list(find_options('"""As --ridge."""\noptions = ["--ridge"]'))
    source = "help = 'As --ridge 1.'\nraise ElmldaError('Use --ridge 1.')"
    assert list(find_options(source, raised_only=True)) == ["2: Use --ridge 1."]
