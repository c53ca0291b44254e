from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from agent_ways import __version__
from agent_ways.base.process import process_table, this_process
from agent_ways.ways import cli, reference
from agent_ways.ways.commands import reconcile, status
from tests.ways.support import Machine, ways

QUIET = "ways reconcile: nothing to do: links, settings and registration are right\n"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.demand("LIFE-1")
@pytest.mark.parametrize("command", ["ways", "attend", "ways-mcp"])
def test_each_command_tells_its_version(command: str, machine: Machine) -> None:
    ran = ways(machine, "--version", command=command)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{command} {__version__}\n", "")


def test_the_version_is_told_without_importing_what_parsing_needs() -> None:
    code = (
        "import sys; sys.argv[1:] = ['--version']; "
        "from agent_ways.ways.__main__ import main; main(); print(*sys.modules)"
    )
    ran = subprocess.run(
        ["python3", "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": "src"},
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert not {"click", "rich", "pydantic"} & set(ran.stdout.split())


VERBS = [
    "reconcile --force --take-over --dry-run",
    "target list",
    "target plan {home}/work --force --take-over",
    "target add {home}/work --dry-run --force --take-over",
    "target disable {home}/.claude --dry-run",
    "target enable {home}/.claude --dry-run --force --take-over",
    "target reset {home}/.claude --dry-run",
    "target remove {home}/.claude --dry-run",
    "config show",
    "config get keepalive.armed",
    "config set keepalive.window 4h",
    "config unset keepalive.window",
    "config path",
    "status",
    "doctor",
    "uninstall --dry-run --purge",
    "keepalive on --window 4h",
    "keepalive off",
    "keepalive status",
    "keepalive report --days 3",
    "statusline",
]
GROUPS = ("target", "config", "keepalive")


@pytest.mark.parametrize("words", VERBS)
def test_every_verb_takes_its_options_and_answers_json_with_its_version(words: str, machine: Machine) -> None:
    reconcile.run(machine.world)
    ran = ways(machine, *words.format(home=machine.home).split(), "--json")
    answer = json.loads(ran.stdout)
    name = " ".join(
        word for word in words.split()[:2] if words.startswith(GROUPS) or word == words.split(maxsplit=1)[0]
    )
    assert (answer["v"], answer["verb"], answer["exit_code"]) == (1, name, ran.returncode)
    assert ran.stderr == ""


def test_an_error_is_its_exit_code_with_what_to_do_as_text_and_as_json(machine: Machine) -> None:
    ran = ways(machine, "target", "disable", "/nowhere")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines() == [
        "ways: /nowhere is no target",
        "ways target list shows them; ways target add DIR adds one",
    ]
    answer = json.loads(ways(machine, "target", "disable", "/nowhere", "--json").stdout)
    assert answer["error"]["code"] == "usage"
    assert answer["error"]["hint"]


def test_a_refused_target_is_exit_code_3_and_says_what_to_do(machine: Machine) -> None:
    place = machine.home / ".claude" / "bin" / "ways-mcp"
    place.parent.mkdir(parents=True)
    place.write_text("mine")
    ran = ways(machine, "reconcile")
    assert (ran.returncode, ran.stderr) == (3, "")
    assert ran.stdout.splitlines() == [
        f"refused  {place}: is there already and is not ours; nothing was touched in this target",
        "         what to do: ways reconcile --force (moves it aside)",
    ]


def test_unknown_words_are_a_usage_error(machine: Machine) -> None:
    assert ways(machine, "reconcil").returncode == 2
    assert ways(machine, "status", "--nonsense").returncode == 2


def test_nothing_is_wrapped_or_coloured_when_piped_and_the_quiet_line_is_one(machine: Machine) -> None:
    assert "\x1b" not in ways(machine, "reconcile").stdout
    assert ways(machine, "reconcile").stdout == QUIET


def test_on_a_terminal_the_same_text_is_coloured_wrapped_and_the_home_is_a_tilde(machine: Machine) -> None:
    controller, terminal = pty.openpty()
    env = {**machine.env, "TERM": "xterm-256color", "COLUMNS": "44"}
    with subprocess.Popen(["ways", "doctor"], env=env, stdin=terminal, stdout=terminal) as running:
        running.wait(30)
    os.close(terminal)
    shown = os.read(controller, 65536).decode()
    os.close(controller)
    assert "\x1b[" in shown
    assert "commands: ways, attend, ways-mcp\r\n           are linked in ~/.local/bin\r\n" in shown


@pytest.mark.demand("LIFE-7")
def test_status_tells_what_is_installed_registered_and_running(machine: Machine) -> None:
    reconcile.run(machine.world)
    folder = machine.home / ".local" / "state" / "agent-ways" / "servers"
    folder.mkdir(parents=True)
    me = this_process(process_table(), machine.env)
    current = os.path.realpath(machine.layout.command("ways-mcp"))
    for session, executable in (("one", current), ("two", current.replace("0123abcd", "ffffffff"))):
        marker = {"v": 1, "owner": me.to_json(), "version": __version__, "executable": executable}
        (folder / f"{session}.{me.pid}").write_text(json.dumps(marker))
    dead = {"v": 1, "owner": {**me.to_json(), "start": "1"}, "version": __version__}
    (folder / f"dead.{me.pid}").write_text(json.dumps(dead))
    (folder / "torn.1").write_text("{")
    answer = status.run(machine.world).to_json()
    assert answer["installed"] == {"version": __version__, "id": f"{__version__}-0123abcd", "proof": None}
    assert [target["registration"] for target in answer["targets"]] == ["current"]
    assert {one["session"]: one["old"] for one in answer["sessions"]} == {"one": False, "two": True}
    assert {command["link"] for command in answer["commands"].values()} == {"current"}


def test_status_before_an_install_names_it(tmp_path: Path) -> None:
    report = status.run(Machine(tmp_path, installed=False).world)
    assert report.exit_code == 0
    assert "make install" in report.lines[0].repair


# -- words --------------------------------------------------------------------------------------------------------


def commands(group: click.Group, *path: str) -> list[tuple[tuple[str, ...], click.Command]]:
    found: list[tuple[tuple[str, ...], click.Command]] = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += commands(command, *path, name)
        else:
            found.append(((*path, name), command))
    return found


def test_every_verb_and_option_says_what_it_does() -> None:
    for path, command in commands(cli.ways):
        assert command.help, path
        for option in command.params:
            assert isinstance(option, click.Argument) or option.to_info_dict()["help"], (path, option.name)
    tried = {tuple(words.split()[: 2 if words.startswith(GROUPS) else 1]) for words in VERBS}
    assert {path for path, _ in commands(cli.ways)} - tried == {("update",), ("completion",)}


@pytest.mark.parametrize(
    ("path", "command"), commands(cli.ways), ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_help_of_every_verb_is_short_and_on_standard_output(path: tuple[str, ...], command: click.Command) -> None:
    result = CliRunner().invoke(cli.ways, [*path, "--help"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) < 30
    assert command.get_short_help_str()


def test_the_reference_page_names_every_verb_option_and_setting() -> None:
    page = reference.reference()
    for path, command in commands(cli.ways):
        assert f"\n## ways {' '.join(path)}\n" in page
        for option in command.params:
            assert option.opts[0] in page or isinstance(option, click.Argument)
    assert "`keepalive.window`" in page
    assert max(len(line) for line in page.splitlines() if not line.startswith("|")) < 400


def test_the_reference_page_in_the_docs_is_as_rendered() -> None:
    assert (Path(__file__).parents[2] / "docs" / "reference" / "ways.md").read_text() == reference.reference()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_the_command(shell: str, machine: Machine) -> None:
    ran = ways(machine, "completion", shell)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"_WAYS_COMPLETE={shell}_complete" in ran.stdout


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("ways con", {"config"}),
        ("ways config ", {"show", "get", "set", "unset", "path"}),
        ("ways config get keepalive.w", {"keepalive.window"}),
        ("ways reconcile --dry", {"--dry-run"}),
        ("ways completion f", {"fish"}),
    ],
)
def test_bash_completes_verbs_options_and_settings(words: str, wanted: set[str], machine: Machine) -> None:
    assert completed(machine, words) == wanted


def test_bash_completes_the_targets_there_are(machine: Machine) -> None:
    reconcile.run(machine.world)
    assert completed(machine, f"ways target disable {machine.home}") == {f"{machine.home}/.claude"}


def completed(machine: Machine, words: str) -> set[str]:
    typed = words.split(" ")
    env = {
        **machine.env,
        "_WAYS_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
    }
    ran = subprocess.run(["ways"], env=env, capture_output=True, text=True, check=False)
    return {line.partition(",")[2] for line in ran.stdout.splitlines()}
