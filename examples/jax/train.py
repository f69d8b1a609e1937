#!/usr/bin/env python3
"""Trains a small language model on the help texts of Python. The script uses nothing of fusebox.

    JAX_PLATFORMS=cpu python train.py --losses cpu.json
    JAX_PLATFORMS=fusebox,cpu python train.py --losses fusebox.json
    python train.py --plot loss.svg cpu.json fusebox.json

The model is a transformer over characters. Every hundredth step writes a checkpoint, if --checkpoint names a file. A run
that finds the file continues from there, with the same batches as a run without interruption.
"""
import argparse
import json
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

CONTEXT, BATCH = 128, 16
WIDTH, HEADS, LAYERS = 128, 4, 4


def text():
    """The help texts of Python, as numbers of characters, and the number of different characters."""
    from pydoc_data.topics import topics
    characters = ''.join(topics[name] for name in sorted(topics))
    alphabet = {character: number for number, character in enumerate(sorted(set(characters)))}
    return np.array([alphabet[character] for character in characters], np.int32), len(alphabet)


def batch(data, step):
    """The batch of a step: random pieces of the text, which depend only on the step."""
    starts = np.random.default_rng(step).integers(0, len(data) - CONTEXT - 1, BATCH)
    return np.stack([data[start:start + CONTEXT + 1] for start in starts])


def initial(key, symbols):
    """Random weights."""
    keys = iter(jax.random.split(key, 3 + 4 * LAYERS))
    matrix = lambda rows, columns: jax.random.normal(next(keys), (rows, columns)) / np.sqrt(rows)
    layer = lambda: dict(
        norm=jnp.ones(WIDTH), attention=matrix(WIDTH, 3 * WIDTH), output=matrix(WIDTH, WIDTH),
        norm_of_mlp=jnp.ones(WIDTH), up=matrix(WIDTH, 4 * WIDTH), down=matrix(4 * WIDTH, WIDTH))
    return dict(
        symbols=matrix(symbols, WIDTH), positions=matrix(CONTEXT, WIDTH), layers=[layer() for _ in range(LAYERS)],
        norm=jnp.ones(WIDTH), logits=matrix(WIDTH, symbols))


def normalised(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def attention(layer, x):
    length = x.shape[1]
    parts = normalised(x, layer['norm']) @ layer['attention']
    query, key, value = (part.reshape(-1, length, HEADS, WIDTH // HEADS) for part in jnp.split(parts, 3, -1))
    scores = jnp.einsum('bqhd,bkhd->bhqk', query, key) / np.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    mixed = jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(scores), value)
    return mixed.reshape(x.shape) @ layer['output']


def mlp(layer, x):
    return jax.nn.gelu(normalised(x, layer['norm_of_mlp']) @ layer['up']) @ layer['down']


def loss(weights, tokens):
    """Mean cross entropy of the next character."""
    x = weights['symbols'][tokens[:, :-1]] + weights['positions']
    for layer in weights['layers']:
        x = x + attention(layer, x)
        x = x + mlp(layer, x)
    logits = normalised(x, weights['norm']) @ weights['logits']
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


def saved(path, step, state, losses):
    """Writes a checkpoint, and renames it when it is complete."""
    leaves = {f'leaf_{number}': np.asarray(leaf) for number, leaf in enumerate(jax.tree.leaves(state))}
    with open(f'{path}.new', 'wb') as file:
        np.savez(file, step=step, losses=losses, **leaves)
    os.replace(f'{path}.new', path)


def restored(path, state):
    """Reads a checkpoint into the form of `state`."""
    with np.load(path) as file:
        leaves = [file[f'leaf_{number}'] for number in range(len(jax.tree.leaves(state)))]
        return int(file['step']), jax.tree.unflatten(jax.tree.structure(state), leaves), file['losses'].tolist()


def train(steps, checkpoint):
    """Trains, and returns the loss of each step and the seconds of this run."""
    data, symbols = text()
    optimiser = optax.adamw(optax.warmup_cosine_decay_schedule(0, 3e-3, 50, 1000), weight_decay=0.01)
    weights = initial(jax.random.key(0), symbols)
    state, first, losses = (weights, optimiser.init(weights)), 0, []
    if checkpoint and os.path.exists(checkpoint):
        first, state, losses = restored(checkpoint, state)
        print(f'continues from step {first}')

    def one_step(state, tokens):
        weights, moments = state
        value, gradient = jax.value_and_grad(loss)(weights, tokens)
        updates, moments = optimiser.update(gradient, moments, weights)
        return (optax.apply_updates(weights, updates), moments), value

    one_step = jax.jit(one_step, donate_argnums=0)
    begin = time.perf_counter()
    for step in range(first, steps):
        state, value = one_step(state, batch(data, step))
        losses.append(float(value))
        if (step + 1) % 50 == 0:
            print(f'step {step + 1}: loss {losses[-1]:.4f}, {time.perf_counter() - begin:.1f} s', flush=True)
        if checkpoint and (step + 1) % 100 == 0:
            saved(checkpoint, step + 1, state, losses)
    return losses, time.perf_counter() - begin


def plot(path, files):
    """Draws the losses of several runs."""
    import matplotlib
    matplotlib.use('svg')
    import matplotlib.pyplot as pyplot
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for file in files:
        with open(file) as opened:
            run = json.load(opened)
        axes.plot(run['losses'], label=f'{run["platform"]}, {run["seconds"]:.0f} s', linewidth=1)
    axes.set_xlabel('step')
    axes.set_ylabel('loss')
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata=dict(Date=None))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--steps', type=int, default=300)
    parser.add_argument('--checkpoint', help='an npz file')
    parser.add_argument('--losses', help='a JSON file to write')
    parser.add_argument('--plot', nargs='+', metavar='FILE', help='an SVG file to write, then JSON files of --losses')
    options = parser.parse_args()
    if options.plot:
        return plot(options.plot[0], options.plot[1:])
    losses, seconds = train(options.steps, options.checkpoint)
    print(f'{jax.default_backend()}: loss {losses[-1]:.4f} after {len(losses)} steps, {seconds:.1f} s')
    if options.losses:
        with open(options.losses, 'w') as file:
            json.dump(dict(platform=jax.default_backend(), losses=losses, seconds=seconds), file)


if __name__ == '__main__':
    main()
