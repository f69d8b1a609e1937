"""Bayesian inference and estimation: numpyro, blackjax, tinygp, plain jax."""
import jax
import jax.numpy as jnp
import numpy as np

from program import integers, key, normal, program


@program(tolerance=2e-3, why='the matrix has a condition of 10⁴, which factorisation and solves multiply rounding by')
def gaussian_process():
    """The marginal likelihood's gradient and a prediction, by a Cholesky factor."""
    def kernel(p, a, b):
        distance = ((a[:, None] - b[None]) ** 2 / jnp.exp(p['length'])).sum(-1)
        return jnp.exp(p['size']) * jnp.exp(-.5 * distance)

    def solved(p, x, y):
        factor = jnp.linalg.cholesky(kernel(p, x, x) + (1e-2 + jnp.exp(p['noise'])) * jnp.eye(x.shape[0]))
        return factor, jax.scipy.linalg.cho_solve((factor, True), y)

    def loss(p, x, y):
        factor, alpha = solved(p, x, y)
        return .5 * y @ alpha + jnp.log(jnp.diag(factor)).sum()

    def both(p, x, y, new):
        value, gradient = jax.value_and_grad(loss)(p, x, y)
        factor, alpha = solved(p, x, y)
        across = kernel(p, new, x)
        variance = jnp.exp(p['size']) - (jax.scipy.linalg.solve_triangular(factor, across.T, lower=True) ** 2).sum(0)
        return value, gradient, across @ alpha, variance
    x = normal(384, 4)
    p = dict(length=np.zeros(4, np.float32), size=np.float32(.1), noise=np.float32(-3))
    return both, (p, x, np.sin(x.sum(1)), normal(128, 4, seed=1))


@program(tolerance=2e-3, why='as for gaussian_process')
def tinygp_likelihood():
    from tinygp import GaussianProcess, kernels

    def loss(p, x, y):
        kernel = jnp.exp(p['size']) * kernels.Matern32(jnp.exp(p['length'])) + kernels.ExpSineSquared(scale=1.5, gamma=.5)
        return GaussianProcess(kernel, x, diag=.1).log_probability(y)
    x = np.sort(normal(300, scale=10))
    return jax.value_and_grad(loss), (dict(size=np.float32(.2), length=np.float32(.1)), x, np.sin(x))


def regression():
    x = normal(1000, 16)
    return x, (x @ normal(16, seed=1) > 0).astype(np.int32)


@program(tolerance=5e-3, why='64 leapfrog steps multiply rounding')
def hamiltonian_step_numpyro():
    """A sampling step of numpyro's HMC on a logistic regression."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer.hmc import hmc
    from numpyro.infer.util import initialize_model

    def model(x, y):
        scale = numpyro.sample('scale', dist.HalfNormal(1.0))
        w = numpyro.sample('w', dist.Normal(jnp.zeros(x.shape[1]), scale).to_event(1))
        numpyro.sample('y', dist.Bernoulli(logits=x @ w), obs=y)
    x, y = regression()
    potential = lambda z, x, y: numpyro.infer.util.potential_energy(model, (x, y), {}, z)

    def step(key, z, x, y):
        init, sample = hmc(lambda z: potential(z, x, y), algo='HMC')
        state = init(z, num_warmup=0, step_size=.01, trajectory_length=.64, adapt_step_size=False, adapt_mass_matrix=False, rng_key=key)
        state = sample(state)
        return state.z, state.potential_energy, state.accept_prob
    return step, (key(1), dict(scale=np.float32(.1), w=normal(16, scale=.1)), x, y)


@program(tolerance=5e-3, why='as for hamiltonian_step_numpyro')
def nuts_step_blackjax():
    """Four steps of NUTS: trees grown by loops with conditions."""
    import blackjax

    def density(w, x, y):
        logits = x @ w
        return (y * logits - jnp.logaddexp(0.0, logits)).sum() - .5 * (w * w).sum()

    def run(key, w, x, y):
        nuts = blackjax.nuts(lambda w: density(w, x, y), .01, jnp.ones(16), max_num_doublings=5)
        state, info = jax.lax.scan(lambda state, key: nuts.step(key, state), nuts.init(w), jax.random.split(key, 4))
        return state.position, info.num_integration_steps
    return run, (key(2), normal(16, scale=.1), *regression())


@program()
def variational_step():
    """An autoencoder's evidence bound and its gradient, with samples of jax.random."""
    def loss(p, key, x):
        h = jax.nn.softplus(x @ p['in'])
        mean, log_deviation = jnp.split(h @ p['code'], 2, -1)
        z = mean + jnp.exp(log_deviation) * jax.random.normal(key, mean.shape)
        logits = jax.nn.softplus(z @ p['decode']) @ p['out']
        likelihood = (x * logits - jax.nn.softplus(logits)).sum(-1)
        divergence = .5 * (jnp.exp(2 * log_deviation) + mean**2 - 1 - 2 * log_deviation).sum(-1)
        return (divergence - likelihood).mean()
    p = {name: normal(*s, scale=s[0]**-.5) for name, s in dict(zip(('in', 'code', 'decode', 'out'), ((784, 400), (400, 40), (20, 400), (400, 784)))).items()}
    return jax.value_and_grad(loss), (p, key(5), integers(2, 128, 784).astype(np.float32))


