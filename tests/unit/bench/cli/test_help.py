"""Every command is grouped, described and shown by an example that it accepts."""

import shlex

import pytest
import typer

from gradrank.bench.cli import app
from gradrank.cli.options import CONTEST, INSPECT, STAGES, USE

PROGRAM = typer.main.get_command(app)
COMMANDS = PROGRAM.commands
NESTED = {
    (group, name): command
    for group, owner in COMMANDS.items()
    for name, command in getattr(owner, "commands", {}).items()
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_group_and_a_sentence(name):
    command = COMMANDS[name]
    assert command.rich_help_panel in (USE, INSPECT, STAGES, CONTEST)
    assert command.help.split("\n")[0].endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command_parses(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program, typed, *arguments = shlex.split(COMMANDS[name].epilog.removeprefix("Example: "))
    assert (program, typed) == ("gradrank", name)
    COMMANDS[name].make_context(name, arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_has_a_help_text(name):
    for parameter in COMMANDS[name].params:
        assert getattr(parameter, "help", None), (name, parameter.name)


@pytest.mark.parametrize(("group", "name"), NESTED)
def test_a_command_of_a_group_has_a_sentence_an_example_and_help_texts(group, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = NESTED[group, name]
    assert command.help.split("\n")[0].endswith(".")
    program, outer, typed, *arguments = shlex.split(command.epilog.removeprefix("Example: "))
    assert (program, outer, typed) == ("gradrank", group, name)
    command.make_context(name, arguments)
    assert all(getattr(parameter, "help", None) for parameter in command.params)
