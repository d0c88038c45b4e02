"""What the operations of a store do, on a dict: docs/SPEC.md, sections 1 to 3, and nothing of files."""

from __future__ import annotations

from typing import Any


class Model:
    def __init__(self) -> None:
        self.held: dict[str, tuple[bytes, int]] = {}
        self.now = 0

    def clock(self, clock: int) -> None:
        self.now = max(self.now, clock)

    def live(self) -> dict[str, tuple[bytes, int]]:
        return {k: (v, e) for k, (v, e) in self.held.items() if not e or self.now < e}

    def expiry(self, ttl: int | None) -> int:
        return self.now + ttl if ttl else 0

    def get(self, key: str) -> bytes | None:
        return self.live().get(key, (None, 0))[0]

    def ttl(self, key: str) -> int | None:
        expires = self.live().get(key, (b"", 0))[1]
        return expires - self.now if expires else None

    def put(self, key: str, value: bytes, ttl: int | None = None) -> None:
        self.held[key] = (value, self.expiry(ttl))

    def delete(self, key: str) -> bool:
        was = key in self.live()
        self.held.pop(key, None)
        return was

    def touch(self, key: str, ttl: int | None) -> bool:
        if key not in self.live():
            return False
        self.held[key] = (self.held[key][0], self.expiry(ttl))
        return True

    def increment(self, key: str, amount: int) -> int:
        value, expires = self.live().get(key, (b"0", 0))
        number = int(value) + amount
        self.held[key] = (str(number).encode(), expires)
        return number

    def write(self, rows: list[list[Any]]) -> None:
        for what, key, value, ttl in rows:
            if what == "put":
                self.put(key, value, ttl)
            else:
                self.held.pop(key, None)

    def scan(
        self,
        start: str | None = None,
        end: str | None = None,
        prefix: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[tuple[str, bytes]]:
        pairs = [
            (key, value)
            for key, (value, _) in sorted(self.live().items())
            if (start is None or start <= key)
            and (end is None or key < end)
            and (prefix is None or key[: len(prefix)] == prefix)
        ]
        return (pairs[::-1] if reverse else pairs)[:limit]
