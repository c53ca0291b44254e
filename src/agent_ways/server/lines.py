"""Bytes to lines.

Owns one growing buffer. Must not know what a line holds, nor where the bytes come from.
"""

from __future__ import annotations


class LineBuffer:
    """Collects bytes and gives back whole lines, without their newline.

    It remembers how far it has searched, so that a line of any length, split in any way, costs time linear in
    its length (SRV-1).
    """

    __slots__ = ("_data", "_searched")

    def __init__(self) -> None:
        self._data = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Add `data`; the lines that it completed."""
        if not self._data and data.endswith(b"\n"):
            return data[:-1].split(b"\n")  # whole lines and nothing before them: nearly every read
        self._data += data
        newline = self._data.find(b"\n", self._searched)
        if newline < 0:
            self._searched = len(self._data)
            return []
        last = self._data.rfind(b"\n")
        lines = bytes(self._data[:last]).split(b"\n")
        del self._data[: last + 1]
        self._searched = len(self._data)
        return lines

    def close(self) -> list[bytes]:
        """The end of input: what stood there without a newline is a line too."""
        rest = bytes(self._data)
        self._data.clear()
        self._searched = 0
        return [rest] if rest else []
