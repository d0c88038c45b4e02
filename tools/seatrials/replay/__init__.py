"""Replay: run a task's own controls, the oracle and the no-op, in containers on this machine.

What it says is a local replay, never the arena's gate.
"""
