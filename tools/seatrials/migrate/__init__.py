"""The turn room: other formats into BenchFlow-native packages, and packages into Harbor tasks."""
