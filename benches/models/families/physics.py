"""Differential equations, bodies and fields: diffrax, brax, mujoco-mjx, plain jax."""
import jax
import jax.numpy as jnp
import numpy as np

from program import key, normal, program


@program(tolerance=1e-3, why='the adaptive step follows an error estimate, a difference of close numbers')
def neural_ode_diffrax():
    """Tsitouras' method with an adaptive step on a neural field, and the gradient through it."""
    import diffrax

    def loss(p, y, target):
        field = lambda t, y, p: jnp.tanh(jnp.tanh(y @ p['a']) @ p['b']) @ p['c']
        made = diffrax.diffeqsolve(diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, 1.0, .1, y, args=p, stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-5), max_steps=64)
        return ((made.ys[-1] - target) ** 2).mean()
    p = dict(a=normal(8, 64, scale=.3), b=normal(64, 64, scale=.15), c=normal(64, 8, scale=.15))
    return jax.value_and_grad(loss), (p, normal(64, 8), normal(64, 8, seed=1))


@program(tolerance=1e-9, why='f64; 400 implicit steps', x64=True)
def stiff_ode_diffrax():
    """Kværnø's implicit method on Robertson's reactions in f64: Newton iterations with LU."""
    import diffrax

    def run(rates, y):
        def field(t, y, k):
            a = -k[0] * y[0] + k[2] * y[1] * y[2]
            c = k[1] * y[1] ** 2
            return jnp.stack([a, -a - c, c])
        made = diffrax.diffeqsolve(diffrax.ODETerm(field), diffrax.Kvaerno5(), 0.0, 100.0, 2e-4, y, args=rates, saveat=diffrax.SaveAt(ts=jnp.array([1.0, 10.0, 100.0])),
                                   stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-10))
        return made.ys
    return run, (np.array([.04, 3e7, 1e4]), np.array([1.0, 0, 0]))


@program(tolerance=1e-3, why='a random path of 500 steps')
def stochastic_ode_diffrax():
    import diffrax

    def one(key, y):
        path = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (4,), jax.random.wrap_key_data(key))
        terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, y, _: -y), diffrax.ControlTerm(lambda t, y, _: .3 * jnp.diag(jnp.cos(y)), path))
        return diffrax.diffeqsolve(terms, diffrax.Heun(), 0.0, 1.0, .01, y).ys[-1]
    return jax.vmap(one), (np.arange(64, dtype=np.uint32).reshape(32, 2), normal(32, 4))


@program(tolerance=1e-3, why='500 steps of a system that doubles errors every 40')
def runge_kutta_lorenz():
    def run(y):
        def field(y):
            return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

        def step(y, _):
            h = .005
            a = field(y)
            b = field(y + h / 2 * a)
            c = field(y + h / 2 * b)
            y = y + h / 6 * (a + 2 * b + 2 * c + field(y + h * c))
            return y, y.mean(-1)
        return jax.lax.scan(step, y, None, length=500)
    return run, (normal(3, 1024) + 5,)


@program(tolerance=1e-3, why='contacts are stiff')
def brax_ant_steps():
    """Ten steps of 64 ants whose joints are springs."""
    from brax import envs
    environment = envs.create('ant', backend='spring', auto_reset=False, batch_size=64)

    def run(key, action):
        state, reward = jax.lax.scan(lambda s, a: ((n := environment.step(s, a)), n.reward), environment.reset(key), action)
        return state.obs, reward
    return run, (key(1), normal(10, 64, 8, scale=.3))


@program(tolerance=1e-3, why='a factorisation and an iterative solver in each step')
def mujoco_pendulums():
    """Steps of mujoco-mjx for a chain of links with contacts, 32 at once."""
    import mujoco
    from mujoco import mjx
    links = ''
    for k in range(4):
        links += f'<body pos="0 0 {-.3 if k else 1}"><joint type="hinge" axis="0 1 0" damping=".1"/><geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04"/>'
    model = mujoco.MjModel.from_xml_string(f'<mujoco><worldbody><geom type="plane" size="2 2 .1"/>{links}{"</body>" * 4}</worldbody></mujoco>')
    device = mjx.put_model(model)

    def run(position, velocity):
        def one(position, velocity):
            data = mjx.make_data(device).replace(qpos=position, qvel=velocity)
            data = jax.lax.fori_loop(0, 4, lambda _, d: mjx.step(device, d), data)
            return data.qpos, data.qvel, data.xpos
        return jax.vmap(one)(position, velocity)
    return run, (normal(32, model.nq, scale=.5), normal(32, model.nv))


