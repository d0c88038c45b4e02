"""Several writes that become visible together, or not at all."""

from .keys import check_key, check_ttl, check_value


class Batch:
    """Collects puts and deletes for `Store.write`. Time to live counts from the write, not from here."""

    def __init__(self):
        self.operations = []

    def put(self, key, value, ttl_ms=None):
        check_key(key)
        check_value(value)
        check_ttl(ttl_ms)
        self.operations.append(("put", key, bytes(value), ttl_ms))
        return self

    def delete(self, key):
        check_key(key)
        self.operations.append(("delete", key, b"", None))
        return self

    def __len__(self):
        return len(self.operations)
