"""Options that are made from the fields of experiments: the same words and defaults as in Python."""

from __future__ import annotations

from dataclasses import dataclass, fields

import click
import pytest
from click.testing import CliRunner

import elmlda
from elmlda.cli import cli
from elmlda.cli.conduct import build
from elmlda.cli.options import field_options, find_option
from elmlda.experiments.options import WholeNumbers, read_numbers, setting

COMMANDS = ("sweep", "ensemble", "calibration", "timing", "compare", "tune", "shaped", "choices")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_field_is_an_option_with_its_default(name):
    kind, command = getattr(elmlda, name.capitalize()), cli.commands[name]
    params = {param.name: param for param in command.params}
    given = build(kind, command.make_context(name, []).params)
    for field in fields(kind):
        assert params[find_option(field)].help == field.metadata["help"]
        found, expected = getattr(given, field.name), field.default
        if field.type.startswith("WholeNumbers") and expected is not None:
            expected = read_numbers(expected)
        assert found == ((expected,) if isinstance(found, tuple) and expected == "mean" else expected)


@dataclass(frozen=True, kw_only=True)
class Fruit:
    colour: str = setting("red", "Its colour.", choices=("red", "green"))
    ripe: bool = setting(False, "Whether it is ripe.")


@dataclass(frozen=True, kw_only=True)
class Apple(Fruit):
    kernels: WholeNumbers = setting("1-3", "Their number.", flags="--kernel")
    weights: tuple[str, ...] = setting((), "In grams.", flags="--weight weights", multiple=True)
    worms: int = setting(0, "How many.", limits=(0, 5))
    peeled: bool = setting(False, "Whether it is peeled.", flags="--peeled")


def take(*words):
    """What the command line makes of an apple, or its complaint."""

    @click.command()
    @field_options(Apple)
    def command(**options):
        click.echo(repr(build(Apple, options)))

    return CliRunner().invoke(command, words).output


def test_options_of_a_class_stand_before_those_of_its_bases():
    words = [word for word in take("--help").split() if word.startswith("--")]
    own, inherited = "--kernel --weight --worms --peeled", "--colour --ripe --no-ripe"
    assert words == f"{own} {inherited} --help".split()


def test_values_are_those_of_the_fields():
    given = take("--kernel", "2-4", "--weight", "90", "--weight", "100", "--ripe", "--colour", "green")
    expected = Apple(kernels=(2, 3, 4), weights=("90", "100"), ripe=True, colour="green")
    assert given == f"{expected!r}\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--worms", "6"), "'--worms': 6 is not in the range 0<=x<=5"),
        (("--colour", "blue"), "'--colour': 'blue' is not one of 'red', 'green'"),
        (("--kernel", "many"), "'--kernel': 'many'"),
    ],
)
def test_values_that_do_not_fit_are_refused(words, complaint):
    assert complaint in take(*words)
