#!/usr/bin/env python3
"""Holds the Grafana dashboard, and with a Prometheus the alerts too, to what a person will meet.

    scripts/check-dashboard.py                          the dashboard as a file: schema, units, variables
    scripts/check-dashboard.py --prometheus URL         also every query of panels, variables and alerts

With a Prometheus that scrapes a run, every panel must show something, and no query may fail. Only the
standard library is used. Must not be in here: what the dashboard shows.
"""

import argparse
import itertools
import json
import math
import pathlib
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

PROJECT = pathlib.Path(__file__).resolve().parents[1]
DASHBOARD = PROJECT / "config/grafana/dashboards/oncegate.json"

# Panels that are empty while nothing is wrong, and why no series can stand there with 0.
MAY_BE_EMPTY = {"Left to restore by partition": "the series are there only while a takeover reads a journal"}
# Metrics of alerts that may be absent for the same reason.
MAY_BE_ABSENT = {"oncegate_restore_journal_next_offset"}
# Counters that are shown as they stand: counted since the beginning, or as a mean since the start.
SHOWN_AS_THEY_STAND = {
    "oncegate_journal_events_total",
    "oncegate_journal_records_total",
    "oncegate_restore_duration_seconds_sum",
    "oncegate_restore_duration_seconds_count",
}

SCHEMA_VERSION_MIN = 38  # Grafana 10
PANEL_TYPES = {
    "row", "stat", "timeseries", "state-timeline", "status-history", "table", "gauge", "bargauge",
    "barchart", "heatmap", "histogram", "piechart", "text",
}  # fmt: skip
DEPRECATED_TYPES = {"graph", "singlestat", "table-old", "grafana-piechart-panel", "grafana-worldmap-panel"}
# Of packages/grafana-data/src/valueFormats/categories.ts, what a gate may need.
UNITS = {
    "none", "string", "short", "percent", "percentunit", "sci", "locale", "bool", "bool_yes_no",
    "bits", "bytes", "kbytes", "mbytes", "gbytes", "decbytes", "deckbytes", "decmbytes", "decgbytes",
    "bps", "Bps", "binBps", "KBs", "MBs",
    "dateTimeAsIso", "dateTimeAsIsoNoDateIfToday", "dateTimeAsLocal", "dateTimeFromNow",
    "hertz", "ns", "µs", "ms", "s", "m", "h", "d", "dtdurationms", "dtdurations", "dthms", "dtdhms",
    "cps", "ops", "reqps", "rps", "wps", "iops", "eps", "mps", "recps", "cpm", "opm", "epm", "recpm",
}  # fmt: skip
BUILT_IN = {"__rate_interval", "__interval", "__range", "__from", "__to"}
VARIABLE = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")
LABEL_VALUES = re.compile(r"label_values\((?:(.+),\s*)?(\w+)\)")
METRIC = re.compile(r"\b(?:oncegate|process)_\w+|\bup\b")


def variables_in(text):
    return {braced or bare for braced, bare in VARIABLE.findall(text)}


def panels_of(dashboard):
    """All panels, those in collapsed rows too."""
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


