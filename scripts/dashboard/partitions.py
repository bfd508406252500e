"""Which partition?: a table of all, and a line for each."""

from layout import target
from queries import HELD, PARTITION, partition, rate
from states import STATE_MAPPING, STATE_NUMBER


def which_partition(board):
    board.row("Which partition?")
    each = "{{route}}/{{partition}}"
    milliseconds = "1000 * "
    board.table(
        "Partitions now",
        "Every partition that some process has.",
        [
            ("", f"max by (route, partition, instance) (oncegate_partition_state{{{PARTITION}}})"),
            ("state", STATE_NUMBER),
            ("lag", partition("oncegate_lag_records")),
            ("oldest", partition("oncegate_lag_seconds")),
            ("committed", partition("oncegate_committed_offset")),
            ("end", partition("oncegate_raw_end_offset")),
            ("records/s", f"sum by (route, partition) ({rate('oncegate_records_total', PARTITION)})"),
            ("keys", partition("oncegate_store_keys")),
            ("size", partition("oncegate_store_size_bytes")),
            ("unmerged files", partition("oncegate_store_unmerged_files")),
            ("clock", milliseconds + partition("oncegate_clock_timestamp_seconds")),
            ("horizon", milliseconds + partition("oncegate_horizon_timestamp_seconds")),
        ],
        {
            "state": {
                "mappings": STATE_MAPPING,
                "unit": "none",
                "custom.cellOptions": {"type": "color-text"},
            },
            "oldest": {"unit": "s"},
            "committed": {"unit": "none"},
            "end": {"unit": "none"},
            "records/s": {"unit": "recps"},
            "size": {"unit": "bytes"},
            "clock": {"unit": "dateTimeAsIso"},
            "horizon": {"unit": "dateTimeAsIso"},
        },
        10,
        "lag",
    )
    board.states(
        "State by partition",
        "The state of each partition, whichever process has it.",
        STATE_NUMBER,
        each,
        STATE_MAPPING,
        12,
    )
    board.lines(
        "Lag by partition",
        "Offsets that are not committed.",
        [target(partition("oncegate_lag_records"), each)],
        "short",
        12,
    )
    board.lines(
        "Age by partition",
        "Age of the oldest raw record that is not committed.",
        [target(partition("oncegate_lag_seconds"), each)],
        "s",
        12,
    )
    board.lines(
        "Records by partition",
        "Raw records decided a second.",
        [target(f"sum by (route, partition) ({rate('oncegate_records_total', PARTITION)})", each)],
        "recps",
        12,
    )
    board.lines(
        "Events held by partition",
        "Events a second that were quarantined or contradict an earlier one.",
        [target(f"sum by (route, partition) ({rate('oncegate_events_total', PARTITION, HELD)})", each)],
        "eps",
        12,
    )
    board.lines(
        "Clock by partition",
        "The event-time clock from now; minus is behind.",
        [target(f"{partition('oncegate_clock_timestamp_seconds')} - time()", each)],
        "s",
        12,
    )
    board.lines(
        "Keys by partition",
        "Keys in the store, as estimated.",
        [target(partition("oncegate_store_keys"), each)],
        "short",
        12,
    )
    board.lines(
        "Store size by partition",
        "Bytes of the store's files.",
        [target(partition("oncegate_store_size_bytes"), each)],
        "bytes",
        12,
    )
    board.lines(
        "Unmerged files by partition",
        "Files of the store that wait to be merged. Where they only grow, the machine is too slow.",
        [target(partition("oncegate_store_unmerged_files"), each)],
        "short",
        12,
    )
    board.lines(
        "Left to restore by partition",
        "Journal offsets that a takeover still has to read. Empty while nothing is taken over.",
        [
            target(
                f"max by (route, partition) (oncegate_restore_journal_end_offset{{{PARTITION}}}"
                f" - oncegate_restore_journal_next_offset{{{PARTITION}}})",
                each,
            )
        ],
        "short",
        12,
    )
