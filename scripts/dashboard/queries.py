"""What the queries of several panels share.

Partitions are looked at over all processes (`max by (route, partition)`), so that one that moved to
another process is counted once. Rates of counters are sums over processes: each begins with 0.
Must not be in here: a query that yields a value of an event.
"""

# Label sets of metrics of a process, of a route, and of a partition.
PROCESS = 'job="$job",instance=~"$instance"'
ROUTE = PROCESS + ',route=~"$route"'
PARTITION = ROUTE + ',partition=~"$partition"'
# Further labels: which events.
PASSED = ',verdict=~"first|correction"'
ABSORBED = ',verdict=~"duplicate|replayed"'
HELD = ',verdict!~"first|duplicate|replayed|correction"'
NOT_QUARANTINED = ',verdict=~"first|duplicate|replayed|correction|conflict"'
QUARANTINED = ',verdict!~"first|duplicate|replayed|correction|conflict"'
DIFFERENT = ',verdict=~"conflict|correction"'
REPLAY = ',replay="true"'


def partition(metric, more=""):
    """A gauge of a partition, whichever process has it."""
    return f"max by (route, partition) ({metric}{{{PARTITION}{more}}})"


def rate(metric, labels, more="", over="$__rate_interval"):
    return f"rate({metric}{{{labels}{more}}}[{over}])"


def quantile(of, metric, by="route"):
    return f"histogram_quantile({of}, sum by ({by}, le) ({rate(metric + '_bucket', ROUTE)}))"


def mean(metric, by="route"):
    total, count = (rate(f"{metric}_{part}", ROUTE) for part in ("sum", "count"))
    return f"sum by ({by}) ({total}) / sum by ({by}) ({count})"


def state(name):
    return f'oncegate_partition_state{{{PARTITION},state="{name}"}}'


EVERY_VERDICT = f"max by (route, partition, replay, verdict) (oncegate_journal_events_total{{{PARTITION}}})"
