"""Pictures for the card: the tasks by difficulty and by category; the one user of matplotlib.

The Hub's cards show PNG, not SVG. A picture brings its own light background,
so that it reads the same on a light and on a dark page. Its file is named
after what it shows: one that is there already need not be drawn or sent
again, whatever version of the library drew it.
"""

import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrials.release.rows import TaskRow

_STYLE: Final = "1"
"""Part of the names; another one draws all anew."""

_TIERS: Final = ("easy", "medium", "hard")
_NONE: Final = "not declared"
_BARS: Final = 12
_LETTERS: Final = 30
_WIDTH: Final = 7.0
_DPI: Final = 160
_PAGE: Final = "#f6f8fa"
_INK: Final = "#1f2328"
_BAR: Final = "#0f6a8c"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """Bars, one a value, with the number of its tasks."""

    name: str
    title: str
    bars: tuple[tuple[str, int], ...]

    @property
    def file(self) -> str:
        """The picture's name: `name` and a digest of what it shows."""
        told = repr((_STYLE, self.title, self.bars)).encode()
        return f"{self.name}-{hashlib.sha256(told).hexdigest()[:12]}.png"

    @property
    def alt(self) -> str:
        """All that the picture shows, in words."""
        return f"{self.title}: " + ", ".join(f"{value} {number}" for value, number in self.bars)

    def draw(self) -> bytes:
        """Return the picture as PNG."""
        return _draw(self)


def charts(rows: Sequence[TaskRow]) -> tuple[Chart, ...]:
    """Return the charts that have something to show, in the order of the card."""
    tiers = Counter(row.difficulty_tier or _NONE for row in rows)
    categories = Counter(row.category or _NONE for row in rows)
    order = [*_TIERS, *sorted(set(tiers) - {*_TIERS, _NONE}), _NONE]
    found = (
        Chart(
            name="difficulty",
            title="Tasks by difficulty",
            bars=tuple((tier, tiers[tier]) for tier in order if tiers[tier]),
        ),
        Chart(name="category", title="Tasks by category", bars=_largest(categories)),
    )
    return tuple(chart for chart in found if any(value != _NONE for value, _ in chart.bars))


def write_charts(found: Iterable[Chart], folder: Path) -> None:
    """Draw the charts into a folder."""
    for chart in found:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / chart.file).write_bytes(chart.draw())


def _largest(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    """Return the largest first, those that are not declared last, and what is over as one."""
    ordered = sorted(counts.items(), key=lambda item: (item[0] == _NONE, -item[1], item[0]))
    if len(ordered) <= _BARS:
        return tuple(ordered)
    rest = ordered[_BARS - 1 :]
    return (*ordered[: _BARS - 1], (f"{len(rest)} others", sum(number for _, number in rest)))


def _label(value: str) -> str:
    flat = " ".join(value.split())
    return flat if len(flat) <= _LETTERS else flat[: _LETTERS - 1] + "…"


def _draw(chart: Chart) -> bytes:
    import logging
    import warnings

    # Where its caches are and how long they take to make is of no interest to who releases tasks.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

    fonts = Path(mpl.get_data_path()) / "fonts" / "ttf"
    font = FontProperties(fname=fonts / "DejaVuSans.ttf", size=11)
    bold = FontProperties(fname=fonts / "DejaVuSans-Bold.ttf", size=12)
    height = 0.75 + 0.34 * len(chart.bars)
    most = max(number for _, number in chart.bars)
    # A person's own settings and the size of a screen are none of the picture's.
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box
        mpl.rcdefaults()
        figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, facecolor=_PAGE)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(0.0, _WIDTH)
        axes.set_ylim(height, 0.0)
        axes.axis("off")
        written = [axes.text(0.3, 0.35, chart.title, fontproperties=bold, color=_INK, va="center")]
        for place, (value, number) in enumerate(chart.bars):
            line = 0.82 + 0.34 * place
            length = 3.3 * number / most
            axes.barh(line, length, height=0.22, left=2.9, color=_BAR)
            written += [
                axes.text(
                    2.75, line, _label(value), fontproperties=font, color=_INK, ha="right", va="center"
                ),
                axes.text(3.0 + length, line, f"{number:,}", fontproperties=font, color=_INK, va="center"),
            ]
        for text in written:
            text.set_parse_math(False)  # a dollar sign is one
        data = io.BytesIO()
        FigureCanvasAgg(figure).print_figure(data, format="png", facecolor=_PAGE, metadata={"Software": None})
    return data.getvalue()
