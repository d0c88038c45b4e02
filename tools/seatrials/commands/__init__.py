"""One module for each command: `HELP`, `configure` its parser, `run` it. Imported when called."""
