"""Bytes changed a little: what damage, truncation, copying and a careless editor do to a file.

Owns `mutate` and `smaller`. Pure but for the generator that is passed in. Must not know targets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

ODD = (
    b"\x00", b"\n", b"\r\n", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc4\xb0", b"\xe2\x80\xa8", b"\x1b[2J", b"\x1c",
    b"\\ud800", b"\\u0000", b"1e999", b"-1", b"9" * 25, b"9" * 5000, b"NaN", b"null", b"true", b'""', b"[]", b"{}",
    b"[" * 600, b'{"a":' * 400, b'"', b"\\", b",", b":", b" " * 40,
)  # fmt: skip
"""What parsers trip over, whatever the format."""


def mutate(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes], longest: int) -> bytes:
    """`data` after one to six changes; `others` are inputs to splice with."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        data = _STEPS[random.randrange(len(_STEPS))](random, data, others, words)
    return data[:longest]


def smaller(data: bytes, fails: Callable[[bytes], bool], tries: int = 600) -> bytes:
    """A shorter input that fails the same way, by leaving out ever smaller pieces; at most `tries` attempts."""
    size = max(1, len(data) // 2)
    while size and tries > 0:
        at = 0
        while at < len(data) and tries > 0:
            shorter = data[:at] + data[at + size :]
            tries -= 1
            if fails(shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((1, 1, 2, 4, 16, 64, 400)))


def _flip(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    if not data:
        return bytes([random.randrange(256)])
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def _byte(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + bytes([random.randrange(256)]) + data[at + random.randrange(2) :]


def _cut(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[end:]


def _torn(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _twice(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:end] + data[start:end] * random.choice((1, 1, 2, 30)) + data[end:]


def _word(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    word = random.choice(words if words and random.random() < 0.6 else ODD)
    start, end = _span(random, data)
    return data[:start] + word + data[start if random.random() < 0.5 else end :]


def _splice(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    other = random.choice(others) if others else data
    start, end = _span(random, other)
    at = random.randrange(len(data) + 1)
    return data[:at] + (other[start:] if random.random() < 0.3 else other[start:end]) + data[at:]


_STEPS = (_flip, _byte, _cut, _torn, _twice, _word, _word, _splice)