@program(tolerance=1e-3, why='transforms in another order')
def navier_stokes_spectral():
    """Vorticity on a torus: five steps with products in space and derivatives in frequency."""
    n = 256

    def run(vorticity):
        k = jnp.fft.fftfreq(n, 1 / n)
        kx, ky = k[:, None], jnp.fft.rfftfreq(n, 1 / n)[None]
        square = kx**2 + ky**2
        inverse = jnp.where(square == 0, 0, 1 / jnp.where(square == 0, 1, square))
        kept = (jnp.abs(kx) < n / 3) & (ky < n / 3)

        def slope(w):
            flow = w * inverse
            u, v, wx, wy = (jnp.fft.irfft2(1j * f, s=(n, n)) for f in (ky * flow, -kx * flow, kx * w, ky * w))
            return jnp.where(kept, -jnp.fft.rfft2(u * wx + v * wy), 0)

        def step(_, w):
            half = w + .5e-3 * slope(w)
            return (w + 1e-3 * slope(half)) / (1 + 1e-6 * square)
        return jnp.fft.irfft2(jax.lax.fori_loop(0, 5, step, jnp.fft.rfft2(vorticity)), s=(n, n))
    return run, (normal(n, n),)


@program()
def lattice_boltzmann():
    velocity = np.array([(x, y) for x in (0, 1, -1) for y in (0, 1, -1)])
    share = np.array([4 / 9 / 4**(abs(velocity[i]).sum()) for i in range(9)], np.float32)

    def step(_, f):
        density = f.sum(-1)
        u = jnp.einsum('xyi,id->xyd', f, velocity.astype(np.float32)) / density[..., None]
        along = jnp.einsum('xyd,id->xyi', u, velocity.astype(np.float32))
        steady = density[..., None] * share * (1 + 3 * along + 4.5 * along**2 - 1.5 * (u**2).sum(-1, keepdims=True))
        f = f + .6 * (steady - f)
        return jnp.stack([jnp.roll(f[..., i], tuple(velocity[i]), (0, 1)) for i in range(9)], -1)
    f = (share * (1 + .05 * normal(256, 256, 1))).astype(np.float32)
    return lambda f: jax.lax.fori_loop(0, 10, step, f), (f,)


@program(tolerance=1e-3, why='forces between close atoms cancel')
def molecular_dynamics():
    """Lennard-Jones atoms in a periodic box: forces by the energy's gradient, velocity Verlet."""
    def energy(x, side):
        d = x[:, None] - x[None]
        d = d - side * jnp.round(d / side)
        square = (d**2).sum(-1) + jnp.eye(x.shape[0])
        s6 = (1 / square) ** 3
        return jnp.where((square < 9) & ~jnp.eye(x.shape[0], dtype=bool), 4 * (s6 * s6 - s6), 0).sum() / 2

    def run(x, v, side):
        force = jax.grad(lambda x: -energy(x, side))

        def step(_, state):
            x, v, f = state
            x = x + .002 * v + .000002 * f
            g = force(x)
            return x, v + .001 * (f + g), g
        return jax.lax.fori_loop(0, 10, step, (x, v, force(x)))
    lattice = 1.2 * np.stack(np.meshgrid(*[np.arange(8)] * 3), -1).reshape(-1, 3)
    return run, ((lattice + normal(512, 3, scale=.02)).astype(np.float32), normal(512, 3), np.float32(9.6))


@program(tolerance=1e-3, why='60 steps of conjugate gradients amplify rounding')
def poisson_conjugate_gradients():
    def run(b):
        def laplacian(x):
            p = jnp.pad(x, 1)
            return 4 * x - p[2:, 1:-1] - p[:-2, 1:-1] - p[1:-1, 2:] - p[1:-1, :-2]
        return jax.scipy.sparse.linalg.cg(laplacian, b, maxiter=60, tol=0.0)[0]
    return run, (normal(256, 256),)


@program(tolerance=5e-3, why='a line search compares close numbers')
def lbfgs_optax():
    """Ten steps of optax's L-BFGS with its line search."""
    import optax

    def run(x, a):
        value = lambda x: ((jnp.tanh(a @ x) - 1) ** 2).mean() + 1e-3 * (x**2).sum()
        solver = optax.lbfgs(linesearch=optax.scale_by_zoom_linesearch(max_linesearch_steps=8))
        both = optax.value_and_grad_from_state(value)

        def step(carry, _):
            x, state = carry
            v, g = both(x, state=state)
            update, state = solver.update(g, state, x, value=v, grad=g, value_fn=value)
            return (optax.apply_updates(x, update), state), v
        (x, _), values = jax.lax.scan(step, (x, solver.init(x)), None, length=10)
        return x, values
    return run, (normal(64), normal(512, 64))
