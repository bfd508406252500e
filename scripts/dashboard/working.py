"""Is it working?: processes, partitions, refusals, progress."""

from layout import GREEN, RED, target, thresholds, YELLOW
from queries import PARTITION, partition, PROCESS, rate, ROUTE, state
from states import READY_MAPPING


def is_it_working(board):
    board.row("Is it working?")
    bad = thresholds(GREEN, (1, RED))
    board.stat("Processes", "Processes that report.", f"count(oncegate_ready{{{PROCESS}}})")
    board.stat(
        "Not ready",
        "Processes that are not ready. /readyz of each says what it waits for.",
        f"sum(1 - oncegate_ready{{{PROCESS}}})",
        steps=bad,
    )
    board.stat(
        "Partitions", "Partitions that some process has.", f"count({partition('oncegate_partition_state')})"
    )
    board.stat(
        "Not running",
        "Partitions that are taken over, verified or refused.",
        f"sum(1 - max by (route, partition) ({state('running')}))",
        steps=thresholds(GREEN, (1, YELLOW)),
    )
    board.stat(
        "Refused",
        "Partitions at which oncegate can no longer know, and waits for a person.",
        f"sum(max by (route, partition) ({state('refused')}))",
        steps=bad,
    )
    board.stat(
        "Without progress",
        "Partitions with lag at which nothing was committed for 5 minutes.",
        f"sum(({partition('oncegate_lag_records')} > bool 0) * "
        f"(max by (route, partition) (changes(oncegate_committed_offset{{{PARTITION}}}[5m])) == bool 0))",
        steps=bad,
    )
    board.stat(
        "Oldest record",
        "Age of the oldest raw record that is not committed, over all partitions.",
        f"max({partition('oncegate_lag_seconds')})",
        "s",
        thresholds(GREEN, (60, YELLOW), (3600, RED)),
    )
    board.stat(
        "Records",
        "Raw records decided a second, over the last 5 minutes.",
        f"sum({rate('oncegate_records_total', PARTITION, over='5m')})",
        "recps",
    )
    board.states(
        "Readiness",
        "Whether each process says that it is ready.",
        f"max by (instance) (oncegate_ready{{{PROCESS}}})",
        "{{instance}}",
        READY_MAPPING,
        8,
    )
    board.lines(
        "Partitions by state",
        "How many partitions are in each state, over all processes.",
        [
            target(
                "sum by (state) (max by (route, partition, state)"
                f" (oncegate_partition_state{{{PARTITION}}}))",
                "{{state}}",
            )
        ],
        "short",
        stacked=True,
    )
    board.lines(
        "Refusals",
        "How often a partition came to be refused, by cause. docs/operations.md says what to do about each.",
        [
            target(
                f"sum by (cause) (increase(oncegate_refusals_total{{{ROUTE}}}[$__rate_interval]))",
                "{{cause}}",
            )
        ],
        "short",
    )
    board.lines(
        "Transactions",
        "Transactions by outcome. Aborted ones are sent again; where none is committed, the clean "
        "topic gets nothing.",
        [target(f"sum by (outcome) ({rate('oncegate_transactions_total', ROUTE)})", "{{outcome}}")],
        "ops",
        6,
    )
    board.lines(
        "Rebalances and fencing",
        "Partitions assigned or taken away, and producers or members that were fenced or gave up. "
        "Both come with a restart; steady ones mean two processes of one id, or sessions that end too"
        " early.",
        [
            target(
                f"sum by (route) (increase(oncegate_rebalances_total{{{ROUTE}}}[$__rate_interval]))",
                "rebalances {{route}}",
            ),
            target(
                f"sum by (route) (increase(oncegate_fenced_total{{{ROUTE}}}[$__rate_interval]))",
                "fenced {{route}}",
            ),
        ],
        "short",
        6,
    )
    board.lines(
        "Free disk",
        "Free part of the file system of each state directory. At 0 oncegate stops before its next "
        "transaction.",
        [
            target(
                f"oncegate_state_free_bytes{{{PROCESS}}} / oncegate_state_size_bytes{{{PROCESS}}}",
                "{{instance}}",
            )
        ],
        "percentunit",
        6,
        steps=thresholds(RED, (0.05, YELLOW), (0.15, GREEN)),
        min=0,
        max=1,
    )
    board.lines(
        "Log lines",
        "Warnings and errors logged, repetitions that the log leaves out included.",
        [
            target(
                f"sum by (level) (increase(oncegate_log_lines_total{{{PROCESS}}}[$__rate_interval]))",
                "{{level}}",
            )
        ],
        "short",
        6,
    )
    board.table(
        "Processes now",
        "What each process is and uses.",
        [
            ("ready", f"max by (instance) (oncegate_ready{{{PROCESS}}})"),
            ("", f"max by (instance, version) (oncegate_build_info{{{PROCESS}}})"),
            ("up for", f"time() - max by (instance) (process_start_time_seconds{{{PROCESS}}})"),
            ("partitions", f'count by (instance) (oncegate_partition_state{{{PARTITION},state="running"}})'),
            ("CPU", f"max by (instance) (rate(process_cpu_seconds_total{{{PROCESS}}}[$__rate_interval]))"),
            ("memory", f"max by (instance) (process_resident_memory_bytes{{{PROCESS}}})"),
            ("memory of stores", f"max by (instance) (oncegate_store_memory_bytes{{{PROCESS}}})"),
            (
                "file handles",
                f"max by (instance) (process_open_fds{{{PROCESS}}} / process_max_fds{{{PROCESS}}})",
            ),
            ("disk free", f"max by (instance) (oncegate_state_free_bytes{{{PROCESS}}})"),
        ],
        {
            "ready": {
                "mappings": READY_MAPPING,
                "unit": "none",
                "custom.cellOptions": {"type": "color-text"},
            },
            "up for": {"unit": "dtdurations"},
            "CPU": {"unit": "percentunit"},
            "memory": {"unit": "bytes"},
            "memory of stores": {"unit": "bytes"},
            "file handles": {"unit": "percentunit"},
            "disk free": {"unit": "bytes"},
        },
        6,
        "process",
    )
