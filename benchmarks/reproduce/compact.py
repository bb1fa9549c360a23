"""The same picture in fewer bytes: what a renderer assumes anyway, and digits that nobody can see, are left out."""

import re

_UNSEEN = re.compile(r'<path[^>]*(?:d="M0,0h0v0h0Z"|display="none")[^>]*/>')
_ASSUMED = re.compile(
    r' (?:class|role|aria-roledescription|aria-hidden|pointer-events|xmlns:xlink)="[^"]*"'
    r'| (?:opacity|stroke-width)="1"| transform="translate\(0,0\)"| (?:x2|y2)="0"'
)
_TAG = re.compile(r"<[^>]+>")
_LONG = re.compile(r"-?\d+\.\d{2,}")
_POINT = re.compile(
    r'<path transform="translate\(([^,]+),([^)]+)\)" d="M([\d.]+),0A\3,\3,0,1,1,-\3,0A\3,\3,0,1,1,\3,0"'
)
_LONE = re.compile(r"<g>((?:(?!</?g[ >]).)*)</g>")
_EMPTY = re.compile(r"<g[^>]*></g>|<g[^>]*/>")
_LINE = re.compile(
    r'<line(?: transform="translate\(([^,]+),([^)]+)\)")?(?: x2="([^"]+)")?(?: y2="([^"]+)")? stroke="([^"]+)"/>'
)
_LINES = re.compile(f"(?:{_LINE.pattern})+")
_FONT = ' font-family="sans-serif" font-size="10px"'


def compact(svg: str) -> str:
    """Leave out of a picture what nobody sees, and round places to a tenth of a pixel."""
    svg = _ASSUMED.sub("", _UNSEEN.sub("", svg))
    svg = _TAG.sub(lambda tag: _LONG.sub(_tenth, tag[0]), svg)
    svg = _POINT.sub(r'<circle cx="\1" cy="\2" r="\3"', svg)
    svg = _LINES.sub(_path, svg).replace(_FONT, "").replace("<svg", f"<svg{_FONT}", 1)
    before = ""
    while svg != before:
        before, svg = svg, _EMPTY.sub("", _LONE.sub(r"\1", svg))
    return svg


def _tenth(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _path(lines: re.Match[str]) -> str:
    """Lines that stand behind each other as one path for each colour."""
    colours: dict[str, list[str]] = {}
    for x, y, right, down, colour in _LINE.findall(lines[0]):
        step = f"h{right}" if right and not down else f"v{down}" if down and not right else f"l{right or 0},{down or 0}"
        colours.setdefault(colour, []).append(f"M{x or 0},{y or 0}{step}")
    return "".join(f'<path stroke="{colour}" d="{"".join(steps)}"/>' for colour, steps in colours.items())
