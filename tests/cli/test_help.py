"""Help: all commands, every option explained."""

import re

import click
import pytest
from command_line import invoke_here

from elmlda import __version__
from elmlda.cli import cli


def walk(group, words=()):
    for name, command in group.commands.items():
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from walk(command, (*words, name))


COMMANDS = dict(walk(cli))


def test_all_commands_are_listed_with_their_first_sentence():
    _, _, text = invoke_here("--help").stdout.partition("Commands:\n")
    listed = [line.split(maxsplit=1) for line in text.splitlines()]
    assert listed == [[name, one.help.strip().partition("\n")[0]] for name, one in cli.commands.items()]
    names = ["sweep", "ensemble", "timing", "compare", "report", "verify", "data"]
    assert [name for name, _ in listed] == names


@pytest.mark.parametrize("words", [(), *COMMANDS], ids=" ".join)
def test_help_fits_a_screen(words):
    lines = invoke_here(*words, "--help").stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_is_explained(words):
    has_more = any(param.name == "help_all" for param in COMMANDS[words].params)
    result = invoke_here(*words, "--help-all" if has_more else "--help")
    assert result.exit_code == 0
    text = re.sub(r"-\s+", "-", " ".join(result.stdout.split()))
    for param in COMMANDS[words].params:
        if isinstance(param, click.Option):
            assert max(param.opts, key=len) in text
            assert param.help
            assert " ".join(param.help.partition("  [")[0].split()) in text
            assert param.help.partition("  [")[0].endswith("."), f"{param.name}: a whole sentence"


def test_defaults_are_shown():
    text = " ".join(invoke_here("sweep", "--help-all").stdout.split())
    for default in ("1-20", "200", "mnist", "tanh", "0.5", "nested"):
        assert f"[default: {default}]" in text


def test_the_installed_command(process):
    done = process("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert __version__ in done.stdout
    assert process("sweep -h").stdout == process("sweep --help").stdout != ""


@pytest.mark.parametrize("command", ["", "nosuch", "sweep --nosuch 1", "sweep extra", "verify"])
def test_wrong_usage(process, command):
    done = process(command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: elmlda" in done.stderr
    assert "Traceback" not in done.stderr
