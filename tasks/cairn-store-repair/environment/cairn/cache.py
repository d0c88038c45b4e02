"""The values read last."""

from collections import OrderedDict


class Cache:
    """At most `capacity` values by key; the one unused for longest goes first."""

    def __init__(self, capacity):
        self.capacity = capacity
        self._values = OrderedDict()

    def get(self, key):
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key, value):
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self.capacity:
            self._values.popitem(last=False)

    def drop(self, key):
        self._values.pop(key, None)
