"""All uses of JAX's private names.

JAX decides by the name of a platform which rules translate an operation, whether arguments are
donated, and whether compiled programs are stored. It has no public way to tell it about a further
platform. So `adapt` changes tables and functions of JAX. It checks each of them first. If JAX has
changed, the error names the version and the missing part, and the platform works without it.
"""

from __future__ import annotations

import dataclasses
import functools
import logging

import jax
import numpy as np

from fusebox_jax import callbacks, foreign

# Versions for which the tests of this package have passed.
TESTED = ("0.10.2",)

_logger = logging.getLogger(__name__)


def adapt(platform: str, library: str) -> None:
    """Gives the platform what JAX gives to cpus."""
    for step in (
        _share_rules,
        _take_branches,
        _enable_donation,
        _enable_cache,
        _enable_callbacks,
        _enable_dlpack,
        _enable_foreign_functions,
    ):
        try:
            step(platform, library)
        except (AttributeError, ImportError, TypeError) as error:
            tested = ", ".join(TESTED)
            _logger.warning(
                "fusebox: JAX %s has changed: %s: %s; fusebox runs without this part. It is tested with JAX %s",
                jax.__version__,
                step.__name__.strip("_").replace("_", " "),
                error,
                tested,
            )


def _share_rules(platform: str, library: str) -> None:
    """Translates operations as for cpus, if fusebox has no rules of its own for them."""
    from jax._src.interpreters import mlir

    class Rules(dict):
        """The rules of a platform, and for other primitives the present rules of cpus."""

        fusebox = True

        def __contains__(self, primitive):
            return super().__contains__(primitive) or primitive in tables["cpu"]

        def __missing__(self, primitive):
            return tables["cpu"][primitive]

    tables = mlir._platform_specific_lowerings
    if not getattr(tables[platform], "fusebox", False):
        tables[platform] = Rules(tables[platform])


def _take_branches(platform: str, library: str) -> None:
    """Takes the branches for cpus in `lax.platform_dependent`, unless there are others for fusebox."""
    from jax import lax
    from jax._src.lax import control_flow
    from jax._src.lax.control_flow import conditionals

    original = conditionals.platform_dependent
    if getattr(original, "fusebox", False):
        return

    @functools.wraps(original)
    def platform_dependent(*arguments, default=None, **branches):
        if "cpu" in branches:
            branches.setdefault(platform, branches["cpu"])
        return original(*arguments, default=default, **branches)

    platform_dependent.fusebox = True
    for module in (lax, control_flow, conditionals):
        module.platform_dependent = platform_dependent


def _enable_donation(platform: str, library: str) -> None:
    from jax._src.interpreters import mlir

    if platform not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(platform)


def _enable_cache(platform: str, library: str) -> None:
    """Stores compiled programs in the cache of JAX, if the user has enabled it."""
    from jax._src import compilation_cache

    original = compilation_cache.is_cache_used
    if getattr(original, "fusebox", False):
        return
    is_enabled = compilation_cache._is_cache_enabled

    @functools.wraps(original)
    def is_cache_used(backend):
        return is_enabled() if backend.platform == platform else original(backend)

    is_cache_used.fusebox = True
    compilation_cache.is_cache_used = is_cache_used


def _enable_callbacks(platform: str, library: str) -> None:
    """Lets programs call functions of Python."""
    from jax._src import callback as jax_callback
    from jax._src import core, dtypes, ffi, sharding_impls, xla_bridge
    from jax._src.interpreters import mlir
    from jax.interpreters import mlir as public

    own_backends = xla_bridge._backends
    original = jax_callback.emit_python_callback
    if getattr(original, "fusebox", False):
        return
    callbacks.install(library)
    build, abstract_token, canonical = ffi.build_ffi_lowering_function, core.abstract_token, dtypes.canonicalize_value
    set_sharding, several, one = mlir.set_sharding, sharding_impls.SdyArrayList, sharding_impls.SdyArray

    @functools.wraps(original)
    def emit_python_callback(
        ctx,
        callback,
        token,
        operands,
        operand_avals,
        result_avals,
        *,
        has_side_effect,
        returns_token=True,
        partitioned=False,
        sharding=None,
    ):
        context = ctx.module_context
        # fusebox may present itself under the name cpu. The backend then tells it from JAX's cpu.
        is_own = context.backend is not None and context.backend is own_backends.get(platform)
        if not is_own and tuple(context.platforms) != (platform,):
            return original(
                ctx,
                callback,
                token,
                operands,
                operand_avals,
                result_avals,
                has_side_effect=has_side_effect,
                returns_token=returns_token,
                partitioned=partitioned,
                sharding=sharding,
            )
        if partitioned and result_avals:
            raise ValueError("Partitioned callback not supported with return values.")
        function = callbacks.Function(callback, operand_avals, result_avals, canonical)
        context.add_keepalive(function)
        # JAX does not store programs that have a host callback.
        context.add_host_callback(function)
        if token:
            operands = [token, *operands]
            ctx = ctx.replace(
                avals_in=[abstract_token, *ctx.avals_in],
                avals_out=[abstract_token, *ctx.avals_out],
            )
        emit = build(callbacks.TARGET, has_side_effect=has_side_effect)
        call = emit(ctx, *operands, id=np.uint64(function.number))
        if sharding is not None:
            if token and result_avals and isinstance(sharding, several):
                # The token is the first result, and has no dimensions.
                devices = sharding.shardings[0].logical_device_ids
                of_token = one(mesh_shape=(), dim_shardings=(), logical_device_ids=devices)
                sharding = several((of_token, *sharding.shardings))
            set_sharding(context, call, sharding)
        results = call.results
        if token:
            token, *results = results
        return results, token, function

    emit_python_callback.fusebox = True
    for module in (jax_callback, public):
        module.emit_python_callback = emit_python_callback


