"""Is it keeping up?: lag, throughput, where the time goes."""

from layout import target
from queries import mean, PARTITION, partition, PROCESS, quantile, rate, ROUTE


def is_it_keeping_up(board):
    board.row("Is it keeping up?")
    board.lines(
        "Lag in records",
        "Offsets of the raw topic that are not committed.",
        [target(f"sum by (route) ({partition('oncegate_lag_records')})", "{{route}}")],
        "short",
    )
    board.lines(
        "Lag in time",
        "Age of the oldest raw record that is not committed, by its timestamp. When it reaches the "
        "raw topic's retention, records are deleted unread.",
        [target(f"max by (route) ({partition('oncegate_lag_seconds')})", "{{route}}")],
        "s",
    )
    board.lines(
        "Records in and decided",
        "Offsets that the raw topic gains a second, markers of transactions included, and raw records"
        " that were decided.",
        [
            target(
                "sum by (route) (max by (route, partition) (clamp_min("
                f"deriv(oncegate_raw_end_offset{{{PARTITION}}}[$__rate_interval]), 0)))",
                "in {{route}}",
            ),
            target(f"sum by (route) ({rate('oncegate_records_total', PARTITION)})", "decided {{route}}"),
        ],
        "recps",
    )
    board.lines(
        "Transaction time",
        "From the verdicts to the broker's answer, of committed transactions.",
        [
            target(quantile(q, "oncegate_transaction_duration_seconds"), f"p{name} {{{{route}}}}")
            for q, name in ((0.5, "50"), (0.99, "99"))
        ],
        "s",
    )
    board.lines(
        "Time in stages",
        "Mean time of a committed batch in each stage, stacked: the highest is where the time goes. "
        "poll waits for records and is long while there are few.",
        [target(mean("oncegate_stage_duration_seconds", "stage"), "{{stage}}")],
        "s",
        stacked=True,
    )
    board.lines(
        "Time in stages, slowest",
        "99th percentile of each stage.",
        [target(quantile(0.99, "oncegate_stage_duration_seconds", "stage"), "{{stage}}")],
        "s",
    )
    board.lines(
        "Batch size",
        "Raw records of a committed batch. Batches grow with the load; many small ones at high lag "
        "point to slow polls.",
        [
            target(mean("oncegate_batch_records"), "mean {{route}}"),
            target(quantile(0.99, "oncegate_batch_records"), "p99 {{route}}"),
        ],
        "short",
    )
    board.lines(
        "Broker round trip",
        "99th percentile between request and answer in the last second, by broker. A poll that waits "
        "for records counts.",
        [target(f"max by (broker) (oncegate_broker_round_trip_seconds{{{ROUTE}}})", "broker {{broker}}")],
        "s",
    )
    board.lines(
        "Brokers",
        "Connections of workers that stand, of those that are needed, by broker.",
        [target(f"avg by (broker) (oncegate_broker_up{{{ROUTE}}})", "broker {{broker}}")],
        "percentunit",
        min=0,
        max=1,
    )
    board.lines(
        "Records in producers",
        "Records that wait in the producers of each route.",
        [target(f"sum by (route) (oncegate_producer_queue_messages{{{ROUTE}}})", "{{route}}")],
        "short",
    )
    board.lines(
        "Store look-ups",
        "Blocks that look-ups found in memory, and that they had to read from files. Where reads rise"
        " with the lag, the store wants more memory.",
        [
            target(f"sum({rate('oncegate_store_cache_hits_total', PROCESS)})", "from memory"),
            target(f"sum({rate('oncegate_store_cache_misses_total', PROCESS)})", "from files"),
        ],
        "ops",
    )
    board.lines(
        "Takeover time",
        "Mean time from the assignment of a partition until it runs, since each process began.",
        [
            target(
                f"sum by (route) (oncegate_restore_duration_seconds_sum{{{ROUTE}}})"
                f" / sum by (route) (oncegate_restore_duration_seconds_count{{{ROUTE}}})",
                "{{route}}",
            )
        ],
        "s",
    )
