"""The few walks that span rooms."""
