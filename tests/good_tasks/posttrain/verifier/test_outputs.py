from pathlib import Path


def test_sum():
    assert Path("/root/sum.txt").read_text().strip() == "42"
