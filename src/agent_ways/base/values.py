"""Small values for the hot paths.

Owns one class, `Value`: equality, hash, repr and `but` over `__slots__`, which is the part of a frozen dataclass that
we use, without the 17 ms that importing dataclasses costs at each start. A subclass writes its `__slots__` and
an `__init__` that assigns each attribute once, annotated `Final`: the type checker holds it frozen.
Must not know what any value means.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self


class Value:
    """Equal to another value of the same class with equal slots."""

    __slots__: tuple[str, ...] = ()

    def _content(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def but(self, **changes: Any) -> Self:
        """The same with some fields changed, where `__init__` takes each slot by its name."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return type(self)(**(fields | changes))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._content()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({inside})"
