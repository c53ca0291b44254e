from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.claude import mcp, registration
from agent_ways.claude.mcp import Place, Ran
from agent_ways.claude.registration import Found
from tests.support.fake_claude_cli import FakeClaudeCommand

COMMAND = "/home/me/.claude/bin/ways-mcp"

# The judgement.

commands = st.sampled_from(
    [
        COMMAND,
        "/home/me/.claude/bin/../bin/ways-mcp",
        "/other/ways-mcp",
        "ways-mcp",
        "x/ways-mcp.pyz",
        "npx",
        "",
        "docker",
    ]
)
entries = st.one_of(
    st.none(),
    st.text(),
    st.dictionaries(st.sampled_from(["type", "url", "env", "args", "x"]), st.text() | st.lists(st.text())),
    st.builds(
        lambda command, more: {"command": command, **more},
        commands,
        st.dictionaries(
            st.sampled_from(["type", "args", "env", "timeout", "alwaysLoad"]),
            st.sampled_from(["stdio", "http"]) | st.lists(st.text()) | st.integers(),
        ),
    ),
)


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(76)
@given(entry=entries)
def test_an_entry_is_replaced_only_where_its_command_is_a_ways_mcp_and_other_keys_are_carried_over(entry: Any) -> None:
    plan = registration.plan_registration(Found("entry", entry), COMMAND)
    command = entry.get("command") if isinstance(entry, dict) and entry.get("type", "stdio") == "stdio" else None
    ours = isinstance(command, str) and command.rpartition("/")[2] in ("ways-mcp", "ways-mcp.pyz")
    if not ours:
        assert (plan.state, plan.steps) == ("foreign", ())
    elif command in (COMMAND, "/home/me/.claude/bin/../bin/ways-mcp"):
        assert (plan.state, plan.steps) == ("current", ())
    else:
        assert plan.state == "replace"
        remove, add = plan.steps
        assert remove == ("mcp", "remove", "agent-ways", "--scope", "user")
        assert (add[:3], add[4:]) == (("mcp", "add-json", "agent-ways"), ("--scope", "user"))
        assert json.loads(add[3]) == {"args": [], **entry, "type": "stdio", "command": COMMAND}


@pytest.mark.demand("LIFE-5")
@given(entry=entries)
def test_only_the_targets_own_entry_is_withdrawn(entry: Any) -> None:
    plan = registration.plan_removal(Found("entry", entry), COMMAND)
    assert (plan.state == "remove") is (
        registration.plan_registration(Found("entry", entry), COMMAND).state == "current"
    )
    assert bool(plan.steps) is (plan.state == "remove")


@given(
    data=st.binary()
    | st.recursive(
        st.none() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["mcpServers", "agent-ways", "x"]), x),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_are_judged_without_a_raise(data: bytes) -> None:
    found = registration.parse(data)
    assert found.state in ("absent", "entry", "unreadable")
    assert bool(found.reason) is (found.state == "unreadable")
    for plan in (registration.plan_registration(found, COMMAND), registration.plan_removal(found, COMMAND)):
        assert plan.reason
        assert found.state != "unreadable" or (plan.state, plan.steps) == ("unreadable", ())


@pytest.mark.field_report(73)
@pytest.mark.parametrize(
    "text",
    ["", " \n", "{", '{"mcpServers": []}', '{"mcpServers": "x"}', "[]", '{"a": NaN}', "\0", '{"mcpServers": {}} x'],
)
def test_a_damaged_file_is_reported_and_nothing_is_planned(text: str, tmp_path: Path) -> None:
    path = tmp_path / ".claude.json"
    path.write_text(text)
    found = mcp.read(str(path), pause=lambda _: None)
    assert found.state == "unreadable"
    assert found.reason.startswith(str(path))


@pytest.mark.parametrize("text", ["{}", '{"mcpServers": null}', '{"mcpServers": {"x": 1}}', '\ufeff{"x": 1}'])
def test_a_file_without_our_name_is_absent(text: str, tmp_path: Path) -> None:
    path = tmp_path / ".claude.json"
    path.write_text(text, encoding="utf-8")
    assert mcp.read(str(path)).state == "absent"
    assert mcp.read(str(tmp_path / "none")).state == "absent"


@pytest.mark.field_report(73)
def test_a_file_caught_half_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / ".claude.json"
    path.write_text('{"mcpServers": {"agent-')
    whole = json.dumps({"mcpServers": {"agent-ways": registration.desired(COMMAND)}})

    def pause(_: float) -> None:
        path.write_text(whole)

    found = mcp.read(str(path), pause)
    assert found.command == COMMAND


