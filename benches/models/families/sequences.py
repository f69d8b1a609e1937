"""Recurrences, scans and dilated convolutions."""
import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import optax

from program import integers, key, normal, program, training_step, weights, zeros


class WaveNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(64, (1,))(x)
        skip = 0
        for layer in range(10):
            h = nn.Conv(128, (2,), kernel_dilation=(2**(layer % 5),), padding='CAUSAL')(x)
            h = jnp.tanh(h[..., :64]) * nn.sigmoid(h[..., 64:])
            skip = skip + nn.Conv(64, (1,))(h)
            x = x + nn.Conv(64, (1,))(h)
        return nn.Conv(256, (1,))(nn.relu(skip))


@program()
def wavenet_forward():
    model, x = WaveNet(), normal(1, 4096, 1)
    return model.apply, (weights(model.init, key(), x), x)


@program()
def wavenet_training_step():
    model, x, labels = WaveNet(), normal(1, 2048, 1), integers(256, 1, 2048)
    parameters, optimiser = weights(model.init, key(), x), optax.adam(1e-4)
    loss = lambda p, x, labels: optax.softmax_cross_entropy_with_integer_labels(model.apply(p, x), labels).mean()
    return training_step(loss, optimiser), (parameters, zeros(optimiser.init, parameters), x, labels)


class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, x):
        forward = nn.RNN(nn.OptimizedLSTMCell(128))(x)
        backward = nn.RNN(nn.OptimizedLSTMCell(128), reverse=True, keep_order=True)(x)
        return nn.Dense(10)(jnp.concatenate([forward, backward], -1).max(1))


@program()
def lstm_forward():
    model, x = Recurrent(), normal(16, 64, 64)
    return model.apply, (weights(model.init, key(), x), x)


@program()
def lstm_training_step():
    model, x, labels = Recurrent(), normal(16, 64, 64), integers(10, 16)
    parameters, optimiser = weights(model.init, key(), x), optax.rmsprop(1e-4)
    loss = lambda p, x, labels: optax.softmax_cross_entropy_with_integer_labels(model.apply(p, x), labels).mean()
    return training_step(loss, optimiser), (parameters, zeros(optimiser.init, parameters), x, labels)


@program()
def gru_haiku():
    def forward(x):
        core = hk.GRU(192)
        out, state = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return hk.Linear(32)(out), state
    model, x = hk.without_apply_rng(hk.transform(forward)), normal(96, 16, 64)
    return model.apply, (weights(model.init, key(), x), x)


@program()
def gru_equinox():
    """A cell in a scan under vmap, with a gradient through it."""
    shapes = eqx.filter_eval_shape(lambda k: eqx.nn.GRUCell(32, 64, key=k), jax.random.PRNGKey(0))
    arrays, static = eqx.partition(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(arrays, x):
        cell = eqx.combine(arrays, static)
        last = jax.vmap(lambda x: jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(64), x)[0])(x)
        return (last**2).mean()
    return jax.value_and_grad(loss), (weights(lambda: arrays), normal(32, 100, 32))


@program(tolerance=1e-3, why='a recurrence of 1024 steps is summed in another order')
def s4_diagonal():
    """A diagonal state space: its kernel by a Vandermonde product, applied by a Fourier transform."""
    def layer(p, u):
        step = jnp.exp(p['step'])[:, None]
        a = -jnp.exp(p['decay']) + 1j * p['frequency']
        c = (p['c'][..., 0] + 1j * p['c'][..., 1]) * (jnp.exp(a * step) - 1) / a
        length = u.shape[0]
        kernel = 2 * jnp.einsum('hn,hnl->hl', c, jnp.exp((a * step)[..., None] * jnp.arange(length))).real
        y = jnp.fft.irfft(jnp.fft.rfft(u.T, n=2 * length) * jnp.fft.rfft(kernel, n=2 * length), n=2 * length)[:, :length].T
        return jax.nn.gelu(y + u * p['d']) @ p['out'] + u

    def forward(layers, u):
        for p in layers:
            u = layer(p, u)
        return u
    make = lambda s: dict(step=normal(64, seed=s, scale=.3) - 5, decay=normal(64, 16, scale=.1) - .7, frequency=normal(64, 16, seed=s, scale=30.0), c=normal(64, 16, 2, seed=s, scale=.5), d=normal(64, seed=s), out=normal(64, 64, seed=s, scale=.1))
    return forward, ([make(s) for s in range(3)], normal(1024, 64))


@program(tolerance=1e-3, why='a recurrence of 1024 steps is summed in another order')
def linear_recurrence():
    """The same kind of layer by an associative scan over complex states (S5, LRU)."""
    def layer(p, u):
        a = jnp.exp(-jnp.exp(p['decay']) + 1j * p['phase'])
        b = u @ (p['b'][..., 0] + 1j * p['b'][..., 1])
        _, x = jax.lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (jnp.broadcast_to(a, b.shape), b))
        return jax.nn.gelu((x @ (p['c'][..., 0] + 1j * p['c'][..., 1])).real) + u
    p = dict(decay=normal(64, scale=.1) - 2, phase=normal(64), b=normal(64, 64, 2, scale=.1), c=normal(64, 64, 2, scale=.1))
    return layer, (p, normal(1024, 64))


def selective_scan(p, x):
    """The core of Mamba: a state per channel whose decay depends on the input."""
    rank, states = p['step_up'].shape[0], p['a'].shape[1]
    h, gate = jnp.split(x @ p['into'], 2, -1)
    padded = jnp.pad(h, ((0, 0), (3, 0), (0, 0)))
    h = jax.nn.silu(sum(padded[:, k:k + h.shape[1]] * p['conv'][k] for k in range(4)))
    step, b, c = jnp.split(h @ p['project'], (rank, rank + states), -1)
    step = jax.nn.softplus(step @ p['step_up'] + p['step_bias'])

    def advance(state, at):
        h, step, b, c = at
        state = state * jnp.exp(-jnp.exp(p['a']) * step[..., None]) + (step * h)[..., None] * b[:, None]
        return state, (state * c[:, None]).sum(-1)
    state = jnp.zeros((x.shape[0], h.shape[2], states))
    _, y = jax.lax.scan(advance, state, tuple(v.swapaxes(0, 1) for v in (h, step, b, c)))
    return x + ((y.swapaxes(0, 1) + h * p['d']) * jax.nn.silu(gate)) @ p['out']


def mamba_arguments():
    p = dict(into=normal(128, 512, scale=.09), conv=normal(4, 256, scale=.5), project=normal(256, 8 + 32, scale=.06), step_up=normal(8, 256, scale=.3),
             step_bias=normal(256) - 3, a=normal(256, 16, scale=.5), d=normal(256), out=normal(256, 128, scale=.06))
    return p, normal(2, 256, 128)


@program()
def mamba_forward():
    return selective_scan, mamba_arguments()


@program()
def mamba_training_step():
    optimiser, (parameters, x) = optax.adamw(1e-4), mamba_arguments()
    return training_step(lambda p, x: (selective_scan(p, x)**2).mean(), optimiser), (parameters, zeros(optimiser.init, parameters), x)
