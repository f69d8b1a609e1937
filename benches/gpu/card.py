#!/usr/bin/env python3
"""Kernels on an NVIDIA GPU, against jax on the same card.

    card.py prepare DIR --fusebox target/release/fusebox --runner target/release/fusebox-run [--target sm_90]
                        [--sizes 64MiB,1GiB,4GiB]
    card.py measure DIR [--json FILE]

`prepare` needs the compiler and no GPU: it writes modules of 64 MiB, 1 GiB and 4 GiB (bytes a perfect kernel moves) or
of the given sizes, compiles each to an executable and puts the runner beside them. DIR is then all that the machine
with the card needs, besides python with jax for the peer. `measure` prints, per case and size: time, GB/s, share of the
copy bandwidth measured at that size in the same call, and jax's time over ours (above 1: ours is faster). It also runs
on the software driver (docs/gpu-without-a-card.md) with sizes such as 256KiB, whose times say nothing about a card.

`card.py programs FOLDER DIR …` compiles every .hlo of a folder the same way, to check results on the card:
    check.py … --cmd 'DIR/fusebox-run DIR/{name}.fusebox --inputs {in_npz} --outputs {out_npz}'
and `compute-sanitizer DIR/fusebox-run DIR/NAME.fusebox` runs one under NVIDIA's checker.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def sizes(text):
    """label -> bytes, for sizes such as 64MiB that commas separate."""
    return {label: int(label[:-3]) * UNITS[label[-3:]] for label in text.split(",")}


def square(elements, multiple=64):
    """Rows and columns of about that many elements, both multiples of `multiple`."""
    rows = max(multiple, int(math.sqrt(elements)) // multiple * multiple)
    return rows, max(multiple, elements // rows // multiple * multiple)


def module(name, parameters, body, computations=""):
    """HLO text of an entry with these parameter shapes; the body's last line is its ROOT."""
    lines = [f"  p{i} = {shape} parameter({i})" for i, shape in enumerate(parameters)]
    return f"HloModule {name}\n\n{computations}ENTRY main {{\n" + "\n".join(lines + [f"  {l}" for l in body]) + "\n}\n"


def combiner(kind, element):
    return f"{kind} {{\n  a = {element}[] parameter(0)\n  b = {element}[] parameter(1)\n  ROOT r = {element}[] {kind}(a, b)\n}}\n\n"