class Lint:
    """The dashboard as a file."""

    def __init__(self, dashboard):
        self.dashboard, self.faults = dashboard, []

    def run(self):
        self.whole()
        variables = self.variables()
        panels = list(panels_of(self.dashboard))
        self.unique("panel id", [panel.get("id") for panel in panels])
        self.unique("title", [panel.get("title") for panel in panels])
        self.overlaps(panels)
        used = set()
        for panel in panels:
            used |= self.panel(panel, variables)
        for name in variables - used - {"datasource"}:
            self.faults.append(f"variable {name} is used by no panel")
        return self.faults

    def whole(self):
        for key in ("uid", "title", "description", "panels", "templating", "time", "refresh", "annotations"):
            if key not in self.dashboard:
                self.faults.append(f"the dashboard has no {key}")
        if self.dashboard.get("schemaVersion", 0) < SCHEMA_VERSION_MIN:
            self.faults.append(f"schemaVersion is below {SCHEMA_VERSION_MIN}")
        if "id" in self.dashboard and self.dashboard["id"] is not None:
            self.faults.append("an id of one Grafana stands in the dashboard")

    def unique(self, what, values):
        for value, group in itertools.groupby(sorted(values, key=str)):
            if value in (None, ""):
                self.faults.append(f"a panel has no {what}")
            elif len(list(group)) > 1:
                self.faults.append(f"{what} {value} stands there twice")

    def variables(self):
        names = set()
        for each in self.dashboard["templating"]["list"]:
            name, kind = each.get("name"), each.get("type")
            what = f"variable {name}"
            if kind == "query":
                self.datasource(what, each)
                query = each["query"]["query"] if isinstance(each.get("query"), dict) else each.get("query", "")
                if not LABEL_VALUES.fullmatch(query):
                    self.faults.append(f"{what}: {query} is no label_values query")
                # Grafana resolves variables in this order.
                for unknown in variables_in(query) - names:
                    self.faults.append(f"{what} needs {unknown}, which does not stand before it")
                if each.get("includeAll") and not each.get("allValue"):
                    self.faults.append(f"{what} has no allValue: All of many values makes a long query")
                if each.get("refresh") not in (1, 2):
                    self.faults.append(f"{what} is never refreshed")
            elif kind != "datasource":
                self.faults.append(f"{what} is of type {kind}")
            names.add(name)
        if "datasource" not in names:
            self.faults.append("there is no variable datasource")
        return names

    def datasource(self, what, of):
        if of.get("datasource") != {"type": "prometheus", "uid": "${datasource}"}:
            self.faults.append(f"{what}: its datasource is not ${{datasource}}")

    def overlaps(self, panels):
        places = []
        for panel in panels:
            at = panel.get("gridPos", {})
            if not all(isinstance(at.get(key), int) for key in "xywh"):
                self.faults.append(f"{panel.get('title')}: its gridPos is not whole")
                continue
            if at["x"] < 0 or at["y"] < 0 or at["w"] < 1 or at["h"] < 1 or at["x"] + at["w"] > 24:
                self.faults.append(f"{panel['title']}: its gridPos lies outside of the 24 columns")
            places.append((panel.get("title"), at))
        for (one, a), (other, b) in itertools.combinations(places, 2):
            beside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
            above = a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
            if not (beside or above):
                self.faults.append(f"{one} and {other} overlap")

    def panel(self, panel, variables):
        title, kind = panel.get("title"), panel.get("type")
        if kind in DEPRECATED_TYPES:
            self.faults.append(f"{title}: panels of type {kind} are deprecated")
        elif kind not in PANEL_TYPES:
            self.faults.append(f"{title}: {kind} is no panel type that is known here")
        if kind in ("row", "text"):
            return set()
        self.datasource(title, panel)
        if not panel.get("description"):
            self.faults.append(f"{title} has no description")
        self.field(title, panel.get("fieldConfig", {}))
        targets = panel.get("targets") or []
        if not targets:
            self.faults.append(f"{title} has no query")
        self.unique(f"{title}: refId", [each.get("refId") for each in targets])
        used = set()
        for each in targets:
            self.datasource(title, each)
            expr = each.get("expr", "")
            if not expr:
                self.faults.append(f"{title} {each.get('refId')} has no expr")
            if bool(each.get("instant")) == bool(each.get("range")):
                self.faults.append(f"{title} {each.get('refId')} is not either instant or range")
            for unknown in variables_in(expr) - variables - BUILT_IN:
                self.faults.append(f"{title}: ${unknown} is no variable")
            used |= variables_in(expr)
            self.counters(title, expr)
        self.columns(title, panel)
        return used

    def field(self, title, config):
        defaults = config.get("defaults", {})
        units = [defaults.get("unit")]
        for override in config.get("overrides", []):
            units += [each["value"] for each in override["properties"] if each["id"] == "unit"]
        for unit in units:
            if unit not in UNITS:
                self.faults.append(f"{title}: {unit} is no unit that is known here")
        steps = [step["value"] for step in defaults.get("thresholds", {}).get("steps", [])]
        if not steps or steps[0] is not None or steps[1:] != sorted(steps[1:]):
            self.faults.append(f"{title}: its thresholds do not rise from a base")

    def counters(self, title, expr):
        for found in re.finditer(r"\boncegate_\w+(?:_total|_bucket|_sum|_count)\b", expr):
            rated = re.search(r"\b(?:rate|increase)\($", expr[: found.start()])
            if not rated and found[0] not in SHOWN_AS_THEY_STAND:
                self.faults.append(f"{title}: {found[0]} is a counter and stands there without rate")

    def columns(self, title, panel):
        """Overrides by name must name a column that there is."""
        names = set()
        for each in panel.get("transformations", []):
            names |= set(each.get("options", {}).get("renameByName", {}).values())
        for override in panel.get("fieldConfig", {}).get("overrides", []):
            if override["matcher"]["id"] == "byName" and override["matcher"]["options"] not in names:
                self.faults.append(f"{title}: no column {override['matcher']['options']} to override")


