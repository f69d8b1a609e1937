"""What a bench program is, and the random numbers it runs on."""
import dataclasses
from collections.abc import Callable

import jax
import numpy as np

PROGRAMS = {}


@dataclasses.dataclass(frozen=True)
class Program:
    """A function with its arguments. Results of floats may differ from XLA's by `tolerance` times the largest of a result."""
    name: str
    make: Callable
    tolerance: float
    why: str
    x64: bool

    @property
    def family(self):
        return self.make.__module__.split('.')[-1]


def program(tolerance=2e-4, why='sums of f32 in another order', x64=False):
    """Registers a function that returns a function to compile and its arguments."""
    def register(make):
        PROGRAMS[make.__name__] = Program(make.__name__, make, tolerance, why, x64)
        return make
    return register


def normal(*shape, seed=0, scale=1.0, dtype=np.float32):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def integers(high, *shape, seed=0, dtype=np.int32):
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


def weights(init, *arguments):
    """Random weights of the shapes that `init` would make: nothing is initialised by jax, so nothing is compiled before it is timed."""
    random = np.random.default_rng(1)

    def leaf(path, shape):
        name = jax.tree_util.keystr(path).lower()
        if not np.issubdtype(shape.dtype, np.floating):
            return np.zeros(shape.shape, shape.dtype)
        noise = random.standard_normal(shape.shape)
        if len(shape.shape) < 2:
            made = 1 + .1 * np.abs(noise) if 'scale' in name or 'var' in name else .02 * noise
        else:
            made = noise / np.sqrt(np.prod(shape.shape[:-1]))
        return made.astype(shape.dtype)

    return jax.tree_util.tree_map_with_path(leaf, jax.eval_shape(init, *arguments))


def zeros(init, *arguments):
    """Zeros of the shapes that `init` would make: an optimiser's first state."""
    return jax.tree.map(lambda shape: np.zeros(shape.shape, shape.dtype), jax.eval_shape(init, *arguments))


def key(seed=0):
    """The bits of a random key of jax."""
    return np.array([0, seed], np.uint32)


def training_step(loss, optimiser):
    """One step of an optax optimiser: new parameters, state and the loss."""
    import optax

    def step(parameters, state, *batch):
        value, gradient = jax.value_and_grad(loss)(parameters, *batch)
        update, state = optimiser.update(gradient, state, parameters)
        return optax.apply_updates(parameters, update), state, value
    return step
