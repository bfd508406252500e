#!/usr/bin/env python3
"""Counts the instructions that a record costs on each path of benches/paths, under callgrind, and
compares them with those recorded in benches/instructions.toml: 5 % more fails. Instructions repeat
on a busy machine, where seconds do not.

  scripts/bench-check.py PROGRAM            # the bench `paths`, as `make bench-check` builds it
  scripts/bench-check.py PROGRAM --record   # writes the counts down, after a change that is meant

SHA-256 is counted apart, as `hashing`: callgrind has no processor with its instructions, and done in
software it would hide all else.
Must not be in here: a measurement in seconds.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

RECORDED = pathlib.Path(__file__).parent.parent / "benches" / "instructions.toml"
PATHS = ["identity", "collect", "gate", "journal", "store"]
RECORDS_A_BATCH = 1_000
# The first batches warm up what is kept between batches; the rest is what counts.
FEW, MANY = 3, 8
MORE_MAX = 1.05


def instructions(program, path, batches):
    """All instructions of one run, and those of SHA-256 among them."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        said = run([*command, program, "--count", path, str(batches)])
        functions = run(["callgrind_annotate", "--threshold=100", out])
    collected = re.search(r"Collected : (\d+)", said.stderr)
    if not collected:
        sys.exit(f"bench-check: callgrind tells no count:\n{said.stderr}")
    hashing = re.findall(r"^ *([\d,]+) .*\bsha2::", functions.stdout, re.MULTILINE)
    if not hashing and path != "none":
        sys.exit("bench-check: no function of SHA-256 is among those that callgrind names")
    return int(collected.group(1)), sum(int(count.replace(",", "")) for count in hashing)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench-check: {' '.join(command)} failed:\n{done.stderr}")
    return done


def of_a_record(program):
    """By path the instructions of one record, without those that make the documents."""
    runs = [(path, batches) for path in ["none", *PATHS] for batches in (FEW, MANY)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        counts = dict(zip(runs, pool.map(lambda run: instructions(program, *run), runs)))
    records = (MANY - FEW) * RECORDS_A_BATCH

    def cost(path, nth):
        return (counts[path, MANY][nth] - counts[path, FEW][nth]) / records

    found = {path: round(cost(path, 0) - cost(path, 1) - cost("none", 0)) for path in PATHS}
    return found | {"hashing": round(cost(PATHS[-1], 1))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    found = of_a_record(arguments.program)
    if arguments.record:
        lines = [f"{path} = {count}\n" for path, count in found.items()]
        text = "# Instructions a record, by `make bench-check ARGS=--record`. Each path holds the\n"
        text += "# ones before it, but for `journal` and `store`, which both hold `gate`; `hashing` is that\n"
        text += "# of `store`, and in none of them.\n"
        RECORDED.write_text(text + "".join(lines))
        return print(f"bench-check: recorded {found}")
    recorded = tomllib.loads(RECORDED.read_text())
    worse = []
    for path, count in found.items():
        ratio = count / recorded[path]
        print(f"bench-check: {path:<9} {count:>7} instructions a record, recorded {recorded[path]}"
              f" ({ratio - 1:+.1%})")
        if ratio > MORE_MAX:
            worse.append(path)
    if worse:
        sys.exit(f"bench-check: FAILED: more than 5 % above what was recorded: {', '.join(worse)}")
    print("bench-check: passed")


if __name__ == "__main__":
    main()
