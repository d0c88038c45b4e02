"""Facts drawn from the sources of a task: Dockerfile, ignore file, shell. No policy, nothing executed."""
