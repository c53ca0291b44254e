"""Completion of the command's words in three shells, by the catalogue.

Owns the scripts that `attend completion` prints. They hold only words; addresses are asked of `attend peers` when one
is wanted. Must not know how words are parsed.
"""

from __future__ import annotations

from agent_ways.attend import commands
from agent_ways.attend.entry import FLAG, OPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.attend.entry import Verb

_ADDRESSES = "attend peers --json 2>/dev/null | tr ',' '\\n' | sed -n 's/.*\"name\":\"\\([A-Za-z0-9_.-]*\\)\".*/\\1/p'"


def script(shell: str) -> str:
    """The script of bash, zsh or fish."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _options(verb: Verb) -> list[str]:
    return [one.option for one in verb.parameters if one.place == OPTION] + ["--json"] * bool(verb.result) + ["--help"]


def _choices(verb: Verb) -> list[str]:
    return [choice for one in verb.parameters if one.place != OPTION for choice in one.choices]


def _cases() -> str:
    return "\n".join(
        f'        {verb.name}) words="{" ".join([*_options(verb), *_choices(verb)])}" ;;' for verb in commands.VERBS
    )


def _bash() -> str:
    names = " ".join(verb.name for verb in commands.VERBS)
    return f"""\
# bash completion of attend; put it in force with: source <(attend completion bash)
_attend() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{names} --help --version"
    elif [ "$before" = --to ]; then
        words="operator self $({_ADDRESSES})"
    else
        case "${{COMP_WORDS[1]}}" in
{_cases()}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -F _attend attend
"""


def _zsh() -> str:
    names = " ".join(verb.name for verb in commands.VERBS)
    return f"""\
#compdef attend
# zsh completion of attend; put it in force with: source <(attend completion zsh)
_attend() {{
    local words_there="${{words[2]}}" words
    if (( CURRENT == 2 )); then
        words="{names} --help --version"
    elif [[ "${{words[CURRENT-1]}}" == --to ]]; then
        words="operator self $({_ADDRESSES})"
    else
        case "$words_there" in
{_cases()}
        esac
    fi
    compadd -- ${{(s: :)${{words//$'\\n'/ }}}}
}}
compdef _attend attend
"""


def _fish() -> str:
    lines = [
        "# fish completion of attend; put it in force with: attend completion fish | source",
        "complete -c attend -f",
    ]
    for verb in commands.VERBS:
        lines.append(f"complete -c attend -n __fish_use_subcommand -a {verb.name} -d {_quoted(verb.summary)}")
        seen = f"'__fish_seen_subcommand_from {verb.name}'"
        for one in verb.parameters:
            if one.place == OPTION:
                takes = "" if one.kind == FLAG else " -x"
                lines.append(f"complete -c attend -n {seen} -l {one.option[2:]}{takes} -d {_quoted(one.help)}")
        lines += [f"complete -c attend -n {seen} -a {choice}" for choice in _choices(verb)]
    lines.append(
        f"complete -c attend -n '__fish_seen_subcommand_from send' -l to -x -a '(echo operator; {_fish_addresses()})'"
    )
    return "\n".join(lines) + "\n"


def _fish_addresses() -> str:
    return _ADDRESSES.replace("\\", "\\\\").replace("'", "\\'")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
