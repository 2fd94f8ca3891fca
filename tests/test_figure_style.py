from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ifthen import figure_style
from ifthen.errors import OutputError
from ifthen.figure_style import line_at, look, write_figure


def drawing() -> Figure:
    figure = Figure(figsize=(3, 2), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1])
    axes.set_title("η ± σ")
    return figure


def test_looks_do_not_repeat_and_neighbours_differ_in_everything() -> None:
    assert len({look(position) for position in range(252)}) == 252
    for position in range(100):
        one, other = look(position), look(position + 1)
        assert one.colour != other.colour
        assert one.line != other.line
        assert one.marker != other.marker


def test_a_figure_is_written_as_png_and_pdf_in_its_own_size(tmp_path: Path) -> None:
    png, pdf = write_figure(tmp_path / "deep" / "FrozenLake-8-0.3", drawing())
    assert [png.name, pdf.name] == ["FrozenLake-8-0.3.png", "FrozenLake-8-0.3.pdf"]
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    size = [int.from_bytes(data[start : start + 4]) for start in (16, 20)]
    assert size == [3 * figure_style.DPI, 2 * figure_style.DPI]
    box = re.search(rb"/MediaBox \[ 0 0 (\d+) (\d+) \]", pdf.read_bytes())
    assert pdf.read_bytes().startswith(b"%PDF-")
    assert box is not None
    assert [int(box[1]), int(box[2])] == [3 * 72, 2 * 72]
    assert sorted(path.name for path in png.parent.iterdir()) == [pdf.name, png.name]


def test_pdf_files_tell_no_time_and_have_no_fonts_of_type_3(tmp_path: Path) -> None:
    _, pdf = write_figure(tmp_path / "one", drawing())
    assert b"CreationDate" not in pdf.read_bytes()
    assert b"/Type3" not in pdf.read_bytes()
    assert b"/CIDFontType2" in pdf.read_bytes() or b"/TrueType" in pdf.read_bytes()


def test_the_same_figure_gives_the_same_bytes_at_another_time(tmp_path: Path) -> None:
    one = [path.read_bytes() for path in write_figure(tmp_path / "one", drawing())]
    time.sleep(1.1)  # clocks of PDF files tick in seconds
    other = [path.read_bytes() for path in write_figure(tmp_path / "other", drawing())]
    assert one == other


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OutputError, match="cannot write"):
        write_figure(tmp_path / "file" / "figure", drawing())
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_line_beyond_the_axes_leaves_the_layout_as_it_is() -> None:
    figure = drawing()
    (axes,) = figure.axes
    axes.set_ylim(0, 1)
    figure.draw_without_rendering()
    before = axes.get_position().bounds
    line_at(axes, -100.0, "defaults")
    figure.draw_without_rendering()  # a collapsed layout warns, which fails the test
    assert axes.get_position().bounds == pytest.approx(before)
