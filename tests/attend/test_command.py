"""The command as it is started: words, streams, exit codes, on a terminal and piped."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Any

import pytest

from agent_ways.attend import commands, render
from agent_ways.attend.render import Style, visible
from agent_ways.base.process import process_table, this_process
from tests.attend.frontends.callers import misfits
from tests.attend.test_drain import ATTEND
from tests.support.fake_client import FakeClient, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NASTY = "red \x1b[31m\r over \u202e bidi \x07 bell \u2028 line \U000e0041 tag é 日本 👩\u200d🚀"


class Command:
    """`attend` in a home of its own, as a person at a plain terminal."""

    def __init__(self, home: Path, **env: str) -> None:
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC", "TERM": "xterm", **env}

    def run(self, *words: str | bytes, given: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*ATTEND, *words], env={**self.env, **env}, input=given, capture_output=True, check=False, timeout=60
        )

    def json(self, *words: str | bytes, given: bytes = b"") -> dict[str, Any]:
        ran = self.run(*words, "--json", given=given)
        assert ran.stderr == b""
        assert ran.stdout.isascii()
        answer: dict[str, Any] = json.loads(ran.stdout)
        return answer

    def on_terminal(self, *words: str, columns: int = 0, until: str = "", **env: str) -> str:
        """What a terminal is sent; with `until` the command is ended when that was read."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen(
            [*ATTEND, *words], env={**self.env, **env}, stdin=follower, stdout=follower, stderr=follower
        ) as process:
            os.close(follower)
            data = b""
            while select.select([leader], [], [], 30)[0]:
                try:
                    more = os.read(leader, 65536)
                except OSError:
                    break
                if not more:
                    break
                data += more
                if until and until in data.decode(errors="replace"):
                    process.terminate()
            process.wait(30)
        os.close(leader)
        return data.decode()