@program(tolerance=2e-3, why='each of 200 steps inverts a matrix')
def kalman_filter():
    def step(state, y, a, c):
        mean, spread = state
        mean, spread = a @ mean, a @ spread @ a.T + .1 * jnp.eye(8)
        innovation = c @ spread @ c.T + .5 * jnp.eye(4)
        gain = jnp.linalg.solve(innovation, c @ spread).T
        error = y - c @ mean
        likelihood = -.5 * (error @ jnp.linalg.solve(innovation, error) + jnp.linalg.slogdet(innovation)[1])
        return (mean + gain @ error, spread - gain @ c @ spread), likelihood

    def run(a, c, y):
        (mean, spread), likelihood = jax.lax.scan(lambda state, y: step(state, y, a, c), (jnp.zeros(8), jnp.eye(8)), y)
        return mean, spread, likelihood.sum()
    return run, (.9 * np.eye(8, dtype=np.float32) + normal(8, 8, scale=.03), normal(4, 8), normal(200, 4))


@program()
def k_means():
    def step(points, centres):
        distance = (points**2).sum(1)[:, None] - 2 * points @ centres.T + (centres**2).sum(1)
        nearest = distance.argmin(1)
        count = jnp.zeros(centres.shape[0]).at[nearest].add(1)
        return jnp.zeros_like(centres).at[nearest].add(points) / jnp.maximum(count, 1)[:, None], nearest

    def run(points, centres):
        centres = jax.lax.fori_loop(0, 10, lambda _, c: step(points, c)[0], centres)
        return step(points, centres)
    points = normal(16384, 16) + 4 * normal(32, 16, seed=1)[integers(32, 16384)]
    return run, (points, points[:32] + np.float32(.1))


@program(tolerance=1e-9, why='f64, as resampling compares sums of weights with random numbers', x64=True)
def particle_filter():
    def run(key, y):
        def step(particles, at):
            key, y = at
            move, draw = jax.random.split(key)
            particles = .9 * particles + jax.random.normal(move, particles.shape)
            weight = jax.nn.softmax(-.5 * ((y - particles) ** 2).sum(-1))
            chosen = jax.random.choice(draw, particles.shape[0], (particles.shape[0],), p=weight)
            return particles[chosen], weight @ particles
        return jax.lax.scan(step, jnp.zeros((1024, 4)), (jax.random.split(key, 40), y))[1]
    return run, (key(4), normal(40, 4, dtype=np.float64))
