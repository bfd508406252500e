"""Is anything wrong with the data?: verdicts, reasons, replays, clocks."""

from layout import GREEN, RED, target, thresholds, YELLOW
from queries import (
    ABSORBED,
    DIFFERENT,
    EVERY_VERDICT,
    HELD,
    NOT_QUARANTINED,
    PARTITION,
    partition,
    PASSED,
    QUARANTINED,
    rate,
    REPLAY,
)


def is_the_data_right(board):
    board.row("Is anything wrong with the data?")
    events = "oncegate_events_total"
    share = f"sum({rate(events, PARTITION, over='5m')})"
    board.stat(
        "Let through",
        "Part of the events of the last 5 minutes that were new.",
        f"sum({rate(events, PARTITION, PASSED, '5m')}) / {share}",
        "percentunit",
        width=4,
    )
    board.stat(
        "Absorbed",
        "Part of the events of the last 5 minutes that were duplicates, or decided before.",
        f"sum({rate(events, PARTITION, ABSORBED, '5m')}) / {share}",
        "percentunit",
        width=4,
    )
    board.stat(
        "Held",
        "Part of the events of the last 5 minutes that contradict an earlier one, or were "
        "quarantined. They wait for a person.",
        f"sum({rate(events, PARTITION, HELD, '5m')}) / {share}",
        "percentunit",
        thresholds(GREEN, (0.001, YELLOW), (0.01, RED)),
        width=4,
    )
    board.stat(
        "Replayed offsets",
        "Raw records a second that are decided again, since the group was moved back or forgot offsets.",
        f"sum({rate('oncegate_records_total', PARTITION, REPLAY, '5m')})",
        "recps",
        thresholds(GREEN, (0.01, YELLOW)),
        width=4,
    )
    board.stat(
        "Furthest clock",
        "How far the event-time clock that is furthest ahead lies from now; minus is behind. More "
        "than the route's max_future is wrong.",
        f"max({partition('oncegate_clock_timestamp_seconds')}) - time()",
        "s",
        thresholds(GREEN, (3600, YELLOW), (7200, RED)),
        width=4,
    )
    board.stat(
        "Records since the beginning",
        "Raw records decided since the beginning of the journals, replays left out.",
        "sum(max by (route, partition)" f' (oncegate_journal_records_total{{{PARTITION},replay="false"}}))',
        width=4,
    )
    board.lines(
        "Events by verdict",
        "Events decided a second, quarantined ones as one. docs/verdicts.md says what each verdict means.",
        [
            target(f"sum by (verdict) ({rate(events, PARTITION, NOT_QUARANTINED)})", "{{verdict}}"),
            target(f"sum({rate(events, PARTITION, QUARANTINED)})", "quarantined"),
        ],
        "eps",
        stacked=True,
    )
    board.lines(
        "Quarantine by reason",
        "Events quarantined a second. docs/headers.md says what each reason means.",
        [target(f"sum by (verdict) ({rate(events, PARTITION, QUARANTINED)})", "{{verdict}}")],
        "eps",
        stacked=True,
    )
    board.lines(
        "Conflicts and corrections",
        "Events with the key of an earlier one and other content, held or let through as the route says.",
        [target(f"sum by (route, verdict) ({rate(events, PARTITION, DIFFERENT)})", "{{verdict}} {{route}}")],
        "eps",
    )
    board.lines(
        "Replay",
        "Raw records a second that are decided again. Nothing passes twice; the clean topic shows no "
        "trace of it.",
        [target(f"sum by (route) ({rate('oncegate_records_total', PARTITION, REPLAY)})", "{{route}}")],
        "recps",
    )
    board.lines(
        "Clock against now",
        "The event-time clock of each route's partition that is furthest ahead, and of the one "
        "furthest behind, from now; minus is behind.",
        [
            target(
                f"max by (route) ({partition('oncegate_clock_timestamp_seconds')}) - time()",
                "furthest {{route}}",
            ),
            target(
                f"min by (route) ({partition('oncegate_clock_timestamp_seconds')}) - time()", "last {{route}}"
            ),
        ],
        "s",
    )
    board.lines(
        "Remembered",
        "How far back keys are known, by partition furthest ahead: from the horizon to now. Events "
        "from before are quarantined as late. Only routes with a window.",
        [target(f"time() - max by (route) ({partition('oncegate_horizon_timestamp_seconds')})", "{{route}}")],
        "s",
    )
    board.table(
        "Events since the beginning, by verdict",
        "Since the beginning of each route's journal, whatever process decided them. The same counts "
        "as in `oncegate reconcile`.",
        [("events", f"sum by (route, verdict) ({EVERY_VERDICT}) > 0")],
        {},
        8,
        "events",
    )
