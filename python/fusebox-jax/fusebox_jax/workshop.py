"""The tools of fusebox for functions of JAX: explain, profile, ab, tune.

Each result is text (`str`), a page (`html`, which notebooks show), and data.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import html
import os
from collections.abc import Mapping
from typing import Any

import fusebox_jax
from fusebox_jax import library, private

# Height of a page in a notebook, in pixels.
_HEIGHT = 600


class _Result:
    """A result as text and as a page."""

    def __init__(self, reply: Mapping[str, Any]):
        self._text = reply["text"].rstrip("\n")
        self.html: str = reply["html"]
        self.warnings: list[str] = reply.get("warnings", [])

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        """Shows the page in a frame, so that its style does not change the notebook."""
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'

    def save(self, path: str | os.PathLike) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel of a program."""

    # Name of the fusion that the kernel computes.
    fusion: str
    emitter: str
    version: str
    # Microseconds that a launch takes, as predicted.
    predicted_us: float
    # The least possible time, as a fraction of the predicted time.
    of_roof: float
    # Lines of Python that the kernel computes, as "file:line".
    lines: list[str]
    # Instructions that use the kernel.
    uses: list[str]
    # Everything that `fusebox explain --json` tells about the kernel.
    details: dict = dataclasses.field(repr=False)


class Explanation(_Result):
    """Which emitter builds each kernel of a function, and why."""

    def __init__(self, reply: Mapping[str, Any]):
        super().__init__(reply)
        self.kernels: list[Kernel] = [_kernel(details) for details in reply["kernels"]]


def _kernel(details: dict) -> Kernel:
    roofline = details["roofline"]
    return Kernel(
        fusion=details["fusion"],
        emitter=details["emitter"],
        version=details["version"],
        predicted_us=details["predicted_us"],
        of_roof=roofline["roof_us"] / max(details["predicted_us"], 1e-300),
        lines=roofline.get("lines", []),
        uses=details["uses"],
        details=details,
    )


def explain(
    function,
    /,
    *args,
    fusion: str | None = None,
    all: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
    **kwargs,
) -> Explanation:
    """Shows which emitter builds each kernel of a function for these arguments, and why.

    `fusion` is a pattern; the text then has the details of the fusions whose names match it. With
    `all`, it has the details of all fusions. `compiler_options` are those of `jax.jit`.
    """
    program = private.program(fusebox_jax.PLATFORM, function, args, kwargs)
    request = {**_request(program, compiler_options), "fusion": fusion, "all": all}
    return Explanation(library.call("Explain", request, program.artifact))


def _request(program: private.Program, compiler_options: Mapping[str, Any] | None) -> dict:
    return {"name": program.name, "options": {**program.options, **_options(compiler_options)}}


def _options(options: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: private.option(value) for name, value in (options or {}).items()}


@dataclasses.dataclass(frozen=True)
class Step:
    """A step of a program: a kernel, a copy, or an operation of the host."""

    program: str
    name: str
    # Name and version of the emitter, or the part of the runtime that executes the step.
    by: str
    # Number of executions, and microseconds of all executions together.
    calls: int
    us: float
    # Fraction of the measured time of all steps.
    share: float
    # Predicted microseconds of all executions; None if there is no prediction.
    predicted_us: float | None
    # The least possible time, as a fraction of the measured time.
    of_roof: float
    # Lines of Python that the step computes, as "file:line".
    lines: list[str]


class profile(_Result):
    """Measures each step of all executions inside of a `with`.

    Executions run step by step meanwhile, and on the thread that calls the function. So a step
    takes as long as without a profile, but programs do not overlap.
    """

    def __init__(self):
        super().__init__({"text": "the profile has not ended", "html": ""})
        self.runs = 0
        self.steps: list[Step] = []
        self._trace = None

    def __enter__(self) -> profile:
        library.call("BeginProfile")
        return self

    def __exit__(self, *_) -> None:
        reply = library.call("EndProfile")
        super().__init__(reply)
        measured = reply["profile"]
        all_us = sum(row["us"] for row in measured["rows"]) or 1.0
        self.runs = measured["runs"]
        self.steps = [
            Step(
                program=row["program"],
                name=row["name"],
                by=row["by"],
                calls=row["times"],
                us=row["us"],
                share=row["us"] / all_us,
                predicted_us=row["predicted_us"],
                of_roof=row["of_roof"],
                lines=row.get("lines", []),
            )
            for row in measured["rows"]
        ]
        self._trace = reply["trace"]

    def save(self, path: str | os.PathLike) -> None:
        """Writes the trace for Perfetto (ui.perfetto.dev), or the page if the path ends in `.html`."""
        if self._trace is None:
            raise RuntimeError("the profile has not ended")
        if os.fspath(path).endswith(".html"):
            return super().save(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._trace)