class Prometheus:
    """What a Prometheus answers."""

    def __init__(self, url):
        self.url = url.rstrip("/")

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters, doseq=True)
        try:
            with urllib.request.urlopen(f"{self.url}{path}?{query}", timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise Refused(json.load(error).get("error", str(error))) from error

    def values(self, query):
        selector, label = LABEL_VALUES.fullmatch(query).groups()
        parameters = {"match[]": selector} if selector else {}
        return self.get(f"/api/v1/label/{label}/values", **parameters)

    def series(self, expr, instant, minutes):
        now = time.time()
        if instant:
            found = self.get("/api/v1/query", query=expr, time=now)["result"]
            return [(each["metric"], [each["value"]]) for each in found]
        found = self.get("/api/v1/query_range", query=expr, start=now - minutes * 60, end=now, step=5)["result"]
        return [(each["metric"], each["values"]) for each in found]


class Refused(Exception):
    """A query that Prometheus does not take."""


class Run:
    """The dashboard against a Prometheus."""

    def __init__(self, prometheus, dashboard, interval, minutes):
        self.prometheus, self.dashboard, self.minutes = prometheus, dashboard, minutes
        self.faults, self.asked = [], 0
        # As Grafana does: four scrapes, so that one that is missed makes no gap.
        self.filled = {
            "__rate_interval": f"{4 * interval}s",
            "__interval": f"{interval}s",
            "__range": f"{minutes}m",
        }

    def fill(self, text, more=None):
        values = self.filled | (more or {})
        return VARIABLE.sub(lambda found: str(values.get(found[1] or found[2], found[0])), text)

    def run(self):
        choices = self.variables()
        annotations = [each for each in self.dashboard["annotations"]["list"] if "expr" in each]
        for each in annotations:
            self.shows(f"annotation {each['name']}", each["expr"], True)
        panels = [panel for panel in panels_of(self.dashboard) if panel.get("targets")]
        for panel in panels:
            for target in panel["targets"]:
                self.shows(panel["title"], target["expr"], target["instant"], target.get("legendFormat", ""))
        # One of each chosen by hand: the queries must hold, there may be nothing to show.
        for name, values in choices.items():
            for panel, target in ((panel, target) for panel in panels for target in panel["targets"]):
                self.asks(panel["title"], self.fill(target["expr"], {name: values[0]}), target["instant"])
        self.alerts()
        return self.faults

    def variables(self):
        choices = {}
        for each in self.dashboard["templating"]["list"]:
            if each["type"] != "query":
                continue
            query = self.fill(each["query"]["query"])
            try:
                values = self.prometheus.values(query)
            except Refused as error:
                self.faults.append(f"variable {each['name']}: {error}: {query}")
                continue
            if not values:
                self.faults.append(f"variable {each['name']} has no values: {query}")
                continue
            choices[each["name"]] = values
            self.filled[each["name"]] = each["allValue"] if each.get("includeAll") else values[0]
        return choices

    def asks(self, title, expr, instant):
        self.asked += 1
        try:
            return self.prometheus.series(expr, instant, self.minutes)
        except Refused as error:
            self.faults.append(f"{title}: {error}: {expr}")
            return None

    def shows(self, title, expr, instant, legend=""):
        expr = self.fill(expr)
        series = self.asks(title, expr, instant)
        if series is None:
            return
        full = [labels for labels, points in series if any(not math.isnan(float(value)) for _, value in points)]
        if not full and title not in MAY_BE_EMPTY:
            empty = "has no value but NaN" if series else "is empty"
            self.faults.append(f"{title} {empty}: {expr}")
        for label in re.findall(r"\{\{(\w+)\}\}", legend):
            if any(label not in labels for labels in full):
                self.faults.append(f"{title}: its legend names {label}, which the result lacks: {expr}")

    def alerts(self):
        there = set(self.prometheus.get("/api/v1/label/__name__/values"))
        rules = [rule for group in self.prometheus.get("/api/v1/rules")["groups"] for rule in group["rules"]]
        if not rules:
            self.faults.append("Prometheus has no rules: it should read config/prometheus/alerts.yml")
        for rule in rules:
            self.asked += 1
            if rule["health"] != "ok":
                self.faults.append(
                    f"alert {rule['name']} is {rule['health']}: {rule.get('lastError', 'not evaluated yet')}"
                )
            for metric in set(METRIC.findall(rule["query"])) - there - MAY_BE_ABSENT:
                self.faults.append(f"alert {rule['name']} asks for {metric}, which nobody reports")
            if rule.get("state") == "firing":
                self.faults.append(f"alert {rule['name']} fires on a run that is well")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dashboard", type=pathlib.Path, default=DASHBOARD)
    parser.add_argument("--prometheus", metavar="URL", help="resolve every query against it")
    parser.add_argument("--interval", type=int, default=15, help="its scrape interval in seconds")
    parser.add_argument("--minutes", type=int, default=30, help="how far back panels look")
    parser.add_argument("--wait", type=int, default=0, help="try again for so many seconds, while it fills")
    arguments = parser.parse_args()
    dashboard = json.loads(arguments.dashboard.read_text(encoding="utf-8"))
    faults, until, asked = Lint(dashboard).run(), time.monotonic() + arguments.wait, 0
    while arguments.prometheus and not faults:
        run = Run(Prometheus(arguments.prometheus), dashboard, arguments.interval, arguments.minutes)
        found, asked = run.run(), run.asked
        if not found:
            break
        if time.monotonic() > until:
            faults = found
        else:
            time.sleep(1)
    for fault in faults:
        print(f"check-dashboard: {fault}", file=sys.stderr)
    if faults:
        sys.exit(1)
    panels = sum(1 for panel in panels_of(dashboard) if panel["type"] != "row")
    print(f"check-dashboard: {panels} panels are sound" + (f", {asked} queries answered" if asked else ""))


if __name__ == "__main__":
    main()
