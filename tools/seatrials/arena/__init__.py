"""The arena: its own command-line client, fetched, trusted by hash, and driven."""