class Comparison(_Result):
    """A function with two sets of options, measured alternately."""

    def __init__(self, reply: Mapping[str, Any]):
        super().__init__(reply)
        # Everything that `fusebox ab --json` tells.
        self.report: dict = reply["report"]

    @property
    def verdict(self) -> str | None:
        """What B is with warm caches: faster, slower, same or ambiguous. None if nothing was timed."""
        measured = self.report["program"]["measured"]
        return measured[0]["verdict"] if measured else None

    @property
    def ratio(self) -> tuple[float, float, float] | None:
        """B's time over A's with warm caches: low end, estimate, high end of its interval."""
        measured = self.report["program"]["measured"]
        return tuple(measured[0]["ratio"][part] for part in ("low", "ratio", "high")) if measured else None

    @property
    def is_wrong(self) -> bool:
        """Whether a result of a side is wrong."""
        comparisons = [self.report["program"], *self.report["fusions"]]
        return any(comparison["judged"]["verdict"] == "wrong" for comparison in comparisons)


def ab(
    function,
    args: tuple | list = (),
    *,
    a: Mapping[str, Any] | None = None,
    b: Mapping[str, Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    fusion: str | None = None,
    pairs: int | None = None,
    stages: bool = False,
) -> Comparison:
    """Compares a function with the compiler options `a` and `b`, as `fusebox ab` does.

    The whole program and each kernel that differs run alternately on these arguments until the
    difference is clear, or `pairs` times. `fusion` is a pattern of names of the kernels to compare.
    With `stages`, the page shows the kernels after each stage of lowering.
    """
    program = private.program(fusebox_jax.PLATFORM, function, tuple(args), dict(kwargs or {}))
    request = {
        **_request(program, None),
        "a": _options(a),
        "b": _options(b),
        "fusion": fusion,
        "pairs": pairs,
        "stages": stages,
    }
    return Comparison(library.call("Ab", request, program.artifact, program.arguments))


@dataclasses.dataclass(frozen=True)
class Choice:
    """The decision about a fusion, or about a region that can be cut into kernels in several ways."""

    fusion: str
    # The emitter with its knobs, and the one without tuning.
    chosen: str
    instead_of: str
    # Time of the chosen emitter over the time without tuning.
    ratio: float
    # "measured", "known" from the database, or "nobody" if no emitter computes the fusion
    # correctly.
    origin: str
    # Everything that was measured.
    details: dict = dataclasses.field(repr=False)


class Tuning(_Result):
    """The fastest emitter of each fusion of a function."""

    def __init__(self, reply: Mapping[str, Any]):
        super().__init__({**reply, "html": ""})
        self.choices: list[Choice] = [
            Choice(
                fusion=row["fusion"],
                chosen=row["chosen"],
                instead_of=row["instead_of"],
                ratio=row["ratio"],
                origin=row["origin"],
                details=row,
            )
            for row in reply["rows"]
        ]
        # File in which the choices are.
        self.database: str = reply["database"]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(it.fusion)}</td><td>{html.escape(it.chosen)}</td>"
            f"<td>{html.escape(it.instead_of) if it.chosen != it.instead_of else ''}</td>"
            f"<td>{1 / it.ratio:.2f}</td><td>{it.origin}</td></tr>"
            for it in self.choices
        )
        head = "".join(f"<th>{name}</th>" for name in ("fusion", "emitter", "instead of", "times as fast", "origin"))
        return f"<table><tr>{head}</tr>{rows}</table><pre>{html.escape(self._text)}</pre>"


def tune(
    function,
    args: tuple | list = (),
    *,
    kwargs: Mapping[str, Any] | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    again: bool = False,
) -> Tuning:
    """Measures which emitter is fastest for each fusion of a function, and stores the choices.

    Later compilations use them, in this process and in others. With `again`, fusions that the
    database knows are measured again. An interrupt keeps the decisions so far.
    """
    program = private.program(fusebox_jax.PLATFORM, function, tuple(args), dict(kwargs or {}))
    request = {**_request(program, compiler_options), "again": again}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(library.call, "Tune", request, program.artifact, program.arguments)
        try:
            reply = future.result()
        except KeyboardInterrupt:
            library.interrupt()
            future.result()
            raise
    if hasattr(function, "clear_cache"):
        # The next call compiles the function again, with the new choices.
        function.clear_cache()
    return Tuning(reply)
