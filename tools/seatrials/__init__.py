"""Seatrials: an authoring kit for collections of agentic RL tasks."""

__version__ = "0.1.0"
