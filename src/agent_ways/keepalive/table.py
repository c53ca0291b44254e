"""The judge's table as text, drawn from its rules.

Owns the two drawings: for the judge's own docstring and for the documentation (`make generate`); tests hold both to
the rules. Must not know what a rule does.
"""

from __future__ import annotations

from agent_ways.keepalive.judge import RULES


def plain() -> str:
    """The table as it stands in the judge's docstring."""
    wide = max(len(rule.name) for rule in RULES)
    widest = max(len(rule.when) for rule in RULES)
    lines = (
        f"    {number:2} {rule.name:{wide}}  {rule.when:{widest}}  {rule.action}"
        for number, rule in enumerate(RULES, start=1)
    )
    return "\n".join(lines)


def markdown() -> str:
    """The table as it stands in the documentation."""
    return "\n".join(
        [
            "| | rule | applies when | answer | until |",
            "|---|---|---|---|---|",
            *(
                f"| {number} | {rule.name} | {rule.when} | **{rule.action}** | {rule.then} |"
                for number, rule in enumerate(RULES, start=1)
            ),
        ]
    )
