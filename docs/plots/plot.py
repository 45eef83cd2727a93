#!/usr/bin/env python3
"""plot.py - draws docs/plots/*.svg from the simulator's figures; make.sh calls it.

usage: plot.py FIGURES TRACES OUT     (folders)
Prints the figures of each plot. Nothing but the standard library is needed.
"""
import csv
import math
import sys
from pathlib import Path
from statistics import median

WIDTH = 760
MARGIN = 24

# Readable on light and on dark pages: the picture brings its own ground.
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #24292f }
.ground { fill: #ffffff }
.title { font-size: 16px; font-weight: 600 }
.soft { fill: #57606a; font-size: 12px }
.grid { stroke: #d8dee4; stroke-width: 1 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.dashed { stroke-dasharray: 6 4 } .thin { stroke-width: 1.3 }
.best { fill: #0a62c4; stroke: #0a62c4 } .peers { fill: #0a8560; stroke: #0a8560 }
.least { fill: #b85a00; stroke: #b85a00 } .turns { fill: #6b7280; stroke: #6b7280 }
.sort { fill: #c0263a; stroke: #c0263a } .other { fill: #8250df; stroke: #8250df }
text.best, text.peers, text.least, text.turns, text.sort, text.other { stroke: none; font-weight: 600 }
path.line { fill: none }
.pale { fill-opacity: .35; stroke: none } .bar { stroke: none }
.whisker { stroke: #24292f; stroke-width: 1.2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .ground { fill: #0d1117 } .soft { fill: #9da7b3 } .grid { stroke: #30363d }
.best { fill: #58a6ff; stroke: #58a6ff } .peers { fill: #3fcf9f; stroke: #3fcf9f }
.least { fill: #f0a04b; stroke: #f0a04b } .turns { fill: #9da7b3; stroke: #9da7b3 }
.sort { fill: #ff7b86; stroke: #ff7b86 } .other { fill: #c297ff; stroke: #c297ff }
.whisker { stroke: #e6edf3 }
}
"""

# Label in the figures: (name in the plots, class).
ROUTERS = {
    "headroom+peers": ("headroom, telling", "peers"),
    "headroom": ("headroom", "best"),
    "headroom_lite": ("headroom_lite", "best"),
    "hot_cold": ("hot_cold", "other"),
    "weighted_least_connections": ("weighted_least_connections", "least"),
    "least_connections": ("least_connections", "least"),
    "least_connections+peers": ("least_connections, telling", "other"),
    "two_choices": ("two_choices", "least"),
    "heap_weighted": ("heap_weighted", "other"),
    "mod_cluster": ("mod_cluster", "other"),
    "random": ("random", "turns"),
    "round_robin": ("round_robin", "turns"),
    "weighted_random": ("weighted_random", "turns"),
    "weighted_round_robin": ("weighted_round_robin", "turns"),
    "heap_free": ("heap_free (sorts)", "sort"),
    "sort": ("shortest of all (sort)", "sort"),
    "best2": ("better of two", "least"),
    "li": ("load interpreted by its age", "best"),
}


# What follows a name where the core puts no server aside: runs with health=off.
BARE = "@bare"


def name_of(router):
    name = ROUTERS.get(router.removesuffix(BARE), (router, "other"))[0]
    return f"{name}, none aside" if router.endswith(BARE) else name


def class_of(router):
    return ROUTERS.get(router.removesuffix(BARE), (router, "other"))[1]


def look_of(router):
    """Paler without health rules."""
    return class_of(router) + (" pale" if router.endswith(BARE) else "")


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(value):
    """A figure for a label: two or three digits, with thin spaces between thousands."""
    if value < 10:
        return f"{value:.1f}".rstrip("0").rstrip(".")
    digits = max(0, len(str(int(value))) - 3)
    return f"{round(value / 10 ** digits) * 10 ** digits:,}".replace(",", "\u2009")


def span(values):
    """The powers of ten around all values."""
    return 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))


class Scale:
    """From values to places, logarithmic or not."""

    def __init__(self, low, high, start, end, is_log):
        self.low, self.high, self.start, self.end, self.is_log = low, high, start, end, is_log

    def at(self, value):
        low, high = self.low, self.high
        if self.is_log:
            value, low, high = math.log10(max(value, low)), math.log10(low), math.log10(high)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def decades(self):
        low, high = (math.floor(math.log10(v) + 1e-9) for v in (self.low, self.high))
        return [10.0 ** k for k in range(low, high + 1)]


class Picture:
    """An SVG file in the making."""

    def __init__(self, title, subtitle, caption, height):
        self.height, self.parts = height, []
        self.rect(0, 0, WIDTH, height, "ground", 8)
        self.text(MARGIN, 32, title, "title")
        self.text(MARGIN, 52, subtitle, "soft")
        for k, line in enumerate(reversed(caption)):
            self.text(MARGIN, height - 16 - 16 * k, line, "soft")

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, text, look="", anchor="start"):
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" class="{look}" text-anchor="{anchor}">'
                 f'{escape(text)}</text>')

    def line(self, x1, y1, x2, y2, look):
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{look}"/>')

    def rect(self, x, y, width, height, look, radius=2):
        self.add(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
                 f'rx="{radius}" class="{look}"/>')

    def dot(self, x, y, look):
        self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{look}"/>')

    def path(self, points, look):
        steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.add(f'<path d="M{steps.replace(" ", "L")}" class="line {look}"/>')

    def save(self, path):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                f'width="{WIDTH}" height="{self.height}" role="img">')
        body = "\n".join(self.parts)
        path.write_text(f"{head}\n<style>{STYLE}</style>\n{body}\n</svg>\n", encoding="utf-8")


# *** Kinds of plots ***

def bars(picture, rows, unit):
    """rows: (label, classes, value, least, most); on a logarithmic axis from a power of ten."""
    left, top, step = 262, 76, 24
    bottom = top + step * len(rows)
    values = [v for row in rows for v in (row[2], row[3], row[4]) if v > 0]
    x = Scale(span(values)[0], 1.1 * max(values), left, WIDTH - 90, True)
    for value in x.decades():
        picture.line(x.at(value), top - 6, x.at(value), bottom, "grid")
        picture.text(x.at(value), bottom + 18, short(value), "soft", "middle")
    picture.text(x.end, bottom + 36, unit, "soft", "end")
    for k, (label, look, value, least, most) in enumerate(rows):
        y = top + step * k
        picture.text(left - 10, y + 13, label, "", "end")
        picture.rect(left, y + 3, max(x.at(value) - left, 1), step - 9, f"bar {look}")
        if most > least:
            picture.line(x.at(least), y + 8.5, x.at(most), y + 8.5, "whisker")
        picture.text(max(x.at(most), x.at(value)) + 8, y + 13, short(value), "soft")


def spread_labels(places, gap):
    """Moves labels apart, keeping their order."""
    order = sorted(range(len(places)), key=lambda k: places[k])
    moved = list(places)
    for _ in range(200):
        for a, b in zip(order, order[1:]):
            lack = gap - (moved[b] - moved[a])
            if lack > 0:
                moved[a] -= lack / 2
                moved[b] += lack / 2
    return moved


def lines(picture, series, x_unit, y_unit, room):
    """series: {router: [(x, y)]}, both logarithmic; names at the right, in so much room."""
    left, top, right, bottom = 92, 94, WIDTH - room, picture.height - 106
    xs = sorted({x for points in series.values() for x, _ in points})
    low, high = span([y for points in series.values() for _, y in points if y > 0])
    x = Scale(xs[0], xs[-1], left + 14, right - 6, True)
    y = Scale(low, high, bottom, top, True)
    for value in y.decades():
        picture.line(left, y.at(value), right, y.at(value), "grid")
        picture.text(left - 8, y.at(value) + 4, short(value), "soft", "end")
    for value in xs:
        picture.line(x.at(value), bottom, x.at(value), bottom + 4, "grid")
        picture.text(x.at(value), bottom + 18, short(value), "soft", "middle")
    picture.text(MARGIN, top - 16, y_unit, "soft")
    picture.text((left + right) / 2, bottom + 38, x_unit, "soft", "middle")
    ends = spread_labels([y.at(points[-1][1]) for points in series.values()], 16)
    for (router, points), end in zip(series.items(), ends):
        places = [(x.at(a), y.at(b)) for a, b in points]
        picture.path(places, class_of(router) + (" dashed" if router.endswith(BARE) else ""))
        for place in places:
            picture.dot(*place, class_of(router))
        picture.text(right + 8, end + 4, name_of(router), class_of(router))


# *** Figures ***

class Runs:
    """The lines of runs.csv by plot, router and x; over the seeds as judge.awk does it."""

    def __init__(self, path):
        self.rows = {}
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = (row["plot"], row["router"], row["x"])
                self.rows.setdefault(key, []).append(row)

    def of(self, plot):
        return [key[1:] for key in self.rows if key[0] == plot]

    def lost(self, *key):
        """Lost calls per million: of all seeds, least and most of a seed."""
        rows = self.rows[key]
        each = [1e6 * int(r["failed"]) / int(r["calls"]) for r in rows]
        calls = sum(int(r["calls"]) for r in rows)
        return 1e6 * sum(int(r["failed"]) for r in rows) / calls, min(each), max(each)

    def figure(self, column, *key):
        each = [float(r[column]) for r in self.rows[key]]
        return median(each), min(each), max(each)


def floor_of(value, floor):
    """Nothing lost has no place on a logarithmic axis: drawn at its foot."""
    return max(value, floor)


REFERENCE = "Scenario B1: eight servers, tight memory, one soon slow; four hosts, polls every 5 s."
TELLING = " Telling: hosts tell each other."
RUNS = "900 s of virtual time, seeds 11 to 14, the first tenth not counted."


def bar_rows(runs, plot, measure, floor):
    rows = []
    for router, x in runs.of(plot):
        value, least, most = (floor_of(v, floor) for v in measure(plot, router, x))
        rows.append((name_of(router), look_of(router), value, least, most))
    return sorted(rows, key=lambda row: row[2])


def draw_order(runs):
    rows = bar_rows(runs, "order", runs.lost, 1)
    picture = Picture("Which router loses how many calls", "Calls lost per million, by router",
                      [REFERENCE + TELLING,
                       RUNS + " Thin line: the seeds. None aside: no health rules."], 182 + 24 * len(rows))
    bars(picture, rows, "lost calls per million, logarithmic")
    return picture, rows


def draw_small(runs):
    rows = bar_rows(runs, "order", lambda *key: runs.figure("small_p99_ms", *key), 1)
    picture = Picture("What small calls wait for", "99 % of the small calls are faster than this",
                      [REFERENCE + TELLING,
                       RUNS + " Median and all seeds. None aside: no health rules."],
                      182 + 24 * len(rows))
    bars(picture, rows, "milliseconds, logarithmic")
    return picture, rows


def draw_crash(runs):
    rows = []
    for router in [router for router, x in runs.of("crash") if x == "aside"]:
        for x, text, pale in (("aside", "put aside", ""), ("bare", "not put aside", " pale")):
            value, least, most = (floor_of(v, 1) for v in runs.lost("crash", router, x))
            rows.append((f"{name_of(router)}: {text}", class_of(router) + pale, value, least, most))
    picture = Picture("When running out of memory kills the server",
                      "Lost calls where a server that refuses or fails is put aside, and where not",
                      ["Scenario B8: as B1, but out of memory the whole server is away for 30 s.",
                       RUNS + " Thin line: the seeds."],
                      182 + 24 * len(rows))
    bars(picture, rows, "lost calls per million, logarithmic")
    return picture, rows


def line_series(runs, plot, measure, routers, floor):
    series = {}
    for router in routers:
        points = [(float(x), floor_of(measure(plot, r, x), floor))
                  for r, x in runs.of(plot) if r == router]
        series[router] = sorted(points)
    return series


def draw_interval(runs):
    series = line_series(runs, "interval", lambda *key: runs.lost(*key)[0],
                         ["heap_free", "round_robin", "least_connections", "headroom"], 1)
    bare = line_series(runs, "interval_bare", lambda *key: runs.lost(*key)[0], ["heap_free"], 1)
    series = {"heap_free" + BARE: bare["heap_free"], **series}
    picture = Picture("Sorting by free heap herds, however often it is polled",
                      "Lost calls, polled ten times a second to once a minute",
                      ["As scenario B1: eight servers, tight memory, one slow; four hosts. None aside: "
                       "no health rules.", RUNS], 440)
    lines(picture, series, "seconds between two polls", "lost calls per million", 236)
    return picture, series


def draw_hosts(runs):
    series = line_series(runs, "hosts", lambda *key: runs.lost(*key)[0],
                         ["least_connections", "least_connections+peers", "headroom",
                          "headroom+peers"], 1)
    picture = Picture("Many hosts that route, each by itself",
                      "The same calls, divided among more and more hosts",
                      ["As scenario B1, polls every 5 s. Telling: every 0.25 s hosts tell each other "
                       "what they have in progress.",
                       RUNS], 440)
    lines(picture, series, "hosts", "lost calls per million", 200)
    return picture, series


def draw_theory(runs):
    series = {}
    for router, x in runs.of("theory"):
        mean = sum(float(r["mean_ms"]) for r in runs.rows["theory", router, x])
        mean /= 1000 * len(runs.rows["theory", router, x])
        series.setdefault(router.split("_")[0], []).append((float(x), mean))
    series = {r: sorted(series[r]) for r in ("sort", "random", "best2", "li")}
    picture = Picture("Old information misleads who believes it",
                      "Theory: mean response where all know what was true some time ago",
                      ["Scenario B0: 64 equal servers, load 0.9; all see one board that is written anew "
                       "so often.", "5000 s of virtual time, seeds 11 and 12. Random: 10 by theory."], 440)
    lines(picture, series, "mean service times between two looks",
          "mean response, in mean service times", 224)
    return picture, series


def used_share(path, from_s, to_s):
    with open(path, encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        points = [(float(r["t_ms"]) / 1000,
                   (float(r["total"]) - float(r["free"])) / float(r["max"])) for r in rows]
    return [(t, used) for t, used in points if from_s <= t <= to_s]


def draw_jvm(figures, traces):
    picture = Picture("The model beside a real JVM",
                      "Used share of a heap of 512 MB, the same calls at the same moments",
                      ["120 s of 240; scenario real_jvm, seed 4; OpenJDK 17, two cores. The figures: "
                       "tests/sim/real_jvm.sh."], 496)
    for k, (gc, title) in enumerate((("parallel", "Parallel"), ("g1", "G1"))):
        top = 96 + 182 * k
        x, y = Scale(30, 150, 64, WIDTH - 110, False), Scale(0, 1, top + 138, top, False)
        for share in (0, 0.5, 1):
            picture.line(x.start, y.at(share), x.end, y.at(share), "grid")
            picture.text(x.start - 8, y.at(share) + 4, f"{100 * share:.0f} %", "soft", "end")
        for t in range(30, 151, 30):
            picture.text(x.at(t), top + 156, f"{t} s", "soft", "middle")
        picture.text(x.start, top - 8, title)
        for path, look, text, at in (
                (figures / f"model_{gc}.csv", "sort", "model", 32),
                (traces / f"jvm_{gc}_seed4.csv", "best", "real JVM", 12)):
            points = used_share(path, 30, 150)
            picture.path([(x.at(t), y.at(used)) for t, used in points], look + " thin")
            picture.text(x.end + 10, top + at, text, look)
    return picture, {}


def tell(name, figures):
    rows = figures.items() if isinstance(figures, dict) else ((r[0], r[2:5]) for r in figures)
    for router, values in rows:
        print(name, router, *(f"{x:g}:{y:.4g}" for x, y in values) if isinstance(figures, dict)
              else (f"{v:.4g}" for v in values))


def main():
    figures, traces, out = (Path(folder) for folder in sys.argv[1:4])
    runs = Runs(figures / "runs.csv")
    for name, (picture, told) in (
            ("order", draw_order(runs)), ("interval", draw_interval(runs)),
            ("hosts", draw_hosts(runs)), ("small_p99", draw_small(runs)),
            ("theory", draw_theory(runs)), ("crash", draw_crash(runs)),
            ("real_jvm", draw_jvm(figures, traces))):
        picture.save(out / f"{name}.svg")
        tell(name, told)


if __name__ == "__main__":
    main()