def cases(size):
    """name -> (emitter, HLO text, bytes moved) for about `size` bytes moved."""
    made = {}

    def add(name, emitter, text, moved):
        made[name] = (emitter, text, moved)

    n = size // 8
    add("copy", "loop", module("copy", [f"f32[{n}]"], [f"ROOT r = f32[{n}] copy(p0)"]), 8 * n)
    n = size // 12
    add("add", "loop", module("add", [f"f32[{n}]"] * 2, [f"ROOT r = f32[{n}] add(p0, p1)"]), 12 * n)
    n = size // 4
    add("gelu_bf16", "loop", module("gelu", [f"bf16[{n}]"], [
        f"x = f32[{n}] convert(p0)", f"t = f32[{n}] tanh(x)", f"e = f32[{n}] exponential(t)", f"m = f32[{n}] multiply(x, e)",
        f"ROOT r = bf16[{n}] convert(m)"]), 4 * n)
    r, c = square(size // 4)
    zero = "z = f32[] constant(0)"
    add("row_sum", "reduce", module("row_sum", [f"f32[{r},{c}]"],
        [zero, f"ROOT r = f32[{r}] reduce(p0, z), dimensions={{1}}, to_apply=add"], combiner("add", "f32")), 4 * r * (c + 1))
    add("column_sum", "reduce", module("column_sum", [f"f32[{r},{c}]"],
        [zero, f"ROOT r = f32[{c}] reduce(p0, z), dimensions={{0}}, to_apply=add"], combiner("add", "f32")), 4 * c * (r + 1))
    rows = size // 4 // 32
    add("short_row_sum", "reduce", module("short_row_sum", [f"f32[{rows},32]"],
        [zero, f"ROOT r = f32[{rows}] reduce(p0, z), dimensions={{1}}, to_apply=add"], combiner("add", "f32")), 4 * rows * 33)
    add("scalar_sum", "reduce", module("scalar_sum", [f"f32[{r},{c}]"],
        [zero, "ROOT r = f32[] reduce(p0, z), dimensions={0,1}, to_apply=add"], combiner("add", "f32")), 4 * r * c)
    for element, width in (("f32", 4), ("bf16", 2), ("s8", 1)):
        r, c = square(size // 2 // width)
        add(f"transpose_{element}", "transpose", module("t", [f"{element}[{r},{c}]"],
            [f"ROOT r = {element}[{c},{r}] transpose(p0), dimensions={{1,0}}"]), 2 * width * r * c)
    b = 64
    r, c = square(size // 8 // b)
    add("transpose_021", "transpose", module("t", [f"f32[{b},{r},{c}]"],
        [f"ROOT r = f32[{b},{c},{r}] transpose(p0), dimensions={{0,2,1}}"]), 8 * b * r * c)
    r, c = square(size // 32)
    add("concatenate", "concatenate", module("c", [f"f32[{r},{c}]"] * 4,
        [f"ROOT r = f32[{r},{4 * c}] concatenate(p0, p1, p2, p3), dimensions={{1}}"]), 32 * r * c)
    rows = size // 8 // 64 // 2
    add("gather_rows", "loop", module("g", [f"f32[{rows},64]", f"s32[{rows},1]"], [
        f"ROOT r = f32[{rows},64] gather(p0, p1), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
        "index_vector_dim=1, slice_sizes={1,64}"]), rows * (2 * 256 + 4))
    add("scatter_add", "scatter", module("s", [f"f32[{rows},64]", f"s32[{rows},1]", f"f32[{rows},64]"], [
        f"ROOT r = f32[{rows},64] scatter(p0, p1, p2), update_window_dims={{1}}, inserted_window_dims={{0}}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"], combiner("add", "f32")), rows * (4 * 256 + 4))
    return made


def compile_to(arguments, source, target):
    subprocess.run([arguments.fusebox, "compile", source, "--target", arguments.target, "--emit", "executable", "-o", target],
                   check=True)


def prepare(arguments):
    os.makedirs(arguments.folder, exist_ok=True)
    shutil.copy(arguments.runner, os.path.join(arguments.folder, "fusebox-run"))
    listing = []
    for label, size in sizes(arguments.sizes).items():
        for name, (emitter, text, moved) in cases(size).items():
            stem = os.path.join(arguments.folder, f"{name}.{label}")
            with open(stem + ".hlo", "w") as file:
                file.write(text)
            compile_to(arguments, stem + ".hlo", stem + ".fusebox")
            listing.append(dict(name=name, size=label, emitter=emitter, bytes=moved))
    with open(os.path.join(arguments.folder, "cases.json"), "w") as file:
        json.dump(listing, file, indent=1)
    shutil.copy(os.path.abspath(__file__), arguments.folder)
    print(f"{len(listing)} executables in {arguments.folder}; there: python3 card.py measure .")


def programs(arguments):
    os.makedirs(arguments.folder, exist_ok=True)
    shutil.copy(arguments.runner, os.path.join(arguments.folder, "fusebox-run"))
    for file in sorted(os.listdir(arguments.modules)):
        name, extension = os.path.splitext(file)
        if extension == ".hlo":
            compile_to(arguments, os.path.join(arguments.modules, file), os.path.join(arguments.folder, name + ".fusebox"))


def ours(folder, stem):
    """Median microseconds by the card's own clock."""
    run = subprocess.run([os.path.join(folder, "fusebox-run"), os.path.join(folder, stem + ".fusebox"), "--bench"],
                         capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr.strip().splitlines()[0] if run.stderr.strip() else f"exit {run.returncode}"
    return json.loads(run.stdout)["median_us"], None


def peer(path, executions=20):
    """Microseconds of one execution of the module by jax: many in a row, then one wait."""
    import time

    import jax
    import numpy as np
    from jaxlib import _hlo, _jax

    device = jax.devices("gpu")[0]
    parsed = _hlo.hlo_module_from_text(open(path).read())
    stable = _jax.mlir.hlo_to_stablehlo(parsed.as_serialized_hlo_module_proto())
    compiled = device.client.compile_and_load(stable, _jax.DeviceList((device,)), _jax.CompileOptions())
    random = np.random.default_rng(0)
    inputs = [jax.device_put(sample(random, element, dims), device) for element, dims in parameter_shapes(path)]
    jax.block_until_ready(inputs)
    run = lambda: compiled.execute_sharded(inputs).disassemble_into_single_device_arrays()
    wait = lambda outputs: [x[0].block_until_ready() for x in outputs]
    wait(run())
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(executions):
            outputs = run()
        wait(outputs)
        best = min(best, (time.perf_counter() - start) / executions * 1e6)
    return best


def parameter_shapes(path):
    import re

    found = re.findall(r"= (\w+)\[([\d,]*)\]\S* parameter\((\d+)\)", open(path).read().split("ENTRY")[1])
    return [(e, [int(d) for d in dims.split(",") if d]) for e, dims, _ in sorted(found, key=lambda f: int(f[2]))]


def sample(random, element, dims):
    import ml_dtypes
    import numpy as np

    if element in ("s32", "s8"):
        high = dims[0] if element == "s32" else 127
        return random.integers(0, high, dims).astype(dict(s32=np.int32, s8=np.int8)[element])
    values = random.standard_normal(dims, dtype=np.float32)
    return values.astype(ml_dtypes.bfloat16) if element == "bf16" else values


def measure(arguments):
    listing = json.load(open(os.path.join(arguments.folder, "cases.json")))
    subprocess.run([os.path.join(arguments.folder, "fusebox-run"), "--device"], check=True)
    try:
        import jax

        print("peer: jax", jax.__version__, jax.devices("gpu")[0].device_kind)
    except Exception as why:  # if jax cannot run for any reason, the table omits jax
        print("no peer:", why)
        jax = None
    copies, rows = {}, []
    print(f"{'case':<16}{'size':>7}{'emitter':>13}{'us':>11}{'GB/s':>8}{'of copy':>9}{'jax/ours':>10}")
    for case in listing:
        stem = f"{case['name']}.{case['size']}"
        time_us, why = ours(arguments.folder, stem)
        if time_us is None:
            print(f"{case['name']:<16}{case['size']:>7}{case['emitter']:>13}  {why}")
            rows.append(dict(case, error=why))
            continue
        rate = case["bytes"] / time_us / 1e3
        if case["name"] == "copy":
            copies[case["size"]] = rate
        jax_us = None
        if jax:
            try:
                jax_us = peer(os.path.join(arguments.folder, stem + ".hlo"))
            except Exception as error:  # if jax cannot run one case, keep the other cases
                print(f"jax: {stem}: {error}", file=sys.stderr)
        ratio = jax_us / time_us if jax_us else None
        rows.append(dict(case, us=time_us, rate=rate, share=rate / copies[case["size"]], jax_us=jax_us, ratio=ratio))
        shown = f"{ratio:10.2f}" if ratio else f"{'-':>10}"
        print(f"{case['name']:<16}{case['size']:>7}{case['emitter']:>13}{time_us:11.1f}{rate:8.0f}{rate / copies[case['size']]:9.2f}{shown}")
    ratios = [row["ratio"] for row in rows if row.get("ratio")]
    if ratios:
        print(f"geometric mean of jax/ours over {len(ratios)}: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
    if arguments.json:
        json.dump(rows, open(arguments.json, "w"), indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("prepare", "programs"):
        sub = verbs.add_parser(verb)
        if verb == "programs":
            sub.add_argument("modules")
        sub.add_argument("folder")
        if verb == "prepare":
            sub.add_argument("--sizes", default="64MiB,1GiB,4GiB")
        sub.add_argument("--fusebox", default="target/release/fusebox")
        sub.add_argument("--runner", default="target/release/fusebox-run")
        sub.add_argument("--target", default="sm_90")
    sub = verbs.add_parser("measure")
    sub.add_argument("folder")
    sub.add_argument("--json")
    arguments = parser.parse_args()
    globals()[arguments.verb](arguments)


if __name__ == "__main__":
    main()