def test_a_fifo_a_folder_and_a_loop_of_links_do_not_hold_it(tmp_path: Path) -> None:
    subprocess.run(["mkfifo", tmp_path / "fifo"], check=True)
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for name in ("fifo", "folder", "loop"):
        assert mcp.read(str(tmp_path / name), pause=lambda _: None).state == "unreadable"


def test_a_foreign_entrys_env_is_never_shown() -> None:
    entry = {"command": "docker", "args": ["run"], "env": {"TOKEN": "hush-hush"}}
    plan = registration.plan_registration(Found("entry", entry), COMMAND)
    assert plan.reason.endswith("it runs docker run")


# The acts, on a fake `claude`.


class Case:
    """A home with a fake `claude` on PATH."""

    def __init__(self, folder: Path, *, named: bool = False) -> None:
        self.home = folder / "home"
        self.config_dir = self.home / (".work config" if named else ".claude")
        self.config_dir.mkdir(parents=True)
        self.claude = FakeClaudeCommand(folder / "programs")
        self.env = {"HOME": str(self.home), "PATH": f"{self.claude.folder}:{os.defpath}"}
        if named:
            self.env["CLAUDE_CONFIG_DIR"] = str(self.config_dir)
        self.place = Place(config_dir=str(self.config_dir), named=named, home=str(self.home))
        self.command = str(self.config_dir / "bin" / "ways-mcp")
        self.patience = 15.0

    def register(self) -> mcp.Outcome:
        return mcp.register(self.place, self.command, self._run(), self.env)

    def unregister(self) -> mcp.Outcome:
        return mcp.unregister(self.place, self.command, self._run(), self.env)

    def _run(self) -> Any:
        return mcp.runner(self.place, self.env, self.patience)

    @property
    def servers(self) -> Any:
        with open(self.place.file, encoding="utf-8") as file:
            return json.load(file)["mcpServers"]

    def write(self, entry: Any) -> None:
        with open(self.place.file, "w", encoding="utf-8") as file:
            json.dump({"theirs": [1], "mcpServers": {"other": {"command": "x"}, "agent-ways": entry}}, file)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(70)
@pytest.mark.parametrize("named", [False, True])
def test_it_registers_withdraws_and_leaves_alone_what_is_current(named: bool, tmp_path: Path) -> None:
    case = Case(tmp_path, named=named)
    assert case.register().state == "added"
    assert case.servers == {"agent-ways": registration.desired(case.command)}
    assert case.register().state == "current"
    assert case.unregister().state == "removed"
    assert case.servers == {}
    assert case.unregister().state == "absent"
    assert [call["argv"][1] for call in case.claude.calls] == ["add-json", "remove"]


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(79)
def test_claude_gets_the_config_dir_only_where_it_was_named_no_input_and_no_terminal(tmp_path: Path) -> None:
    for named in (False, True):
        case = Case(tmp_path / str(named), named=named)
        case.env["CLAUDE_CONFIG_DIR"] = "/somewhere/else"
        assert case.register().state == "added"
        (call,) = case.claude.calls
        assert call["env"].get("CLAUDE_CONFIG_DIR") == (str(case.config_dir) if named else None)
        assert (call["stdin"], call["cwd"]) == ("null", str(case.home))


def test_a_legacy_file_is_the_one_that_counts(case: Case) -> None:
    legacy = case.config_dir / ".config.json"
    legacy.write_text("{}")
    assert case.register().state == "added"
    assert "agent-ways" in legacy.read_text()
    assert not (case.home / ".claude.json").exists()


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(70)
def test_ours_elsewhere_is_replaced_and_the_operators_keys_stay(case: Case) -> None:
    case.write({"command": "/old/ways-mcp", "env": {"A": "b"}, "timeout": 9, "alwaysLoad": True})
    assert case.register().state == "replaced"
    assert case.servers["agent-ways"] == {
        **registration.desired(case.command),
        "env": {"A": "b"},
        "timeout": 9,
        "alwaysLoad": True,
    }
    assert case.servers["other"] == {"command": "x"}


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(76)
@pytest.mark.parametrize(
    "entry",
    [
        {"command": "docker", "args": ["run", "ways-mcp"]},
        {"command": "npx", "args": ["ways-mcp"]},
        {"type": "http", "url": "https://x.invalid/ways-mcp"},
        {"type": "sse", "command": "/old/ways-mcp"},
        "words",
        None,
    ],
)
def test_what_is_not_ours_is_reported_and_kept_and_claude_is_not_even_called(case: Case, entry: Any) -> None:
    case.write(entry)
    with open(case.place.file, "rb") as file:
        before = file.read()
    for outcome in (case.register(), case.unregister()):
        assert outcome.state == "foreign"
        assert "is kept" in outcome.reason
        assert outcome.by_hand.startswith("claude mcp remove agent-ways --scope user")
    with open(case.place.file, "rb") as file:
        assert file.read() == before
    assert case.claude.calls == []


