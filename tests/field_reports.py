"""The manifest: what people met in the field with tools of this kind, and where it is shown that it is not met here.

Each report is a scenario in our own words with the public threads that it comes from. Tests name the reports that they
show with `@pytest.mark.field_report(18)`, one number a mark; `tests/house/test_field_reports.py` holds the two together
both ways, and `make generate` writes `docs/reference/field-reports.md` from them. A report that can not happen here has
a reason instead. Numbers are never given twice; those that are missing were the same report as another.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.marks import marked


class FieldReport(NamedTuple):
    """`says` is the scenario in a line, `seen_in` where it was met.

    `never` is why it can not happen here, `missing` what of it can still; both empty where its tests show all of it.
    """

    says: str
    seen_in: tuple[str, ...]
    never: str = ""
    missing: str = ""


CLIENT = "anthropics/claude-code"
PEERS = "louislva/claude-peers-mcp"
MAIL = "Dicklesworthstone/mcp_agent_mail"
BRIDGE = "raysonmeng/agent-bridge"


def _of(repository: str, *threads: int) -> tuple[str, ...]:
    return tuple(f"{repository}#{thread}" for thread in threads)


DELIVERY: dict[int, FieldReport] = {
    1: FieldReport(
        "A channel event is written and never reaches the model, without any error", _of(CLIENT, 36825, 46670, 60721)
    ),
    2: FieldReport(
        "What is sent while the peer restarts or rests is not queued anywhere", _of(BRIDGE, 18, 29, 32, 223)
    ),
    3: FieldReport("Reading marks as delivered, so a crash right after it loses the mail", _of(PEERS, 8, 50, 60)),
    5: FieldReport("Queued mail dies with the process that it was addressed to", _of(PEERS, 37, 82)),
    6: FieldReport("A server outlives its client and goes on being listed as present", _of(PEERS, 81)),
    7: FieldReport("Two servers of one session read the same queue, so mail comes twice", _of(CLIENT, 37167, 36800)),
    9: FieldReport("What arrives in a busy turn is lost instead of queued", _of(CLIENT, 38025)),
    10: FieldReport("Of a burst of events only a few survive", _of(CLIENT, 40440)),
    11: FieldReport(
        "Permission requests are relayed to a channel that nobody answers there", _of(CLIENT, 40064, 43625, 54597)
    ),
    13: FieldReport(
        "The flag's confirmation dialog stands in the way of an unattended start",
        (*_of(CLIENT, 58152), "kamp-us/phoenix#3419"),
    ),
    14: FieldReport("The same server is registered twice, and everything happens twice", ("commitlore#1079",)),
    15: FieldReport(
        "Untrusted text closes the wrapper around it and poses as another source",
        ("vault-cortex#201", "PostHog/posthog#81062"),
    ),
    16: FieldReport(
        "A session without the flag takes the mail that only the flagged one can show", _of(CLIENT, 84108, 81571)
    ),
    17: FieldReport(
        "Sending says delivered though nothing was; a message comes back to its own sender",
        _of(CLIENT, 86014, 84945, 90417, 91671, 87870),
    ),
}

STDIO: dict[int, FieldReport] = {
    18: FieldReport(
        "A server does not notice the end of its input and stays, a thousand of them in a week",
        ("modelcontextprotocol/typescript-sdk#2002", "Proxyman#2727", "mcp-searxng#60", "mcp-framework#181"),
    ),
    19: FieldReport(
        "An orphan spins on its dead input and ignores SIGTERM",
        _of("anthropics/claude-plugins-official", 2229, 3024, 1916, 934),
    ),
    21: FieldReport(
        "A stale pid file names a recycled pid, and the cleanup kills a stranger",
        _of("anthropics/claude-plugins-official", 2229, 3024, 1916, 934),
    ),
    22: FieldReport(
        "A healthy server is killed without a word, in the middle of a write", _of(CLIENT, 40207, 16744, 31646)
    ),
    23: FieldReport("A closed stdout is a traceback or a loop", ("modelcontextprotocol/typescript-sdk#1564",)),
    24: FieldReport(
        "One bad byte on stdin ends the server",
        ("modelcontextprotocol/python-sdk#2302", "modelcontextprotocol/python-sdk#2328"),
    ),
    25: FieldReport(
        "A malformed line ends the server, or is swallowed without an answer",
        ("rust-sdk#833", "modelcontextprotocol/typescript-sdk#2790", "kotlin-sdk#956"),
    ),
    27: FieldReport("Ids that are text, 0, empty or huge come back as something else", ("magic-mcp#72", "borsa-mcp#6")),
    28: FieldReport("Notifications are answered", ("tokensave#505",)),
    29: FieldReport(
        "Something else than the protocol is written to stdout, and the client leaves",
        ("ha-mcp#603", "ha-mcp#2374", "Claude Code 2.1.105"),
    ),
    31: FieldReport("Lines above 64 KiB are cut", ("FAForever#939", "opensquilla#953", "lean-lsp-mcp#183")),
    32: FieldReport("A cold start takes longer than the client waits", ("fastmcp#604", "datawrapper-mcp#82")),
    33: FieldReport(
        "A newer client asks for discovery first, and a server that agrees loses its channel",
        ("Claude Code changelog 2.1.232", "Claude Code changelog 2.1.238"),
    ),
    34: FieldReport(
        "A crash or a changed list of tools throws the session's prompt cache away", _of(CLIENT, 82407, 81042)
    ),
    35: FieldReport("The server exits after its first call", ("openai/codex#18977",)),
    36: FieldReport("Descriptions and instructions are cut at 2 KB", ("Claude Code documentation",)),
    37: FieldReport(
        "CRLF, blank lines or a last line without newline are errors or lost", ("Measured with three other servers",)
    ),
}

IDENTITY: dict[int, FieldReport] = {
    38: FieldReport(
        "After /clear the session record keeps the old id for a while", _of(CLIENT, 53037, 36213, 56766, 95439, 88845)
    ),
    41: FieldReport(
        "The way up to the client is lost under wrappers, in containers, with odd process names",
        ("herdr#1077", "parzival1l/threadhop#70", "cpp#945"),
    ),
    42: FieldReport(
        "A pid is used again, or the clock was set, and a process is taken for another",
        ("psutil#2895", "psutil#606", "psutil#356", "psutil#2910"),
    ),
    43: FieldReport(
        "Of two sessions in one directory the wrong one gets the answer", ("agent-of-empires#2708", "nanoclaw#2331")
    ),
    44: FieldReport(
        "A session record in another layout is not read; our own record of a live session was deleted",
        ("agent-ways#380",),
    ),
    45: FieldReport(
        "The first drain replays the whole history; an id that was not proven leaves state behind", ("agent-ways#385",)
    ),
}

KEEPALIVE: dict[int, FieldReport] = {
    46: FieldReport(
        "How long the cache lives depends on plan, credits, environment and settings",
        _of(CLIENT, 46829, 84253, 14628),
    ),
    47: FieldReport("A warmer counts refreshes that never touched the cache", ("context-stats#198",)),
    49: FieldReport("A restart within the window doubles the pings or starts them over", ("claude-code-mods#5",)),
    50: FieldReport(
        "History lines with emoji across a border of reading are dropped", ("Claude Code changelog 2.1.89",)
    ),
    51: FieldReport("History lines have no session id, unknown keys or half a last line", _of(CLIENT, 9910)),
    52: FieldReport("After a suspend a burst is fired, or the cache is taken for fresh", ("alera#210", "Lobster#830")),
    53: FieldReport("The client compacts an idle session by itself near the hour", ("Codeman#554",)),
    54: FieldReport(
        "A Stop hook that always has something to say never lets the turn end",
        (*_of(CLIENT, 43906, 2956, 10205), "impeccable#400", "codex-plugin#414"),
    ),
    55: FieldReport("What the refreshes cost, and when they end, is not told", ("The design record of keepalive",)),
}

BUS: dict[int, FieldReport] = {
    56: FieldReport(
        "Of several sends at once to one mailbox one survives; a reader loses what is sent meanwhile",
        ("automagik-dev/genie#547", *_of(CLIENT, 53896), "NorthlandPositronics/Cogtrix#973"),
    ),
    57: FieldReport("An empty or damaged file blocks the whole mailbox", ("hive#6801",)),
    59: FieldReport("A stale lock stops all writes, and the health check says fine", _of(MAIL, 24, 91)),
    60: FieldReport(
        "An id is used again after a deletion, and an old receipt counts for new mail",
        ("mcp_agent_mail_rust#176", "mcp_agent_mail_rust#298"),
    ),
    61: FieldReport(
        "Limits of inotify, or a file system that reports nothing, and no mail comes any more",
        ("fswatch#267", "paperless-ng#351", "bpipe#210"),
    ),
    62: FieldReport("Order by a file's time breaks when clocks step or are coarse", ("Lobster#830",)),
    63: FieldReport(
        "One command changes for good how long another waits; retries flood a busy agent", ("hcom#132", "hcom#100")
    ),
    64: FieldReport(
        "Sending to a session that is gone succeeds, and nobody is told",
        ("mblua/AgentsCommander#22", "awslabs/cli-agent-orchestrator#131"),
    ),
    65: FieldReport(
        "Control bytes and long text in a message steer the terminal",
        ("dlorenc/multiclaude#63", "eneskirca/nodeterm#453", "vanillagreencom/kendex#858"),
    ),
    66: FieldReport("The first message of an unknown sender is marked as seen and dropped", ("murmur#131",)),
    67: FieldReport("Two that start first race to make the store", ("agents-can-communicate#41",)),
    68: FieldReport("A crashed session stays listed as online", ("Cotal-AI/Cotal#286",)),
    69: FieldReport("A resident reader leaks descriptors", (MAIL + " (reports of EMFILE)",)),
}

REGISTRATION: dict[int, FieldReport] = {
    70: FieldReport(
        "`claude mcp add-json` fails where the name is there already, so a stale entry stays or the old one is lost",
        ("coder/registry#656", "coder/registry#658", "Apra-Labs/apra-fleet#95", "uploads#518"),
    ),
    71: FieldReport(
        "An answer with the word already in it is taken for success",
        ("my-claude#235", "hcompai/hai-agents-python#78", "hcompai/hai-agents-python#79"),
    ),
    73: FieldReport(
        "The client's file is cut short, or an entry vanishes, as several sessions write it",
        _of(CLIENT, 28922, 29217, 65463, 73590, 18762),
    ),
    74: FieldReport("The client's file is a read-only link that another program manages", ("nixos_config#398",)),
    75: FieldReport(
        "An installer replaces the whole map and wipes everybody else's servers",
        ("smithery sdk#23", "mcp-obsidian#8", "LifeOS#2156"),
    ),
    76: FieldReport("Entries that were not its own are removed", ("gitguardex#762",)),
    77: FieldReport(
        "`claude mcp remove` says that it was done and does nothing, or refuses a name in two scopes",
        _of(CLIENT, 2405, 20096),
    ),
    78: FieldReport("Servers are written into settings.json, where they are ignored", ("oh-my-claudecode#1802",)),
    79: FieldReport(
        "`claude` hangs, prints banners, is a shell function, a broken link or slow", ("Reports of many installers",)
    ),
}

PACKAGING: dict[int, FieldReport] = {
    80: FieldReport(
        "A cleaner of /tmp empties the folder that a running program was unpacked into",
        ("pyinstaller#5843", "pyinstaller#3301", "pyinstaller#4821"),
    ),
    81: FieldReport(
        "Nothing in /tmp may be run, so a program that unpacks itself does not start", ("pyinstaller#2973",)
    ),
    82: FieldReport(
        "The process that unpacked a program does not pass signals on, and leaves child and folder behind",
        ("pyinstaller#448", "pyinstaller#3514", "pyinstaller#2379", "pyinstaller#9016"),
    ),
    84: FieldReport(
        "macOS keeps an unsigned program back, or takes ten seconds over its first start",
        ("yt-dlp#10425", "pyinstaller#9049", "pyinstaller#6801", "doccmd#1351"),
    ),
    85: FieldReport(
        "An update of itself fails half-way, overwrites a link, or fights a package manager",
        ("yt-dlp#133", "yt-dlp#385", "yt-dlp#6344"),
    ),
    86: FieldReport(
        "Checksums that nobody signed are swapped together with the file; a missing one counts as valid",
        (
            "NVIDIA cluster-readiness#298",
            "NVIDIA cluster-readiness#290",
            "polius/fsend#67",
            "multiplex-ai/muggle-ai-works#421",
            "CarlosDanielDev/maestro#1046",
        ),
    ),
    87: FieldReport(
        "Offline, or with a wrong clock, verification fails without saying why",
        ("sigstore-python#1175", "sigstore-python#483", "cosign#4454"),
    ),
    88: FieldReport(
        "An archive's cache is shared between users and versions, and first starts race for it",
        ("shiv#100", "shiv#234", "shiv#10", "psautohint#166"),
    ),
    89: FieldReport("A release works in the checkout that made it and not as downloaded", ("token-optimizer#400",)),
    90: FieldReport("A program starts only where the C library is new enough", ("yt-dlp#14155",)),
}

LATER: dict[int, FieldReport] = {
    91: FieldReport("A session with an open permission dialog reads as idle", _of(CLIENT, 85714)),
    92: FieldReport("Dead sessions are listed as idle, and sending to them succeeds", _of(CLIENT, 93824, 91105)),
    93: FieldReport(
        "Putting mail back deletes the only copy first, or revives what was given", ("exoharness/exo#232",)
    ),
    94: FieldReport(
        "What was seen is remembered for ever; a send that fails leaves its folders behind",
        ("Lingtai-AI/lingtai-kernel#677", "Lingtai-AI/lingtai-kernel#1286"),
    ),
    95: FieldReport(
        "A server announces a change of its tools at each start, and the cache is thrown away",
        ("Claude Code documentation", "Measured with another server"),
    ),
    96: FieldReport("An updater runs what it could not verify", ("J-M-PUNK/tideway#72",)),
}

SECTIONS: dict[str, dict[int, FieldReport]] = {
    "Channels and the truth about delivery": DELIVERY,
    "Stdio and the life of the process": STDIO,
    "Which session this is": IDENTITY,
    "Keepalive and the Stop hook": KEEPALIVE,
    "Messages on disk": BUS,
    "Registration with Claude Code": REGISTRATION,
    "Packages, updates and signatures": PACKAGING,
    "Later reports": LATER,
}
FIELD_REPORTS: dict[int, FieldReport] = {
    number: report for reports in SECTIONS.values() for number, report in reports.items()
}


def marks() -> dict[object, list[str]]:
    """The tests that name each report, as `path::test`."""
    return marked("field_report")
