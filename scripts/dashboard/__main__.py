"""Writes config/grafana/dashboards/oncegate.json: the dashboard as a list of panels.

    python3 scripts/dashboard           writes the file
    python3 scripts/dashboard --check   says whether the file is what this writes

Must not be in here: a panel.
"""

import json
import pathlib
import sys

from data import is_the_data_right
from keeping_up import is_it_keeping_up
from layout import BLUE, DATASOURCE, Board
from partitions import which_partition
from queries import PROCESS
from working import is_it_working

FILE = pathlib.Path(__file__).resolve().parents[2] / "config/grafana/dashboards/oncegate.json"


def variable(name, label, query, several):
    made = {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 3,
        "hide": 0,
        "regex": "",
        "skipUrlSync": False,
        "multi": several,
        "includeAll": several,
        "options": [],
        "current": {},
    }
    if several:
        made["allValue"] = ".*"
        made["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
    return made


def dashboard():
    board = Board()
    for part in (is_it_working, is_it_keeping_up, is_the_data_right, which_partition):
        part(board)
    of_partitions = 'oncegate_partition_state{job="$job",instance=~"$instance"'
    return {
        "uid": "oncegate",
        "title": "oncegate",
        "description": "Top to bottom: is it working, is it keeping up, is anything wrong with the data, "
        "which partition. What to do stands in docs/operations.md.",
        "tags": ["oncegate", "kafka"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "liveNow": False,
        "fiscalYearStartMonth": 0,
        "weekStart": "",
        "timezone": "browser",
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "timepicker": {},
        "links": [],
        "annotations": {
            "list": [
                {
                    "name": "Started",
                    "enable": True,
                    "hide": False,
                    "iconColor": BLUE,
                    "datasource": DATASOURCE,
                    "expr": f"1000 * process_start_time_seconds{{{PROCESS}}}",
                    "useValueForTime": True,
                    "titleFormat": "started",
                    "textFormat": "{{instance}}",
                    "tagKeys": "",
                    "step": "60s",
                }
            ]
        },
        "templating": {
            "list": [
                {
                    "type": "datasource",
                    "name": "datasource",
                    "label": "Prometheus",
                    "query": "prometheus",
                    "refresh": 1,
                    "hide": 0,
                    "regex": "",
                    "skipUrlSync": False,
                    "multi": False,
                    "includeAll": False,
                    "options": [],
                    "current": {},
                },
                variable("job", "Deployment", "label_values(oncegate_build_info, job)", False),
                variable(
                    "instance", "Process", 'label_values(oncegate_build_info{job="$job"}, instance)', True
                ),
                variable("route", "Route", f"label_values({of_partitions}}}, route)", True),
                variable(
                    "partition",
                    "Partition",
                    f'label_values({of_partitions},route=~"$route"}}, partition)',
                    True,
                ),
            ]
        },
        "panels": board.panels,
    }


def main():
    text = json.dumps(dashboard(), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv[1:]:
        if not FILE.exists() or FILE.read_text(encoding="utf-8") != text:
            sys.exit(
                f"{FILE.name} is not what `python3 scripts/dashboard` writes: "
                "run it, or move the change into it"
            )
        return
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