@pytest.mark.demand("LIFE-5")
def test_without_claude_it_says_so_with_the_command_to_run_later(case: Case) -> None:
    os.unlink(case.claude.path)
    outcome = case.register()
    assert (outcome.state, outcome.done) == ("missing", False)
    assert shlex.split(outcome.by_hand) == [
        *(
            "claude",
            "mcp",
            "add-json",
            "agent-ways",
            json.dumps(registration.desired(case.command), separators=(",", ":")),
        ),
        *("--scope", "user"),
    ]


def test_the_command_by_hand_works_in_the_persons_own_shell(tmp_path: Path) -> None:
    for number, (named, exported) in enumerate([(False, False), (False, True), (True, False), (True, True)]):
        case = Case(tmp_path / str(number), named=named)
        case.claude.misbehave(add_json="exit-1")
        case.env.pop("CLAUDE_CONFIG_DIR", None)
        if exported:
            case.env["CLAUDE_CONFIG_DIR"] = str(case.home / "elsewhere")
        by_hand = case.register().by_hand
        case.claude.misbehave(add_json="")
        subprocess.run(["/bin/sh", "-c", by_hand], env=case.env, cwd=case.home, check=True, capture_output=True)
        assert case.servers["agent-ways"] == registration.desired(case.command)


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(79)
@pytest.mark.parametrize("kind", ["broken link", "not executable", "folder", "no interpreter"])
def test_a_claude_that_can_not_be_run_is_a_clear_answer(kind: str, case: Case) -> None:
    program = Path(case.claude.path)
    program.unlink()
    if kind == "broken link":
        program.symlink_to("/no/such")
    elif kind == "folder":
        program.mkdir()
    else:
        program.write_text("#!/no/such/interpreter\n")
        program.chmod(0o755 if kind == "no interpreter" else 0o644)
    outcome = case.register()
    assert outcome.state == ("failed" if kind == "no interpreter" else "missing")
    assert outcome.by_hand
    assert outcome.reason.startswith("claude")


@pytest.mark.demand("LIFE-5")
@pytest.mark.field_report(79)
def test_a_hanging_claude_is_ended_with_all_that_it_started(case: Case) -> None:
    case.claude.misbehave(add_json="hangs-with-child")
    case.patience = 1.0
    began = time.monotonic()
    outcome = case.register()
    assert time.monotonic() - began < 10
    assert (outcome.state, outcome.reason) == ("failed", "claude mcp add-json did not end within 1 s")
    left = subprocess.run(["pgrep", "-f", case.claude.folder], capture_output=True, text=True, check=False)
    assert left.stdout == ""


@pytest.mark.demand("LIFE-5")
@pytest.mark.parametrize("misdeed", ["lies", "elsewhere", "other-command"])
def test_a_claude_that_says_done_is_believed_by_the_file_alone(misdeed: str, case: Case) -> None:
    case.claude.misbehave(add_json=misdeed)
    outcome = case.register()
    assert outcome.state == "failed"
    assert "said that it was done" in outcome.reason
    assert case.place.file in outcome.reason


def test_a_failing_claudes_words_are_shown_on_one_harmless_line(case: Case) -> None:
    words = "\x1b[31mError:\x1b[0m the\nmoon is\n full\n"
    outcome = mcp.register(case.place, case.command, lambda _: Ran(1, words), case.env)
    assert outcome.reason == "claude mcp add-json failed with exit code 1: ?[31mError:?[0m the moon is full"


@pytest.mark.field_report(79)
@pytest.mark.parametrize("how", ["banner", "denies", "reads-stdin", "slow", "hangs-after"])
def test_what_claude_says_around_it_does_not_disturb(how: str, case: Case) -> None:
    case.claude.misbehave(add_json=how)
    case.patience = 3.0
    assert case.register().state == "added"


@pytest.mark.parametrize("how", ["crashes", "exit-3"])
def test_a_claude_that_dies_is_told_with_its_status(how: str, case: Case) -> None:
    case.claude.misbehave(add_json=how)
    outcome = case.register()
    assert outcome.state == "failed"
    assert f"exit code {'-11' if how == 'crashes' else '3'}" in outcome.reason


