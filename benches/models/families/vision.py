"""Convolutional networks of flax, and a step of diffusion."""
from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from program import integers, key, normal, program, training_step, weights, zeros


class Bottleneck(nn.Module):
    channels: int
    stride: int
    train: bool
    activation: Callable

    @nn.compact
    def __call__(self, x):
        norm = lambda: nn.BatchNorm(use_running_average=not self.train)
        h = self.activation(norm()(nn.Conv(self.channels, (1, 1), use_bias=False)(x)))
        h = self.activation(norm()(nn.Conv(self.channels, (3, 3), (self.stride,) * 2, use_bias=False)(h)))
        h = norm()(nn.Conv(4 * self.channels, (1, 1), use_bias=False)(h))
        if x.shape != h.shape:
            x = norm()(nn.Conv(4 * self.channels, (1, 1), (self.stride,) * 2, use_bias=False)(x))
        return self.activation(x + h)


class ResNet(nn.Module):
    blocks: tuple
    train: bool = False
    activation: Callable = nn.relu

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(64, (7, 7), (2, 2), use_bias=False)(x)
        x = self.activation(nn.BatchNorm(use_running_average=not self.train)(x))
        x = nn.max_pool(x, (3, 3), (2, 2), 'SAME')
        for stage, blocks in enumerate(self.blocks):
            for block in range(blocks):
                x = Bottleneck(64 * 2**stage, 2 if stage and not block else 1, self.train, self.activation)(x)
        return nn.Dense(1000)(x.mean((1, 2)))


@program()
def resnet50_forward():
    model, images = ResNet((3, 4, 6, 3)), normal(1, 224, 224, 3)
    return model.apply, (weights(model.init, key(), images), images)


@program(tolerance=2e-3, why='52 normalisations by the variance of a small batch amplify rounding')
def resnet50_training_step():
    # With relu, rounding decides whether a pixel near zero passes its gradient on. The last stage has only 16 pixels.
    model, images, labels = ResNet((3, 4, 6, 3), True, nn.silu), normal(4, 64, 64, 3), integers(1000, 4)
    variables, optimiser = weights(model.init, key(), images), optax.sgd(.01, momentum=.9)

    def loss(parameters, statistics, images, labels):
        logits, changed = model.apply(dict(params=parameters, batch_stats=statistics), images, mutable=['batch_stats'])
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), changed['batch_stats']

    def step(parameters, statistics, state, images, labels):
        (value, statistics), gradient = jax.value_and_grad(loss, has_aux=True)(parameters, statistics, images, labels)
        update, state = optimiser.update(gradient, state)
        return optax.apply_updates(parameters, update), statistics, state, value
    parameters = variables['params']
    return step, (parameters, variables['batch_stats'], zeros(optimiser.init, parameters), images, labels)


class Residual(nn.Module):
    channels: int

    @nn.compact
    def __call__(self, x, time):
        h = nn.Conv(self.channels, (3, 3))(nn.swish(nn.GroupNorm(8)(x)))
        h = h + nn.Dense(self.channels)(nn.swish(time))[:, None, None]
        h = nn.Conv(self.channels, (3, 3))(nn.swish(nn.GroupNorm(8)(h)))
        return h + (x if x.shape == h.shape else nn.Conv(self.channels, (1, 1))(x))


class UNet(nn.Module):
    @nn.compact
    def __call__(self, x, t):
        frequency = jnp.exp(-jnp.arange(32) / 32 * jnp.log(1e4))
        time = jnp.concatenate([jnp.sin(t[:, None] * frequency), jnp.cos(t[:, None] * frequency)], -1)
        time = nn.Dense(128)(nn.swish(nn.Dense(128)(time)))
        h = nn.Conv(32, (3, 3))(x)
        kept = []
        for channels in (32, 64, 128):
            h = Residual(channels)(h, time)
            kept.append(h)
            h = nn.Conv(channels, (3, 3), (2, 2))(h)
        pixels = h.reshape(h.shape[0], -1, h.shape[-1])
        h = h + nn.MultiHeadDotProductAttention(num_heads=4, deterministic=True)(nn.LayerNorm()(pixels)).reshape(h.shape)
        for channels in (128, 64, 32):
            h = jax.image.resize(h, (h.shape[0], 2 * h.shape[1], 2 * h.shape[2], h.shape[3]), 'nearest')
            h = Residual(channels)(jnp.concatenate([h, kept.pop()], -1), time)
        return nn.Conv(3, (3, 3))(nn.swish(nn.GroupNorm(8)(h)))


@program()
def unet_denoising_step():
    model, x, t = UNet(), normal(2, 64, 64, 3), np.full(2, 300, np.float32)

    def step(parameters, key, x, t):
        alpha = jnp.cumprod(1 - jnp.linspace(1e-4, .02, 1000))
        index = t[0].astype(int)
        noise = model.apply(parameters, x, t)
        mean = (x - (1 - alpha[index] / alpha[index - 1]) / jnp.sqrt(1 - alpha[index]) * noise) / jnp.sqrt(alpha[index] / alpha[index - 1])
        return mean + .01 * jax.random.normal(key, x.shape)
    return step, (weights(model.init, key(), x, t), key(3), x, t)


class MobileBlock(nn.Module):
    channels: int
    stride: int

    @nn.compact
    def __call__(self, x):
        h = nn.relu6(nn.Conv(6 * x.shape[-1], (1, 1))(x))
        h = nn.relu6(nn.Conv(h.shape[-1], (3, 3), (self.stride,) * 2, feature_group_count=h.shape[-1])(h))
        gate = nn.sigmoid(nn.Dense(h.shape[-1])(nn.relu(nn.Dense(x.shape[-1] // 4)(h.mean((1, 2))))))
        h = nn.Conv(self.channels, (1, 1))(h * gate[:, None, None])
        return x + h if x.shape == h.shape else h


class MobileNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu6(nn.Conv(32, (3, 3), (2, 2))(x))
        for channels, stride in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1), (80, 2), (80, 1), (112, 1), (192, 2), (192, 1)):
            x = MobileBlock(channels, stride)(x)
        return nn.Dense(1000)(nn.avg_pool(x, (7, 7)).reshape(x.shape[0], -1))


@program()
def mobilenet_forward():
    model, images = MobileNet(), normal(2, 224, 224, 3)
    return model.apply, (weights(model.init, key(), images), images)


class Mixer(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(128, (8, 8), (8, 8))(x)
        x = x.reshape(x.shape[0], -1, 128)
        for _ in range(4):
            h = nn.LayerNorm()(x).swapaxes(1, 2)
            x = x + nn.Dense(x.shape[1])(nn.gelu(nn.Dense(256)(h))).swapaxes(1, 2)
            x = x + nn.Dense(128)(nn.gelu(nn.Dense(512)(nn.LayerNorm()(x))))
        return nn.Dense(10)(x.mean(1))


@program()
def mixer_training_step():
    model, images, labels = Mixer(), normal(8, 96, 96, 3), integers(10, 8)
    parameters, optimiser = weights(model.init, key(), images), optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-4))
    loss = lambda p, images, labels: optax.softmax_cross_entropy(model.apply(p, images), optax.smooth_labels(jax.nn.one_hot(labels, 10), .1)).mean()
    return training_step(loss, optimiser), (parameters, zeros(optimiser.init, parameters), images, labels)
