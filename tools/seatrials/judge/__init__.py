"""What runs the rules: one task, many tasks, and what is made of their findings."""
