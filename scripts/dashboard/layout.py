"""How panels look and where they stand. Must not be in here: a query."""

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
GREEN, YELLOW, RED, BLUE, GREY = "green", "yellow", "red", "blue", "text"
WIDTH = 24
LETTERS = "ABCDEFGHIJKLMN"


def thresholds(*steps):
    """`colour, (value, colour), ...`: the first is the colour below the first value."""
    base, others = steps[0], steps[1:]
    return {
        "mode": "absolute",
        "steps": [{"color": base, "value": None}] + [{"color": c, "value": v} for v, c in others],
    }


def target(expr, legend="", instant=False, table=False):
    made = {"datasource": DATASOURCE, "editorMode": "code", "expr": expr, "legendFormat": legend or "__auto"}
    made["instant"], made["range"] = instant, not instant
    if table:
        made["format"] = "table"
    return made


class Board:
    """Places panels from left to right and from top to bottom."""

    def __init__(self):
        self.panels, self.x, self.y, self.height = [], 0, 0, 0

    def row(self, title):
        self.y, self.x, self.height = self.y + self.height, 0, 0
        self.place({"type": "row", "title": title, "collapsed": False, "panels": []}, WIDTH, 1)

    def place(self, panel, width, height):
        if self.x + width > WIDTH:
            self.y, self.x, self.height = self.y + self.height, 0, 0
        panel["id"] = len(self.panels) + 1
        panel["gridPos"] = {"x": self.x, "y": self.y, "w": width, "h": height}
        self.panels.append(panel)
        self.x, self.height = self.x + width, max(self.height, height)

    def add(self, kind, title, description, targets, unit, width, height, defaults=None, **more):
        for letter, each in zip(LETTERS, targets):
            each["refId"] = letter
        field = {"unit": unit, "thresholds": thresholds(GREEN), **(defaults or {})}
        self.place(
            {
                "type": kind,
                "title": title,
                "description": description,
                "datasource": DATASOURCE,
                "targets": targets,
                "fieldConfig": {"defaults": field, "overrides": more.pop("overrides", [])},
                **more,
            },
            width,
            height,
        )

    def stat(self, title, description, expr, unit="short", steps=thresholds(GREEN), width=3, **defaults):
        self.add(
            "stat",
            title,
            description,
            [target(expr, instant=True)],
            unit,
            width,
            4,
            {"thresholds": steps, "color": {"mode": "thresholds"}, "noValue": "no data", **defaults},
            options={
                "colorMode": "background" if len(steps["steps"]) > 1 else "value",
                "graphMode": "none",
                "justifyMode": "auto",
                "orientation": "auto",
                "textMode": "auto",
                "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            },
        )

    def lines(self, title, description, targets, unit, width=8, stacked=False, steps=None, **defaults):
        custom = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 40 if stacked else 5,
            "showPoints": "never",
            "spanNulls": False,
            "axisSoftMin": 0,
            "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "line" if steps else "off"},
        }
        self.add(
            "timeseries",
            title,
            description,
            targets,
            unit,
            width,
            8,
            {
                "color": {"mode": "palette-classic"},
                "custom": custom,
                "thresholds": steps or thresholds(GREEN),
                **defaults,
            },
            options={
                "legend": {
                    "displayMode": "table",
                    "placement": "bottom",
                    "showLegend": True,
                    "calcs": ["lastNotNull", "max"],
                },
                "tooltip": {"mode": "multi", "sort": "desc"},
            },
        )

    def states(self, title, description, expr, legend, mappings, width):
        self.add(
            "state-timeline",
            title,
            description,
            [target(expr, legend)],
            "none",
            width,
            8,
            {
                "mappings": mappings,
                "color": {"mode": "thresholds"},
                "custom": {"fillOpacity": 80, "lineWidth": 0},
            },
            options={
                "mergeValues": True,
                "showValue": "auto",
                "rowHeight": 0.9,
                "alignValue": "left",
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                "tooltip": {"mode": "single", "sort": "none"},
            },
        )

    def table(self, title, description, columns, overrides, height, sort):
        """`columns`: (name, expr); the last value of each, joined by the labels that they share.
        One without a name is there for its labels."""
        values = {f"Value #{letter}": name for letter, (name, _) in zip(LETTERS, columns)}
        names = {value: name for value, name in values.items() if name} | {"instance": "process"}
        unnamed = [value for value, name in values.items() if not name]
        if len(columns) == 1:
            names = {"Value": columns[0][0]}
        self.add(
            "table",
            title,
            description,
            [target(expr, instant=True, table=True) for _, expr in columns],
            "short",
            WIDTH,
            height,
            {
                "custom": {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True},
                "noValue": "-",
            },
            overrides=[
                {
                    "matcher": {"id": "byName", "options": name},
                    "properties": [{"id": key, "value": value} for key, value in what.items()],
                }
                for name, what in overrides.items()
            ],
            transformations=[
                {"id": "merge", "options": {}},
                {
                    "id": "organize",
                    "options": {
                        "excludeByName": {name: True for name in ["Time", *unnamed]},
                        "indexByName": {},
                        "renameByName": names,
                    },
                },
            ],
            options={
                "showHeader": True,
                "cellHeight": "sm",
                "footer": {"show": False},
                "sortBy": [{"displayName": sort, "desc": True}],
            },
        )
