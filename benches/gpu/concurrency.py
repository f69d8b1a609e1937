#!/usr/bin/env python3
"""How many launches and copies of programs a GPU can execute at the same time. No card is needed.

    concurrency.py FOLDER --fusebox target/release/fusebox [--target sm_90] [--only GLOB] [--all]

FOLDER contains modules, NAME.hlo. For each program, and for all of them together, the script prints: launches and
copies, the pairs of them that must be executed in order because one writes bytes that the other one accesses, the
longest chain of such pairs, and the bytes of temporary memory. The order follows from buffer assignment, as the runtime
derives it (host/runtime/src/machine/cuda/order.rs). The bodies of loops count once. Without --all, only the sums are
printed.
"""
import argparse
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

SLICE = re.compile(r"(\d+)\[(\d+)\.\.(\d+)\]")


def slices(text):
    return [tuple(map(int, found)) for found in SLICE.findall(text)]


def outputs_of(folder):
    """kernel name -> number of its outputs."""
    counts = {}
    for file in os.listdir(folder):
        if file.startswith("05-plan."):
            with open(os.path.join(folder, file)) as plan:
                counts[file[len("05-plan."):-len(".txt")]] = sum(line.startswith("output ") for line in plan)
    return counts


def accesses(line, outputs):
    """The slices that a step reads and writes, or None if the line is no launch and no copy."""
    words = line.split()
    if words[:1] == ["kernel"]:
        found = slices(line)
        count = outputs.get(words[1], len(found))
        return found[:len(found) - count], found[len(found) - count:]
    if words[:1] == ["copy"]:
        found = slices(line)
        return found[:1], found[1:]
    return None


def overlap(some, others):
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in some for b in others)


def conflicts(one, other):
    return overlap(one[1], other[1]) or overlap(one[1], other[0]) or overlap(one[0], other[1])


def figures(folder):
    """steps, ordered pairs, longest chain, temporary bytes."""
    outputs = outputs_of(folder)
    steps, temporary = [], 0
    with open(os.path.join(folder, "09-thunks.txt")) as file:
        for line in file:
            found = re.match(r"allocation \d+: (\d+) bytes, temporary", line)
            temporary += int(found.group(1)) if found else 0
            step = accesses(line, outputs)
            if step:
                steps.append(step)
    before, chains = [], []
    for number, step in enumerate(steps):
        mine, chain = set(), 1
        for earlier in range(number):
            if conflicts(step, steps[earlier]):
                mine |= before[earlier] | {earlier}
                chain = max(chain, chains[earlier] + 1)
        before.append(mine)
        chains.append(chain)
    return [len(steps), sum(map(len, before)), max(chains, default=0), temporary]


def show(name, numbers):
    print("{}: {} steps, {} ordered pairs, longest chain {}, {} temporary bytes".format(name, *numbers), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--fusebox", required=True)
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--only", default="*")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    total, failed = [0, 0, 0, 0], []
    names = sorted(file[:-4] for file in os.listdir(arguments.folder) if file.endswith(".hlo"))
    for name in filter(lambda name: fnmatch.fnmatch(name, arguments.only), names):
        with tempfile.TemporaryDirectory() as dump:
            command = [arguments.fusebox, "compile", os.path.join(arguments.folder, name + ".hlo"), "--target",
                       arguments.target, "--emit", "executable", "-o", os.path.join(dump, "executable"), "--dump-to", dump]
            if subprocess.run(command, capture_output=True).returncode:
                failed.append(name)
                continue
            numbers = figures(dump)
        total = [sum(pair) for pair in zip(total, numbers)]
        if arguments.all:
            show(name, numbers)
    show("all", total)
    if failed:
        sys.exit("not compiled: " + ", ".join(failed))


if __name__ == "__main__":
    main()