def _enable_dlpack(platform: str, library: str) -> None:
    """Shares arrays with other libraries. The memory of fusebox is that of the host."""
    from jax._src import array
    from jax._src.dlpack import DLDeviceType

    cls = array.ArrayImpl
    of_device, of_array = cls.__dlpack_device__, cls.__dlpack__
    if getattr(of_device, "fusebox", False):
        return

    @functools.wraps(of_device)
    def dlpack_device(self):
        return (DLDeviceType.kDLCPU, 0) if self.platform() == platform else of_device(self)

    @functools.wraps(of_array)
    def dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        if self.platform() != platform:
            return of_array(self, **options)
        if len(self.sharding.device_set) > 1:
            raise BufferError("an array on several devices cannot be shared")
        view = np.asarray(self)
        if copy or max_version is None or max_version[0] < 1:
            # Without version 1, the receiver cannot be told that it must not write.
            if copy is False:
                raise BufferError("the receiver could write to the array, so it needs a copy")
            view = view.copy()
        return view.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    dlpack_device.fusebox = True
    cls.__dlpack_device__ = dlpack_device
    cls.__dlpack__ = dlpack


def _enable_foreign_functions(platform: str, library: str) -> None:
    """Lets programs call the functions that `jax.ffi.register_ffi_target` registers for cpus."""
    from jaxlib import xla_client

    original = xla_client.register_custom_call_target
    if getattr(original, "fusebox", False):
        return
    foreign.install(library)
    host = xla_client.xla_platform_names["cpu"]

    @functools.wraps(original)
    def register_custom_call_target(name, fn, platform="cpu", api_version=0, *arguments, **options):
        if platform in ("cpu", own):
            foreign.register(name, fn, api_version)
        if platform != own:
            original(name, fn, platform, api_version, *arguments, **options)

    own = platform
    register_custom_call_target.fusebox = True
    xla_client.register_custom_call_target = register_custom_call_target
    # The functions that have been registered before: JAX's client for cpus has taken some of them.
    for name, fn in xla_client.custom_call_targets(host).items():
        foreign.register(name, fn, 1 if isinstance(fn, dict) else 0)
    for name, fn, api_version, *_ in xla_client._custom_callback.get(host, ()):
        foreign.register(name, fn, api_version)


@dataclasses.dataclass(frozen=True)
class Program:
    """A function as the program that fusebox compiles, and the arguments of the program."""

    name: str
    artifact: bytes
    arguments: list[np.ndarray]
    # Options of the compiler that the function has.
    options: dict[str, str]


def program(platform: str, function, args: tuple, kwargs: dict) -> Program:
    """Lowers a function for these arguments, as JAX does before it compiles the function."""
    from jax._src import pjit
    from jaxlib import _jax
    from jaxlib.mlir.dialects import stablehlo

    # The first use of a backend registers the platform.
    jax.devices()
    jitted = function if hasattr(function, "trace") else jax.jit(function)
    traced = jitted.trace(*args, **kwargs)
    lowered = traced.lower(lowering_platforms=(platform,))
    artifact = _jax.mlir.serialize_portable_artifact(lowered.compiler_ir(), stablehlo.get_current_version(), True)
    # Arguments that the program does not use are not arguments of the lowered program.
    flat = pjit._infer_params(jitted._fun, jitted._jit_info, args, kwargs)[1]
    kept = lowered._lowering.compile_args["kept_var_idx"]
    arguments = [*lowered._lowering.const_args, *(value for number, value in enumerate(flat) if number in kept)]
    options = dict(traced._params["compiler_options_kvs"])
    return Program(
        name=traced.fun_name,
        artifact=artifact,
        arguments=[_array(value) for value in arguments],
        options={name: option(value) for name, value in options.items()},
    )


def option(value) -> str:
    """Returns the value of an option as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _array(value) -> np.ndarray:
    """Returns the elements of an argument in row-major order."""
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    # JAX decides the type of Python's numbers.
    return np.ascontiguousarray(np.asarray(jax.numpy.asarray(value)))
