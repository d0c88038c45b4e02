"""The read room: a task folder as data. Loading never raises on what a task contains."""
