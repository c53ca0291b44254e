"""What a Claude Code process was started to do, judged by its command line.

Owns one question: do the launch flags ask for our channel (ID-3)? Must not know how the command line was read,
nor whether the channel came up: a flag is an intent, its proof is in the transcript.

The client reads its command line with a widely used parser whose rules decide what a word is: an option that takes
a value swallows the next word whatever it looks like, one that takes many goes on to the next word that looks like
an option, one whose value is optional takes no such word, and all after `--` is plain text. So the client's options
are listed here by kind (from 2.1.285 and 2.1.332, hidden ones too). An option that is not listed is read both as a
switch and as one that takes a value, and where that makes a difference nothing is claimed.
"""

from __future__ import annotations

from agent_ways.base.process import SplitWords
from agent_ways.base.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

DEVELOPMENT = "--dangerously-load-development-channels"
APPROVED = "--channels"
GATES = ("DISABLE_TELEMETRY", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
"""Variables that switch the client's channels off whatever the flag says (2.1.285, 2.1.332)."""
UNPROVEN = "The launch flag is there: that is the intent, not yet a proof that events arrive."


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MANY = _names(
    f"{DEVELOPMENT} {APPROVED} --add-dir --allowed-tools --allowedTools --betas --disallowed-tools --disallowedTools "
    "--file --mcp-config --tools"
)
_ONE = _names(
    "--advisor --agent --agent-color --agent-id --agent-name --agent-type --agents --append-subagent-system-prompt "
    "--append-subagent-system-prompt-file --append-system-prompt --append-system-prompt-file --attach-serve "
    "--autocompact --client-data-url --correlation-id --debug-file --deep-link-cwd-b64 --deep-link-last-fetch "
    "--deep-link-repo --effort --environment --exec --fallback-model --fast-mode --forward-home-settings --handle-uri "
    "--inherit-permission-mode --initialize-fields --input-format --json-schema --lead-verify-key --managed-settings "
    "--max-budget-usd --max-thinking-tokens --max-turns --messaging-socket-path --metadata --model --name --on-branch "
    "--output-format --parent-session-id --permission-mode --permission-prompt-tool --permission-prompts "
    "--plan-mode-instructions --plugin-dir --plugin-dir-no-mcp --plugin-url --pool --prefill --prefill-b64 "
    "--proactivity --project-config-root --ref --remote-control-session-name-prefix --resume-drops-turn "
    "--resume-session-at --rewind-files --routine --runner-declares --sdk-url --session-began-as-copy --session-id "
    "--setting-sources --settings --system-prompt --system-prompt-file --system-prompt-snapshot --task-budget "
    "--team-name --teammate-mode --thinking --thinking-display --watch-artifact --watch-artifact-no-autoreact "
    "--workload -m -n"
)
_OPTIONAL = _names(
    "--cloud --debug --from-pr --project --prompt-suggestions --rc --remote --remote-control --resume --teleport "
    "--worktree -d -r -w"
)
_SWITCHES = _names(
    "--agents-view-if-allowed --allow-dangerously-skip-permissions --allow-other-models --await-claim "
    "--await-initialize --ax-screen-reader --background --bare --bg --brief --chrome --continue "
    "--dangerously-skip-permissions --debug-to-stderr --deep-link-origin --desktop --disable-slash-commands "
    "--enable-auth-status --enable-auto-mode --exclude-dynamic-system-prompt-sections --fork-session "
    "--forward-subagent-text --help --hold-repository-while-parked --host-auth-is-org-sign-in --ide "
    "--include-hook-events --include-partial-messages --include-unsupported-models --init --init-only --json "
    "--maintenance --managed-settings-in-initialize --no-chrome --no-session-persistence --plan-mode-required --print "
    "--reply-on-resume --replay-user-messages --restricted --safe-mode --session-mirror --status --strict-mcp-config "
    "--tmux --verbose --version -c -d2e -h -p -v"
)

_LETTERS = "".join(name[1] for name in _SWITCHES if len(name) == 2)


class ChannelIntent(Value):
    """Whether the launch flags ask for our channel: `state` is yes, no or unknown, `reason` a plain sentence.

    `evidence` is the decisive part of the command line, and never more of it (other options may hold secrets).
    """

    __slots__ = ("evidence", "reason", "state")

    def __init__(self, state: str, reason: str, evidence: str | None = None) -> None:
        self.state: Final = state
        self.reason: Final = reason
        self.evidence: Final = evidence


def channel_intent(argv: tuple[str, ...] | None, server: str = "agent-ways") -> ChannelIntent:
    """Judge the command line of a Claude process, its own name first; None where it could not be read (ID-3).

    Yes needs `server:<name>` as one whole value of the development flag (a comma-separated list is one name to
    the client), no `--channels` with the same entry, since the client finds that first and refuses it, and a session
    that is not `-p`, where the client does not read the flag at all.
    """
    if not argv:
        return ChannelIntent("unknown", "The command line of the Claude Code process could not be read.")
    argv = _without_interpreter(argv)
    if isinstance(argv, SplitWords):
        return _judge_split(argv, server)
    as_switch, with_value = (_judge(_parse(argv, greedy), server) for greedy in (False, True))
    if as_switch.state != with_value.state:
        return ChannelIntent(
            "unknown",
            "An option that this version of agent-ways does not know stands before the launch flag and may swallow it.",
            as_switch.evidence or with_value.evidence,
        )
    return as_switch


def _without_interpreter(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Older installs run as `node .../cli.js ...`: there the script is the program's name."""
    if len(argv) > 1 and argv[0].rpartition("/")[2] in ("bun", "node") and not argv[1].startswith("-"):
        return type(argv)(argv[1:])
    return argv


def _judge_split(argv: tuple[str, ...], server: str) -> ChannelIntent:
    """As far as words go that came apart at spaces: behind plain text, flags may be part of a prompt."""
    whole = channel_intent(tuple(argv), server)
    plain = channel_intent(tuple(argv[: _parse(tuple(argv), greedy=False).first_plain]), server)
    if whole.state == plain.state:
        return whole
    return ChannelIntent(
        "unknown",
        "This system shows command lines without their quotes, so the flag may be part of a prompt.",
        whole.evidence,
    )


class _Words:
    """A command line taken apart: the values of the two flags, whether `-p` is there, where plain text begins."""

    __slots__ = ("first_plain", "printing", "values")

    def __init__(self, length: int) -> None:
        self.values: Final[dict[str, list[str]]] = {DEVELOPMENT: [], APPROVED: []}
        self.printing = False
        self.first_plain = length

    def plain_at(self, index: int) -> None:
        self.first_plain = min(self.first_plain, index)

    def add(self, option: str, value: str) -> None:
        if option in self.values:
            self.values[option].append(value)


def _judge(words: _Words, server: str) -> ChannelIntent:
    entry = f"server:{server}"
    development, approved = words.values[DEVELOPMENT], words.values[APPROVED]
    if entry not in development:
        if development:
            return ChannelIntent(
                "no", f"The launch flag is there, but not for {entry}.", " ".join((DEVELOPMENT, *development))
            )
        if entry in approved:
            return ChannelIntent(
                "no", f"{APPROVED} does not load {entry}; it takes {DEVELOPMENT}.", f"{APPROVED} {entry}"
            )
        return ChannelIntent("no", f"The session was started without {DEVELOPMENT} {entry}.")
    evidence = f"{DEVELOPMENT} {entry}"
    if entry in approved:
        return ChannelIntent(
            "no",
            f"{APPROVED} {entry} beside the launch flag makes the client refuse both.",
            f"{evidence} {APPROVED} {entry}",
        )
    if words.printing:
        return ChannelIntent("no", "The client does not read the launch flag in a session of -p.", f"{evidence} -p")
    return ChannelIntent("yes", UNPROVEN, evidence)


def _parse(argv: tuple[str, ...], greedy: bool) -> _Words:
    """Take `argv` apart; `greedy` reads an unknown option as one that takes a value."""
    words = _Words(len(argv))
    rest = list(reversed(argv[1:]))
    many = ""
    while rest:
        word = rest.pop()
        if word == "--":
            words.plain_at(len(argv) - len(rest))
            break
        if not _looks_like_option(word):
            if many:
                words.add(many, word)
            else:
                words.plain_at(len(argv) - len(rest) - 1)
            continue
        option, value = _option(word)
        words.printing = words.printing or option in ("-p", "--print")
        many = ""
        if option in _SWITCHES and value is not None:
            others = value.lstrip(_LETTERS)  # several switches in one word: -pc
            words.printing = words.printing or "p" in value[: len(value) - len(others)]
            if others:
                rest.append(f"-{others}")
        elif value is not None:
            words.add(option, value)
        elif _takes_next(option, rest, greedy):
            words.add(option, rest.pop())
            many = option if option in _MANY else ""
    return words


def _takes_next(option: str, rest: list[str], greedy: bool) -> bool:
    if not rest or option in _SWITCHES:
        return False
    if option in _OPTIONAL:
        return not _looks_like_option(rest[-1])
    return greedy or option in _ONE or option in _MANY


def _looks_like_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-"


def _option(word: str) -> tuple[str, str | None]:
    """An option's name and what else is in the same word: `--name=value`, `-nvalue`, or switches, `-pc`."""
    if word in _ONE or word in _MANY or word in _OPTIONAL or word in _SWITCHES:
        return word, None
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    short = word[:2]
    return (short, word[2:]) if short in _ONE or short in _OPTIONAL or short in _SWITCHES else (word, None)
