#!/usr/bin/env python3
"""Counts of the kernels of many programs, on the software driver: no card is needed.

    counts.py FOLDER --fusebox target/release/fusebox --driver target/release/libsoftware_cuda.so
              [--target sm_90] [--only GLOB] [--limit 300] [--json FILE] [--from FILE]

FOLDER contains modules, NAME.hlo, with or without inputs, NAME.in.npz. `perf.py --emit FOLDER` of the corpus writes
its 69 programs in this way. Every program runs once (`fusebox explain --counts`). For each kernel that moves at least
1 MiB the table shows: the bytes that the plan states, the sectors of 32 bytes that the warps read and write as a
multiple of the least number, the bytes of all touched sectors as a multiple of the stated bytes, predicted time, the
times for the counted sectors and instructions, spills and occupancy. The lines below the table give totals, and two
distributions that judge the predictions: touched by stated bytes, and counted by predicted time without the launch,
where the counted time is the longer one of the times for sectors and for instructions.

--json writes what was counted, and --from reads such a file instead of running programs. A program that takes longer
than --limit seconds, or that fails, is named below the table.
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys

LARGE = 1 << 20
SECTOR = 32
# The time of a launch in predictions for GPUs (`launch_seconds` in core/src/device.rs).
LAUNCH_US = 2.0
# A kernel above this ratio touches more sectors than it should.
MOST = 1.05


def count(arguments, name):
    """The rows of one program, or the reason why there are none."""
    path = os.path.join(arguments.folder, name)
    command = [arguments.fusebox, "explain", path + ".hlo", "--counts", "--json", "--target", arguments.target,
               "--driver", arguments.driver]
    if os.path.exists(path + ".in.npz"):
        command += ["--inputs", path + ".in.npz"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=arguments.limit)
    except subprocess.TimeoutExpired:
        return None, f"takes longer than {arguments.limit} s"
    if ran.returncode:
        return None, (ran.stderr.strip().splitlines() or [f"exit {ran.returncode}"])[0]
    return json.loads(ran.stdout), None


def counted(arguments):
    """name -> rows, and name -> reason."""
    if arguments.source:
        with open(arguments.source) as file:
            saved = json.load(file)
        return saved["programs"], saved["failures"]
    names = sorted(file[:-4] for file in os.listdir(arguments.folder) if file.endswith(".hlo"))
    programs, failures = {}, {}
    for name in names:
        if not fnmatch.fnmatch(name, arguments.only):
            continue
        rows, reason = count(arguments, name)
        print(f"{name}: {reason or f'{len(rows)} kernels'}", file=sys.stderr)
        if reason:
            failures[name] = reason
        else:
            programs[name] = rows
    return programs, failures


def ratio(traffic):
    return traffic["sectors"] / traffic["perfect_sectors"] if traffic["perfect_sectors"] else None


def shown(number, digits=2):
    return "" if number is None else f"{number:.{digits}f}"


def moved(row):
    """Bytes of the sectors that a launch touches."""
    return SECTOR * sum(row[kind]["sectors"] for kind in ("global_reads", "global_writes", "global_atomics")) / row["launches"]


def spills(row):
    quality = row["quality"]
    return quality["spill_stores"] + quality["spill_loads"] if quality else None


def table(programs):
    head = ("program", "kernel", "emitter", "MB", "read", "written", "touched", "predicted µs", "memory µs",
            "instr. µs", "spills", "occupancy")
    print("| " + " | ".join(head) + " |")
    print("| --- | --- | --- |" + " ---: |" * (len(head) - 3))
    large = 0
    above = []
    for name, rows in programs.items():
        for row in rows:
            if moved(row) < LARGE and row["stated_bytes"] < LARGE:
                continue
            large += 1
            read, written = ratio(row["global_reads"]), ratio(row["global_writes"])
            if max(read or 0, written or 0) > MOST:
                above.append(f"{name}/{row['fusion']}")
            occupancy = None if row["occupancy"] is None else 100 * row["occupancy"]
            print("| " + " | ".join([
                name, row["fusion"], row["emitter"].split()[0], shown(row["stated_bytes"] / 1e6, 1), shown(read), shown(written),
                shown(moved(row) / max(row["stated_bytes"], 1)), shown(row["predicted_us"], 1), shown(row["memory_us"], 1),
                shown(row["instructions_us"], 1), "" if spills(row) is None else str(spills(row)), shown(occupancy, 0),
            ]) + " |")
    return large, above


def distribution(values):
    values = sorted(values)
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))]
    return f"least {values[0]:.2f}, 10 % {at(0.1):.2f}, median {at(0.5):.2f}, 90 % {at(0.9):.2f}, most {values[-1]:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=".")
    parser.add_argument("--fusebox", default="target/release/fusebox")
    parser.add_argument("--driver", default="target/release/libsoftware_cuda.so")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--only", default="*")
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--json")
    parser.add_argument("--from", dest="source")
    arguments = parser.parse_args()
    programs, failures = counted(arguments)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"programs": programs, "failures": failures}, file)
    large, above = table(programs)
    rows = [row for rows in programs.values() for row in rows]
    print(f"\n{len(programs)} programs, {len(rows)} kernels, {large} of which move at least 1 MiB; {len(above)} of these touch "
          f"more than {MOST} times the least number of sectors")
    print(f"spills: {sum(spills(row) or 0 for row in rows)} bytes")
    if rows:
        bytes_ratios = [moved(row) / row["stated_bytes"] for row in rows if row["stated_bytes"] >= LARGE]
        if bytes_ratios:
            print(f"touched by stated bytes of the large kernels: {distribution(bytes_ratios)}")
        times = [max(row["memory_us"], row["instructions_us"]) / (row["predicted_us"] - LAUNCH_US) for row in rows
                 if row["stated_bytes"] >= LARGE and row["predicted_us"] > LAUNCH_US]
        if times:
            print(f"counted by predicted time of the large kernels: {distribution(times)}")
    for name, reason in failures.items():
        print(f"{name}: {reason}")


if __name__ == "__main__":
    main()