@pytest.fixture
def attend(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.demand("ATT-3")
@pytest.mark.field_report(65)
def test_a_body_with_every_power_over_a_terminal_is_inert_there_and_exact_as_json(attend: Command) -> None:
    attend.run("send", "--to", "operator", NASTY)
    shown = attend.on_terminal("search", "red")
    assert "\\x1b[31m\\x0d over \\u202e bidi \\x07 bell \\u2028 line \\U000e0041 tag é 日本 👩\u200d🚀" in shown
    body = shown.split("\n", 1)[1]
    assert "\x1b" not in body
    assert attend.json("search", "red")["signals"][0]["body"] == NASTY


@pytest.mark.demand("ATT-3")
def test_colour_is_for_terminals_without_no_color_and_never_in_a_pipe(attend: Command) -> None:
    attend.run("send", "--to", "operator", "hello")
    assert "\x1b[1m" in attend.on_terminal("search", "hello")
    assert "\x1b" not in attend.on_terminal("search", "hello", NO_COLOR="1")
    assert "\x1b" not in attend.on_terminal("search", "hello", TERM="dumb")
    assert b"\x1b" not in attend.run("search", "hello").stdout


def test_what_an_odd_terminal_encoding_can_not_show_is_an_escape_and_no_crash(attend: Command) -> None:
    attend.run("send", "--to", "operator", "snow ☃")
    ran = attend.run("search", "snow", LC_ALL="C", PYTHONCOERCECLOCALE="0")
    assert ran.returncode == 0
    assert b"snow" in ran.stdout


@pytest.mark.parametrize("body", ["a\nb\n\nc", "tab\there", " spaces ", "-", "--to", "back\\slash"])
def test_bodies_arrive_exactly_as_words_and_by_standard_input(attend: Command, body: str) -> None:
    ways = [attend.run("send", "--to", "operator", "--json", "-", given=body.encode() + b"\n")]
    if body != "-":  # as a word it stands for standard input
        ways.append(attend.run("send", "--to", "operator", "--json", "--", body))
    for ran in ways:
        sent = json.loads(ran.stdout)["id"]
        assert attend.json("show", sent)["signals"][0]["body"] == body


@pytest.mark.field_report(65)
def test_nul_bidi_and_escapes_by_standard_input_are_kept_exactly(attend: Command) -> None:
    body = "nul \x00 esc \x1b bidi \u202e cr \r lf \n end"
    sent = attend.json("send", "--to", "operator", "-", given=body.encode())
    assert attend.json("show", sent["id"])["signals"][0]["body"] == body


@pytest.mark.demand("ATT-1")
@pytest.mark.field_report(65)
def test_sixty_four_kibibytes_are_sent_and_one_byte_more_is_refused_with_what_to_do(attend: Command) -> None:
    assert attend.json("send", "--to", "operator", "-", given=b"x" * 65_536)["id"]
    ran = attend.run("send", "--to", "operator", "-", given=b"x" * 65_537)
    assert ran.returncode == 2
    assert b"65537 bytes" in ran.stderr
    assert b"Put the text into a file" in ran.stderr
    assert attend.json("search", "x")["total"] == 1


@pytest.mark.parametrize(
    ("words", "given", "code", "says"),
    [
        (("send", "--to", "operator", b"bad \xff utf8"), b"", 2, "not valid Unicode"),
        (("send", "--to", "operator", "-"), b"bad \xff", 2, "not UTF-8 at byte 5"),
        (("send", "--to", "operator", "   "), b"", 2, "empty"),
        (("send", "--to", "operator", "-"), b"", 2, "empty"),
        (("send", "--to", "nobody", "x"), b"", 2, "no session nobody"),
        (("send", "--to", "#nowhere", "x"), b"", 2, "no channel #nowhere"),
        (("send", "--to", "@nobody", "x"), b"", 2, "alias"),
        (("send", "--to", "a\x1bb", "x"), b"", 2, "no control characters"),
        (("send", "--to", b"\xff", "x"), b"", 2, "no control characters"),
        (("send", "--to", "", "x"), b"", 2, "no address"),
        (("send", "--to", "../x", "x"), b"", 2, "no address"),
        (("send", "--re", "zzzz", "x"), b"", 2, "no signal"),
        (("channels", "create", "a b"), b"", 2, "can not be the name"),
        (("channels", "create", "../x"), b"", 2, "can not be the name"),
        (("channels", "create", "operator"), b"", 2, "meaning of its own"),
        (("inbox", "--room", "#nope"), b"", 2, "there is no channel #nope"),
        (("search", "--room", "#nope", "x"), b"", 2, "there is no channel #nope"),
        (("watch", "--room", "#nope"), b"", 2, "there is no channel #nope"),
        (("inbox", "--room", "nope"), b"", 2, "'nope' is no room: open, direct or #channel"),
        (("watch", "--room", "../x"), b"", 2, "'../x' is no room: open, direct or #channel"),
        (("inbox", "--limit", "-1"), b"", 2, "--limit must be at least 1"),
        (("channels", "creat", "x"), b"", 2, "does not know 'creat'"),
        (("channels", "list", "--description", "x"), b"", 2, "list takes no description"),
        (("channels", "list", "x"), b"", 2, "no channel #x"),
        (("join", "x"), b"", 3, "plain terminal"),
        (("keepwarm",), b"", 3, "plain terminal"),
        (("run",), b"", 3, "belongs to a session"),
        (("inbox", "--drain"), b"", 3, "no session here"),
        (("inbox", "--drain", "--format", "xml"), b"", 2, "one of: hook, text"),
        (("bogus",), b"", 2, "does not know: bogus"),
    ],
)
def test_bad_input_changes_nothing_and_says_what_to_do(
    attend: Command, words: Sequence[str | bytes], given: bytes, code: int, says: str
) -> None:
    ran = attend.run(*words, given=given)
    assert (ran.returncode, ran.stdout) == (code, b"")
    first, _, hint = ran.stderr.decode().rstrip("\n").partition("\n")
    assert says in first
    assert first.startswith("attend: ")
    assert hint or says == "meaning of its own"
    assert "Traceback" not in ran.stderr.decode()
    assert not os.path.exists(os.path.join(attend.env["HOME"], ".local/state/agent-ways/attend/signals"))


def test_an_error_as_json_has_code_message_and_hint(attend: Command) -> None:
    ran = attend.run("send", "--to", "nobody", "--json", "x")
    assert ran.returncode == 2
    assert json.loads(ran.stdout)["error"].keys() == {"code", "message", "hint"}


@pytest.mark.demand("ATT-2")
def test_the_operators_inbox_is_read_by_looking_on_a_terminal_and_not_by_a_pipe(tmp_path: Path) -> None:
    with FakeClient(tmp_path, Plan()) as client:
        attend = Command(client.plan.home)  # type: ignore[arg-type]  # a path as text
        _serve(client)
        sent = client.spawn([*ATTEND, "send", "--to", "operator", "--json", "come and look"])
        assert sent["code"] == 0, sent
        assert attend.json("inbox", "--unseen")["total"] == 1
        assert b"* " in attend.run("inbox").stdout
        assert "come and look" in attend.on_terminal("inbox")
        [found] = attend.json("inbox")["signals"]
        assert (found["state"], found["proof"]["kind"]) == ("seen", "terminal")
        assert attend.json("inbox", "--unseen")["total"] == 0


def _serve(client: FakeClient) -> None:
    """A live server of the session, as its marker shows it: this very process stands for it."""
    folder = os.path.join(client.plan.home, ".local/state/agent-ways/servers")
    os.makedirs(folder)
    owner = this_process(process_table(), {})
    with open(os.path.join(folder, f"{client.session_id}.{owner.pid}"), "w", encoding="utf-8") as file:
        json.dump({"v": 1, "owner": owner.to_json()}, file)


def test_watch_prints_each_message_once_as_it_comes_plain_when_piped(attend: Command) -> None:
    attend.run("send", "--to", "operator", "before")
    with subprocess.Popen([*ATTEND, "watch"], env=attend.env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"before" in process.stdout.readline()
        for number in range(3):
            attend.run("send", "--to", "operator", f"live {number}\nsecond line \x1b")
            line = process.stdout.readline()
            assert f"live {number}\\nsecond line \\x1b".encode() in line
        process.send_signal(2)
        assert process.wait(30) == 130
        assert process.stdout.read() == b""


def test_watch_wraps_a_long_body_at_words_on_a_terminal_and_nowhere_else(attend: Command) -> None:
    url = "https://example.invalid/" + "x" * 60
    body = (
        f"the migration waits for the review of the schema change 日本語の長い文 {url}\n    and the indented line stays"
    )
    attend.run("send", "--to", "operator", body + " END")
    shown = attend.on_terminal("watch", columns=40, until="END", NO_COLOR="1").replace("\r", "").split("\n")[1:5]
    assert shown == [
        "    the migration waits for the review",
        "    of the schema change 日本語の長い文",
        f"    {url}",
        "        and the indented line stays END",
    ]
    assert f"    {body}".partition("\n")[0] in attend.on_terminal("show", "last", columns=40).replace("\r", "")
    assert body.partition("\n")[0] in attend.run("inbox").stdout.decode()


def test_watch_begins_on_a_machine_without_a_bus_and_ends_when_nobody_reads(attend: Command) -> None:
    with subprocess.Popen(
        [*ATTEND, "watch", "--json"], env=attend.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        attend.run("send", "--to", "operator", "first")
        assert json.loads(process.stdout.readline())["body"] == "first"
        process.stdout.close()
        end = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < end:
            attend.run("send", "--to", "operator", "into the void")
        assert process.wait(1) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_reader_that_goes_away_ends_the_command_without_a_word(attend: Command) -> None:
    for _ in range(3):
        attend.run("send", "--to", "operator", "-", given=b"y" * 60_000)
    shell = 'exec 3>&1; { "$@"; echo $? >&3; } | true'
    words = [*ATTEND, "search", "y", "--json"]
    ran = subprocess.run(["sh", "-c", shell, "sh", *words], env=attend.env, capture_output=True, check=True, timeout=60)
    assert (ran.stdout, ran.stderr) == (b"141\n", b"")


@pytest.mark.demand("ATT-11")
def test_a_full_disk_a_read_only_state_and_no_home_are_told_in_a_sentence(attend: Command, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("a file where the folder belongs")
    ran = attend.run("send", "--to", "operator", "x", XDG_STATE_HOME=str(state))
    assert ran.returncode == 5
    assert str(state).encode() in ran.stderr
    assert b"Traceback" not in ran.stderr


def test_every_verb_prints_its_help_and_version_is_told(attend: Command) -> None:
    assert attend.run("--version").stdout.startswith(b"attend 0.")
    assert attend.run("--help").stdout == attend.run("help").stdout
    assert attend.run("send", "--help").stdout == attend.run("help", "send").stdout
    assert max(map(len, attend.run("--help").stdout.decode().split("\n"))) in range(70, 81)
    assert max(map(len, attend.on_terminal("--help", columns=60).replace("\r", "").split("\n"))) in range(50, 61)
    none = attend.run()
    assert (none.returncode, none.stdout) == (2, b"")
    assert b"usage: attend" in none.stderr


@pytest.mark.demand("ATT-3")
def test_json_is_one_document_of_every_verb_that_answers_and_refused_by_the_others(attend: Command) -> None:
    attend.run("channels", "create", "deploy")
    sent = attend.json("send", "--to", "operator", "x")["id"]
    words = {"send": ["x"], "reply": None, "show": [sent], "thread": [sent], "search": ["x"], "completion": ["fish"]}
    words |= dict.fromkeys(("join", "leave", "watch", "keepwarm"))  # for sessions, or without an end
    for verb in commands.VERBS:
        given = words.get(verb.name, [])
        if verb.result is None:
            ran = attend.run(verb.name, "--json", *(["session-start"] if verb.name == "hook" else []))
            assert (ran.returncode, json.loads(ran.stdout)["error"]["code"]) == (2, "usage")
        elif given is not None:
            assert misfits(verb.result, attend.json(verb.name, *given)) == []


@pytest.mark.demand("ATT-3")
def test_what_was_made_or_dissolved_is_said_so_and_its_messages_are_found_as_told(attend: Command) -> None:
    assert attend.run("channels", "create", "Deploy").stdout == b"#deploy is made\n"
    attend.run("send", "--to", "#deploy", "it is out")
    assert b"your own messages: attend search TEXT" in attend.run("inbox", "--room", "#deploy").stdout
    gone = attend.run("channels", "dissolve", "deploy").stdout.decode()
    assert gone == "#deploy is dissolved; its messages stay: attend search --room '#deploy' TEXT\n"
    assert attend.json("search", "--room", "#deploy", "out")["total"] == 1
    assert attend.json("channels") == {"v": 1, "channels": []}
    made = attend.json("channels", "create", "deploy", "--description", "who deploys")
    assert made == {"v": 1, "channels": [{"channel": "deploy", "description": "who deploys", "members": []}]}


@pytest.mark.demand("ATT-3")
def test_a_person_is_not_sent_where_only_sessions_may_go(attend: Command) -> None:
    assert attend.run("channels").stdout == b"no channels; attend channels create NAME makes one\n"
    attend.run("channels", "create", "deploy")
    twice = attend.run("channels", "create", "deploy")
    assert (twice.returncode, b"join" in twice.stderr, b"attend send --to '#deploy'" in twice.stderr) == (
        3,
        False,
        True,
    )
    assert attend.run("peers").stdout == b"no session now; attend peers --all lists those that have ended\n"
    assert attend.run("peers", "--all").stdout == b"no session, nor any that has ended\n"
    for words in (("show", "zzzz"), ("thread", "zzzz"), ("reply", "--re", "zzzz", "x"), ("inbox", "--id", "zzzz")):
        assert b"attend search TEXT, or attend watch" in attend.run(*words).stderr
    assert attend.run("search", "anything").returncode == attend.run("watch", "--help").returncode == 0


def test_a_session_is_told_what_a_session_can_do() -> None:
    style = Style(colours=False, now_ms=0)
    assert render.text_of("channels", {"channels": []}, style) == "no channels; attend join NAME makes one\n"
    assert render.text_of("peers", {"peers": []}, style).startswith("no other session now")
    assert render.text_of("peers", {"peers": []}, style, "all") == "no other session, nor any that has ended\n"


@pytest.mark.demand("ATT-2")
def test_what_is_kept_for_somebody_is_said_once(attend: Command, tmp_path: Path) -> None:
    for to, note in (
        ("self", "kept for the next session that starts in "),
        (str(tmp_path), f"no live session in {tmp_path}; kept for the next one there"),
    ):
        _, said, end = attend.run("send", "--to", to, "x").stdout.decode().split("\n")
        assert (said.startswith(note), end) == (True, "")
    assert "operator: queued" in attend.run("send", "--to", "operator", "--to", "self", "x").stdout.decode()


def test_what_no_note_says_of_a_recipient_stands_beside_it() -> None:
    kept = {"session": "x", "name": "Fern-alpha", "state": "no live session; kept"}
    document = {"id": "0" * 12 + "-" + "0" * 8, "room": "#deploy", "recipients": [kept], "note": None}
    style = Style(colours=False, now_ms=0)
    assert "Fern-alpha: no live session; kept" in render.text_of("send", document, style)
    document["note"] = "no live session: Fern-alpha has ended; kept until it is resumed"
    assert render.text_of("send", document, style).count("Fern-alpha") == 1


@pytest.mark.demand("ATT-2")
def test_the_operator_is_whoever_sits_at_the_terminal(attend: Command) -> None:
    attend.run("send", "--to", "operator", "x")
    login = attend.json("whoami")["user"]
    for name in ("operator", "OPER", login):
        assert attend.json("inbox", "--from", name)["total"] == 1
    host = attend.json("inbox")["signals"][0]["from"]["host"]
    name, *_ = attend.run("status").stdout.decode().split("\n")
    assert name.split(None, 1) == ["name", f"operator ({login}@{host})"]


def test_visible_keeps_what_is_harmless() -> None:
    assert visible("a\n\tb\u00a0c 👩\u200d🚀") == "a\n\tb\u00a0c 👩\u200d🚀"
    assert visible("\ud800 \x85 \u200f") == "\\ud800 \\x85 \\u200f"


@pytest.mark.parametrize(
    ("ago", "said"),
    [(5, "just now"), (120, "2 min ago"), (-30, "21:33"), (7200, "19:33"), (90_000, "2026-11-29 20:33")],
)
def test_times_are_told_as_a_person_tells_them(ago: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    now = 1_796_074_380
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now - ago))
    assert render.when(at, Style(colours=False, now_ms=now * 1000)) == said
    assert render.when("soon\x1b", Style(colours=False, now_ms=0)) == "soon\\x1b"
