"""The verbs that only the command has, and all verbs in the order of its help.

Owns the second half of the catalogue (`catalogue.py`), apart from it because the server has no use for it and starts
faster without. Must not know a verb's body.
"""

from __future__ import annotations

from agent_ways.attend.catalogue import (
    A_COUNT,
    A_TEXT,
    ANY_OBJECT,
    BEFORE,
    CARE,
    FROM_WHO,
    GROUPS,
    ID,
    LIMIT,
    PAGE,
    PLUMBING,
    ROOMS,
    SIGNAL,
    SINCE,
    TALK,
    TEXT_OR_NULL,
    TOOLS,
    VERSION,
    YES_OR_NO,
    YOU,
    listed,
    shape,
)
from agent_ways.attend.entry import COUNT, FLAG, TEXT, TEXTS, WORD, WORDS, Parameter, Verb

_LIVE = {**SIGNAL, "properties": {"v": VERSION, **SIGNAL["properties"]}, "required": ["v", *SIGNAL["required"]]}

COMMANDS: tuple[Verb, ...] = (
    Verb(
        "show",
        "Show one message whole, and what became of it for each recipient.",
        more="Without an id, or with last: the newest message that you can see.",
        parameters=(Parameter("id", TEXT, "The signal's id, or the end of it; or last.", place=WORD),),
        result=shape(
            v=VERSION,
            signals=listed(SIGNAL),
            receipts=listed(shape(session=TEXT_OR_NULL, name=A_TEXT, state=TEXT_OR_NULL, proof=ANY_OBJECT)),
        ),
        example="attend show 7c4n0zpd",
        group=TALK,
        read_only=True,
    ),
    Verb(
        "thread",
        "Show the whole talk that a message belongs to, oldest first.",
        parameters=(ID,),
        result=PAGE,
        example="attend thread 7c4n0zpd",
        group=TALK,
        read_only=True,
    ),
    Verb(
        "search",
        "Find messages by their text, own ones included; for the operator: all there are.",
        parameters=(
            Parameter("text", TEXT, "What to look for, in capitals or not.", place=WORDS, shown="TEXT", required=True),
            FROM_WHO,
            SINCE,
            Parameter("room", TEXT, "Only one room: open, #channel, or direct.", shown="ROOM"),
            LIMIT,
            BEFORE,
        ),
        result=PAGE,
        example='attend search --since 7d "release notes"',
        group=TALK,
        read_only=True,
    ),
    Verb(
        "watch",
        "Watch the bus live: each message as it is sent, until interrupted.",
        more="For the operator. Piped, one plain line each; with --json one document a line. Marks nothing.",
        parameters=(
            Parameter("room", TEXT, "Only one room: open, #channel, or direct (to the operator).", shown="ROOM"),
            Parameter("last", COUNT, "Begin with the last so many (5).", shown="N", least=0, most=200),
        ),
        result=_LIVE,
        example="attend watch --room '#deploy'",
        group=TALK,
        read_only=True,
    ),
    Verb(
        "channels",
        "List the channels; make one or dissolve one.",
        parameters=(
            Parameter(
                "action",
                TEXT,
                "What to do.",
                place=WORD,
                shown="[list|create|dissolve]",
                choices=("list", "create", "dissolve"),
            ),
            Parameter("channel", TEXT, "The channel's name; with list, only that one.", place=WORD),
            Parameter("description", TEXT, "What a new one is for, in a line.", shown="TEXT"),
        ),
        result=shape(v=VERSION, channels=listed(shape(channel=A_TEXT, description=A_TEXT, members=listed(A_TEXT)))),
        example='attend channels create deploy --description "who deploys what"',
        group=ROOMS,
    ),
    Verb(
        "whoami",
        "Tell which session this command runs in, and how that is known.",
        result=shape(
            v=VERSION,
            session=TEXT_OR_NULL,
            source=TEXT_OR_NULL,
            claude_pid={"type": ["integer", "null"]},
            config_dir=A_TEXT,
            client_version=TEXT_OR_NULL,
            entrypoint=TEXT_OR_NULL,
            disagreement=TEXT_OR_NULL,
            reason=TEXT_OR_NULL,
            name=TEXT_OR_NULL,
            user=TEXT_OR_NULL,
        ),
        example="attend whoami",
        group=YOU,
        read_only=True,
    ),
    Verb(
        "alias",
        "Take a name for the part that this session plays, or list its names.",
        more="One session holds an alias at a time, over restarts too; mail for it waits while nobody does.",
        parameters=(
            Parameter("name", TEXT, "The alias, with or without @.", place=WORD),
            Parameter("drop", FLAG, "Let go of it."),
        ),
        result=shape(v=VERSION, alias=listed(A_TEXT), changed=YES_OR_NO, mail=A_COUNT),
        example="attend alias release-captain",
        group=YOU,
    ),
    Verb(
        "keepwarm",
        "Tell whether this session's prompt cache is kept warm, and why or why not.",
        more="The sensor loop asks for a word in the last quarter, where keepalive is armed and the server can not.",
        result=shape(
            v=VERSION,
            session=TEXT_OR_NULL,
            armed=YES_OR_NO,
            action=A_TEXT,
            reason=A_TEXT,
            after=TEXT_OR_NULL,
            note=TEXT_OR_NULL,
        ),
        example="attend keepwarm",
        group=CARE,
        read_only=True,
    ),
    Verb(
        "cleanup",
        "Archive what is old, delete what is older, and prune what nobody owns.",
        parameters=(Parameter("dry_run", FLAG, "Count, and change nothing."),),
        result=shape(
            v=VERSION,
            done=YES_OR_NO,
            archived=A_COUNT,
            deleted=A_COUNT,
            instances=A_COUNT,
            records=A_COUNT,
            leftovers=A_COUNT,
        ),
        example="attend cleanup --dry-run",
        group=CARE,
    ),
    Verb(
        "doctor",
        "Try the bus for real: write, read back, lock, watch; name the repair of what does not work.",
        more="Exit code 0: nothing is broken. 1: something is.",
        result=shape(
            v=VERSION,
            findings=listed(
                shape(status={"enum": ["ok", "note", "failed"]}, subject=A_TEXT, text=A_TEXT, repair=TEXT_OR_NULL)
            ),
        ),
        example="attend doctor",
        group=CARE,
    ),
    Verb(
        "run",
        "Run the sensor loop of this session: one line for each thing that is worth a turn.",
        more="To be started with the Monitor tool. Ends with its Claude process; one per session.",
        parameters=(
            Parameter(
                "sensor", TEXTS, "Only these: messages, keepwarm.", shown="NAME", choices=("messages", "keepwarm")
            ),
        ),
        result=None,
        example="attend run",
        group=PLUMBING,
    ),
    Verb(
        "hook",
        "Answer one of the client's hooks, whose input comes on standard input.",
        more="session-start says how the session is reached; the guards refuse `attend run` in Bash and bus files.",
        parameters=(
            Parameter(
                "name",
                TEXT,
                "Which one.",
                place=WORD,
                required=True,
                shown="session-start|guard-run|guard-files",
                choices=("session-start", "guard-run", "guard-files"),
            ),
        ),
        result=None,
        example="attend hook session-start < input.json",
        group=PLUMBING,
    ),
    Verb(
        "completion",
        "Print the completion script of a shell.",
        parameters=(
            Parameter(
                "shell",
                TEXT,
                "Which one.",
                place=WORD,
                required=True,
                shown="bash|zsh|fish",
                choices=("bash", "zsh", "fish"),
            ),
        ),
        result=shape(v=VERSION, shell=A_TEXT, script=A_TEXT),
        example="source <(attend completion bash)",
        group=PLUMBING,
    ),
)

VERBS: tuple[Verb, ...] = tuple(verb for group in GROUPS for verb in (*TOOLS, *COMMANDS) if verb.group == group)
"""Every verb, by the groups of the help, in each the tools first."""

SESSIONS_ONLY = ("join", "leave", "alias", "keepwarm", "run")
"""The verbs that a person at a terminal has no use for: they are about the session that runs them."""