@pytest.mark.field_report(77)
def test_a_removal_that_did_not_happen_is_noticed_and_nothing_is_added(case: Case) -> None:
    case.write({"command": "/old/ways-mcp"})
    case.claude.misbehave(remove="lies")
    outcome = case.register()
    assert outcome.state == "failed"
    assert "claude mcp remove said that it was done" in outcome.reason
    assert case.servers["agent-ways"] == {"command": "/old/ways-mcp"}
    assert outcome.by_hand.count("claude mcp") == 2
    case.write(registration.desired(case.command))
    assert case.unregister().state == "failed"


@pytest.mark.field_report(70)
def test_the_old_entry_is_put_back_where_the_new_one_can_not_be_added(case: Case) -> None:
    case.write({"command": "/put/back/ways-mcp", "env": {"A": "b"}})
    real = mcp.runner(case.place, case.env)

    def run(words: Any) -> Ran:
        return Ran(1, "no") if case.command in " ".join(words) else real(words)

    outcome = mcp.register(case.place, case.command, run, case.env)
    assert outcome.state == "failed"
    assert outcome.reason.endswith("the entry that was there before is back")
    assert case.servers["agent-ways"]["env"] == {"A": "b"}
    assert outcome.by_hand.count("claude mcp") == 2


@pytest.mark.field_report(70)
def test_where_it_can_not_be_put_back_that_is_said_loudly(case: Case) -> None:
    case.write({"command": "/old/ways-mcp"})
    case.claude.misbehave(add_json="exit-1")
    outcome = case.register()
    assert "is gone; it was /old/ways-mcp" in outcome.reason
    assert outcome.by_hand.startswith("claude mcp add-json")
    assert outcome.by_hand.count("claude mcp") == 1


@pytest.mark.field_report(73)
def test_a_file_that_claude_left_half_written_is_reported_and_not_touched(case: Case) -> None:
    case.claude.misbehave(add_json="half-file")
    outcome = case.register()
    assert outcome.state == "failed"
    with open(case.place.file, encoding="utf-8") as file:
        text = file.read()
    assert registration.parse(text.encode()).state == "unreadable"
    assert case.register().state == "unreadable"
    with open(case.place.file, encoding="utf-8") as file:
        assert file.read() == text


# What another client's lock does.


def lock_folder(place: Place) -> Path:
    path = Path(f"{place.file}.lock")
    path.mkdir()
    return path


@pytest.mark.demand("LIFE-5")
@pytest.mark.parametrize("verb", ["register", "unregister"])
def test_what_failed_under_another_clients_lock_is_tried_once_more_when_the_lock_has_gone(
    verb: str, tmp_path: Path
) -> None:
    place = Place(config_dir=str(tmp_path / ".claude"), named=False, home=str(tmp_path))
    entry = {"agent-ways": registration.desired(COMMAND)}
    Path(place.file).write_text(json.dumps({"mcpServers": entry if verb == "unregister" else {}}))
    lock = lock_folder(place)
    calls = []

    def run(words: Any) -> Ran:
        calls.append(words)
        if lock.is_dir():
            return Ran(1, "the file is locked")
        after = {} if words[1] == "remove" else entry
        Path(place.file).write_text(json.dumps({"mcpServers": after}))
        return Ran(0)

    def pause(_: float) -> None:
        lock.rmdir()

    outcome = getattr(mcp, verb)(place, COMMAND, run, {}, pause=pause)
    assert outcome.done
    assert len(calls) == 2


@pytest.mark.demand("LIFE-5")
def test_a_lock_that_stays_is_waited_for_in_bounded_time_and_told(tmp_path: Path) -> None:
    place = Place(config_dir=str(tmp_path / ".claude"), named=False, home=str(tmp_path))
    lock_folder(place)
    pauses: list[float] = []
    outcome = mcp.register(place, COMMAND, lambda _: Ran(1, "locked"), {}, pause=pauses.append)
    assert outcome.state == "failed"
    assert outcome.by_hand.startswith("claude mcp add-json")
    assert sum(pauses) <= 5


def test_without_a_lock_a_failure_is_final_at_once(tmp_path: Path) -> None:
    place = Place(config_dir=str(tmp_path / ".claude"), named=False, home=str(tmp_path))
    calls = []

    def run(words: Any) -> Ran:
        calls.append(words)
        return Ran(1, "no")

    assert mcp.register(place, COMMAND, run, {}).state == "failed"
    assert len(calls) == 1
