"""`make install` on a machine made up in a folder; packages come from this environment and not from an index."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from build.launch import interpreter

from agent_ways import __version__
from agent_ways.base.errors import RefusedError
from agent_ways.ways.commands import status
from agent_ways.ways.update import versions
from agent_ways.ways.update.errors import NothingToRollBackError
from build import ROOT, install
from tests.release.computer import commands
from tests.ways.support import Machine


class OfflineEnvironment:
    """In place of `Environment`: what a lock lists is seen from here, the package is copied."""

    made = 0

    def __init__(self, folder: Path, *, cached: bool) -> None:
        assert not cached
        self.folder = folder
        self.python = folder / "bin" / "python"

    def create(self) -> None:
        type(self).made += 1
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder], check=True)
        self.packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(self.folder)}))

    def install(self, lock: Path) -> None:
        assert lock.is_file()
        (self.packages / "here.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def install_project(self) -> None:
        shutil.copytree(ROOT / "src" / "agent_ways", self.packages / "agent_ways")
        script = self.folder / "bin" / "ways"
        script.write_text(
            f"#!/bin/sh\n'''exec' \"{self.python}\" \"$0\" \"$@\"\n'''\n"
            "import sys; from agent_ways.ways.__main__ import main; sys.exit(main())\n"
        )
        script.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    OfflineEnvironment.made = 0
    monkeypatch.setattr(install, "Environment", OfflineEnvironment)
    return Machine(tmp_path / "a folder", installed=False)


def run(machine: Machine, command: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command, *words], env=machine.env, capture_output=True, text=True, check=False)


@pytest.mark.demand("LIFE-1")
def test_it_puts_the_three_commands_on_path_registers_and_proves_a_handshake(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    assert install.install(machine.world) == 0
    said = capfd.readouterr().out
    for name in ("ways", "attend", "ways-mcp"):
        ran = run(machine, name, "--version")
        assert (ran.stdout, ran.returncode) == (f"{name} {__version__}\n", 0)
    registered = json.loads((machine.home / ".claude.json").read_text())["mcpServers"]["agent-ways"]["command"]
    assert registered == str(machine.home / ".claude" / "bin" / "ways-mcp")
    assert run(machine, registered, "--version").stdout == f"ways-mcp {__version__}\n"
    assert f"handshake: ways-mcp {__version__} answered" in said
    assert said.index("command: ") < said.index("registration: ") < said.index("handshake: ")
    for name in ("skills/attend", "skills/wrap", "hooks/agent-ways"):
        led = os.path.realpath(machine.home / ".claude" / name)
        assert os.listdir(led)
        assert led.startswith(os.path.join(os.path.realpath(machine.layout.current), ""))
    assert "What to do next" in said
    assert "a message wakes a session that waits. For that nothing more is needed" in said
    assert "--dangerously-load-development-channels server:agent-ways" in said
    assert "asks a person to confirm the flag at each start" in said
    assert "on PATH:" not in said.partition("What to do next")[2]


@pytest.mark.demand("LIFE-1")
@pytest.mark.parametrize("registered", [True, False])
def test_a_folder_that_is_not_on_path_is_the_first_thing_to_do(registered: bool, machine: Machine) -> None:
    machine.env |= {"PATH": "/usr/bin:/bin", "SHELL": "/bin/zsh"}
    said = install.what_next(machine.world, registered=registered)
    assert f"1. Put {machine.layout.bin} on PATH:" in said
    assert "echo 'export PATH=\"$HOME/.local/bin:$PATH\"' >> ~/.zshrc\n     and open a new terminal." in said
    assert "  2. Restart" in said if registered else "run:  ways reconcile" in said
    machine.env["SHELL"] = "/bin/unheard-of"
    said = install.what_next(machine.world, registered=registered)
    assert f'add this line to your shell\'s start file\n       export PATH="{machine.layout.bin}:$PATH"' in said


@pytest.mark.demand("LIFE-1")
def test_a_second_install_changes_nothing_and_needs_no_packages(machine: Machine) -> None:
    install.install(machine.world)
    before = machine.tree()
    assert install.install(machine.world) == 0
    assert machine.tree() == before
    assert OfflineEnvironment.made == 1


@pytest.mark.demand("LIFE-1", "LIFE-9")
def test_uninstall_leaves_the_home_as_it_was(machine: Machine) -> None:
    (machine.home / ".claude.json").write_text('{\n  "mcpServers": {}\n}')
    (machine.home / ".bashrc").write_text("# mine\n")
    before = machine.tree()
    install.install(machine.world)
    for _ in range(2):
        assert install.take_back(machine.world) == 0
        assert machine.tree() == before


@pytest.mark.demand("LIFE-1")
def test_without_claude_code_it_succeeds_and_says_what_is_left_to_do(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    os.unlink(machine.claude.path)
    assert install.install(machine.world) == 0
    said = capfd.readouterr().out
    assert "Claude Code: is not here" in said
    assert "run:  ways reconcile" in said
    assert not (machine.home / ".claude").exists()


@pytest.mark.demand("LIFE-1")
@pytest.mark.parametrize("name", ["ways", "attend", "ways-mcp"])
def test_a_program_of_a_persons_own_is_never_overwritten_and_nothing_is_made(name: str, machine: Machine) -> None:
    own = Path(machine.layout.bin, name)
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    before = machine.tree()
    with pytest.raises(RefusedError, match="is not ours") as raised:
        install.install(machine.world)
    assert "XDG_BIN_HOME" in raised.value.hint
    assert machine.tree() == before


@pytest.mark.demand("LIFE-6")
def test_a_version_cut_short_is_made_anew_and_was_never_in_force(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr(install, "_write_commands", killed)
        with pytest.raises(KeyboardInterrupt):
            install.install(machine.world)
    assert machine.layout.installed() is None
    assert not Path(machine.layout.bin).exists()
    assert install.install(machine.world) == 0
    assert len(machine.layout.on_disk()) == 1


@pytest.mark.demand("LIFE-6")
def test_a_version_that_does_not_run_is_not_put_in_force(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    install.install(machine.world)
    first = machine.layout.installed()
    monkeypatch.setattr(install, "_digest", lambda **_: "fffffff0")
    monkeypatch.setattr(install, "launcher", lambda *_: b"#!/bin/sh\nexit 9\n")
    with pytest.raises(install.BrokenVersionError, match="does not run"):
        install.install(machine.world)
    assert machine.layout.installed() == first
    assert run(machine, "ways-mcp", "--version").returncode == 0


@pytest.mark.demand("LIFE-6")
def test_a_running_server_outlives_an_install_of_another_version(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    install.install(machine.world)
    first = machine.layout.installed()
    command = str(machine.home / ".claude" / "bin" / "ways-mcp")
    env = {**machine.env, "AGENT_WAYS_HANDSHAKE": "1"}
    with subprocess.Popen([command], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        server.stdin.write(json.dumps(ask) + "\n")
        server.stdin.flush()
        assert '"id":1' in server.stdout.readline()
        monkeypatch.setattr(install, "_digest", lambda **_: "fffffff0")
        assert install.install(machine.world) == 0
        assert machine.layout.installed() != first
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ways_status", "arguments": {}}}
        said, _ = server.communicate(json.dumps(call) + "\n", timeout=20)
    assert json.loads(said)["result"]["isError"] is False


def released(machine: Machine, version: str) -> str:
    """A released version in force, as `ways update` leaves one; its commands only tell their version."""
    identifier = f"{version}-00000009"
    commands(Path(machine.layout.version(identifier)), version)
    versions.write_record(machine.layout, identifier, {"version": version, "form": "frozen"})
    versions.put_in_force(machine.world, identifier)
    versions.link_commands(machine.world)
    return identifier


@pytest.mark.demand("LIFE-1", "LIFE-6")
def test_the_way_back_leads_over_an_install_to_the_version_that_was_there(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    before = released(machine, "0.0.9")
    assert install.install(machine.world) == 0
    assert f"{before} is kept; ways update --rollback goes back to it" in capfd.readouterr().out
    new = machine.layout.installed()
    assert run(machine, "ways-mcp", "--version").stdout == f"ways-mcp {__version__}\n"
    back = run(machine, "ways", "update", "--rollback")
    assert (back.returncode, back.stderr) == (0, "")
    assert f"before: {new} is kept; ways update --rollback again goes forward to it" in back.stdout
    assert machine.layout.installed() == before
    kept = [line.text for line in status.run(machine.world).lines if line.subject == "version"]
    assert kept == [f"{new} is kept; ways update --rollback puts it in force"]
    assert run(machine, "ways-mcp", "--version").stdout == "ways-mcp 0.0.9\n"
    assert install.install(machine.world) == 0
    assert machine.layout.installed() == new
    assert OfflineEnvironment.made == 1


@pytest.mark.demand("LIFE-6")
def test_what_an_install_replaced_is_remembered_when_it_has_to_be_made_anew(machine: Machine) -> None:
    before = released(machine, "0.0.9")
    install.install(machine.world)
    Path(os.path.realpath(machine.layout.command("attend"))).write_text("#!/no/such/python3 -IS\n")
    assert install.install(machine.world) == 0
    assert OfflineEnvironment.made == 2
    assert run(machine, "ways", "update", "--rollback").returncode == 0
    assert machine.layout.installed() == before


@pytest.mark.demand("LIFE-6")
def test_a_first_install_has_nothing_to_go_back_to(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    install.install(machine.world)
    assert "is kept" not in capfd.readouterr().out
    assert run(machine, "ways", "update", "--rollback").returncode == NothingToRollBackError.exit_code


def timed(words: list[str], env: dict[str, str]) -> float:
    """Seconds from before the start of a command to after its end; it is given a line of the client's."""
    began = time.perf_counter()
    subprocess.run(
        words, input=b'{"session_id":"x","prompt_cache":{"warm":false}}', env=env, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began


@pytest.mark.demand("KA-2")
def test_the_installed_status_line_starts_no_environment_and_takes_at_most_three_bare_pythons(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    install.install(machine.world)
    shown = b'{"session_id":"x","prompt_cache":{"warm":false}}'
    ways = str(Path(machine.layout.bin, "ways"))
    through = subprocess.run(
        [ways, "statusline", "--json"], input=shown, env=machine.env, capture_output=True, check=True
    )
    assert json.loads(through.stdout)["line"] == "cache cold"
    script = Path(machine.layout.current, "venv", "bin", "ways")
    script.write_text("#!/bin/sh\nexit 9\n")
    ran = subprocess.run([ways, "statusline"], input=shown, env=machine.env, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"cache cold\n", b"")
    assert run(machine, "ways", "status").returncode == 9
    bare = whole = float("inf")
    for number in range(60):  # the least of each, since other work on the machine only adds; more of it, more rounds
        bare = min(bare, timed([interpreter(), "-I", "-S", "-c", "pass"], machine.env))
        whole = min(whole, timed([ways, "statusline"], machine.env))
        if number >= 10 and whole <= 3 * bare:
            break
    assert whole <= 3 * bare


def test_a_package_of_another_program_answers_the_status_line_without_what_the_rest_of_ways_needs() -> None:
    code = (
        "import sys; sys.argv[1:] = ['statusline']\n"
        "from agent_ways.ways.__main__ import main\n"
        "assert main() == 0\n"
        "print(*{'click', 'rich', 'pydantic', 'agent_ways.ways.cli'} & {*sys.modules})"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    shown = '{"session_id":"x","prompt_cache":{"warm":false}}'
    ran = subprocess.run([sys.executable, "-c", code], input=shown, env=env, capture_output=True, text=True, check=True)
    assert ran.stdout == "cache cold\n\n"


def test_a_launch_line_that_went_bad_is_mended_by_another_install(machine: Machine) -> None:
    install.install(machine.world)
    server = Path(os.path.realpath(machine.layout.command("ways-mcp")))
    server.write_text("#!/no/such/python3 -IS\n")
    assert install.install(machine.world) == 0
    assert run(machine, "ways-mcp", "--version").returncode == 0


def test_the_identifier_follows_what_a_version_is_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "checkout"
    for name in ("src", "build", "requirements"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    here = install._digest(packages=True)
    monkeypatch.setattr(install, "ROOT", copy)
    assert install._digest(packages=True) == here
    seen = {here}
    for name in (
        "src/agent_ways/server/main.py",
        "requirements/install.lock",
        "build/launch.py",
        "build/install.py",
        "pyproject.toml",
    ):
        with open(copy / name, "a", encoding="utf-8") as file:
            file.write("\n#\n")
        seen.add(install._digest(packages=True))
    assert len(seen) == 6


def test_bin_ways_mcp_is_an_executable_of_that_name_in_a_checkout_with_spaces(tmp_path: Path) -> None:
    copy = tmp_path / "my checkout"
    for name in ("src", "build"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Makefile", copy)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    for _ in range(2):
        built = subprocess.run(["make", "ways-mcp"], cwd=copy, env=env, capture_output=True, text=True, check=False)
        assert (built.returncode, built.stderr) == (0, "")
        ran = subprocess.run([copy / "bin" / "ways-mcp", "--version"], capture_output=True, text=True, check=False)
        assert (ran.stdout, ran.stderr) == (f"ways-mcp {__version__}\n", "")
    assert len(list((copy / "dist" / "versions").iterdir())) == 1


def test_words_it_does_not_know_are_a_usage_error() -> None:
    with pytest.raises(SystemExit) as raised:
        install.main(["instal"])
    assert raised.value.code == 2
