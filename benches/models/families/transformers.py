"""Transformers: flax, equinox and haiku modules, trained with optax."""
import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

from program import integers, key, normal, program, training_step, weights, zeros


class Block(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x, mask=None):
        attend = nn.MultiHeadDotProductAttention(num_heads=self.heads, deterministic=True)
        x = x + attend(nn.LayerNorm()(x), mask=mask)
        h = nn.gelu(nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x)))
        return x + nn.Dense(x.shape[-1])(h)


class GPT(nn.Module):
    words: int
    width: int
    layers: int
    heads: int

    @nn.compact
    def __call__(self, tokens):
        embedding = nn.Embed(self.words, self.width)
        x = embedding(tokens) + nn.Embed(1024, self.width)(jnp.arange(tokens.shape[1]))
        for _ in range(self.layers):
            x = Block(self.heads)(x, nn.make_causal_mask(tokens))
        return embedding.attend(nn.LayerNorm()(x))


def next_word_loss(logits, tokens):
    return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:]).mean()


@program()
def gpt_forward():
    model, tokens = GPT(8192, 384, 6, 6), integers(8192, 1, 256)
    return model.apply, (weights(model.init, key(), tokens), tokens)


@program(tolerance=1e-3, why='gradients of biases of keys cancel, and Adam divides by their size')
def gpt_training_step():
    model, tokens = GPT(4096, 256, 4, 4), integers(4096, 4, 128)
    parameters, optimiser = weights(model.init, key(), tokens), optax.adamw(1e-4, eps=1e-5)
    loss = lambda parameters, tokens: next_word_loss(model.apply(parameters, tokens), tokens)
    return training_step(loss, optimiser), (parameters, zeros(optimiser.init, parameters), tokens)


def rotate(x, positions):
    """Rotary embedding of [batch, time, heads, channels]."""
    half = x.shape[-1] // 2
    angle = positions[:, None, None] * (10000.0 ** (-jnp.arange(half) / half))
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1).astype(x.dtype)


def rms_norm(x, scale):
    f = x.astype(jnp.float32)
    return (f * jax.lax.rsqrt(jnp.mean(f * f, -1, keepdims=True) + 1e-6)).astype(x.dtype) * scale


def llama_parameters(width, heads, key_heads, hidden, dtype=np.float32):
    channels = width // heads
    shape = dict(q=(width, heads, channels), k=(width, key_heads, channels), v=(width, key_heads, channels), o=(heads * channels, width),
                 gate=(width, hidden), up=(width, hidden), down=(hidden, width), scale_attention=(width,), scale_mlp=(width,))
    return {name: (1 + normal(*s, scale=.1) if name.startswith('scale') else normal(*s, seed=len(name), scale=s[0]**-.5)).astype(dtype) for name, s in shape.items()}


def llama_block(p, x, cache=None, at=0):
    """Grouped-query attention with rotary embedding, then a gated product; with a cache of keys and values, one step of decoding."""
    h, positions = rms_norm(x, p['scale_attention']), at + jnp.arange(x.shape[1])
    q, k, v = (jnp.einsum('btd,dhc->bthc', h, p[name]) for name in 'qkv')
    q, k = rotate(q, positions), rotate(k, positions)
    if cache is not None:
        k, v = cache = tuple(jax.lax.dynamic_update_slice(old, new, (0, at, 0, 0)) for old, new in zip(cache, (k, v)))
    groups = q.reshape(*q.shape[:2], k.shape[2], -1, q.shape[-1])
    scores = jnp.einsum('btgnc,bsgc->bgnts', groups, k).astype(jnp.float32) * q.shape[-1]**-.5
    scores = jnp.where(positions[:, None] >= jnp.arange(k.shape[1]), scores, -1e30)
    mixed = jnp.einsum('bgnts,bsgc->btgnc', jax.nn.softmax(scores, -1).astype(x.dtype), v)
    x = x + mixed.reshape(*x.shape[:2], -1) @ p['o']
    h = rms_norm(x, p['scale_mlp'])
    return x + (jax.nn.silu(h @ p['gate']) * (h @ p['up'])) @ p['down'], cache


@program()
def llama_block_training_step():
    parameters, optimiser = llama_parameters(512, 8, 2, 1408), optax.adafactor(1e-3)
    loss = lambda p, x, y: jnp.mean((llama_block(p, x)[0] - y)**2)
    x, y = normal(2, 256, 512), normal(2, 256, 512, seed=1)
    return training_step(loss, optimiser), (parameters, zeros(optimiser.init, parameters), x, y)


@program(tolerance=3e-2, why='bf16 has 8 bits, and roundings differ where sums do')
def llama_block_bf16():
    bf16 = jnp.bfloat16
    return lambda p, x: llama_block(p, x)[0], (llama_parameters(512, 8, 2, 1408, bf16), normal(1, 256, 512, dtype=bf16))


@program()
def llama_decoding():
    """A token through four blocks with caches of 1024."""
    layers, cache = [llama_parameters(512, 8, 2, 1408) for _ in range(4)], [tuple(normal(1, 1024, 2, 64, seed=s) for s in (1, 2)) for _ in range(4)]

    def step(layers, caches, x, at):
        kept = []
        for p, cache in zip(layers, caches):
            x, cache = llama_block(p, x, cache, at)
            kept.append(cache)
        return x, kept
    return step, (layers, cache, normal(1, 1, 512), np.int32(700))


def mixture(p, x, chosen=2, capacity=1.25):
    """Each token goes to two experts, as long as they have room."""
    tokens, experts = x.shape[0], p['router'].shape[1]
    room = int(capacity * chosen * tokens / experts)
    gates, index = jax.lax.top_k(jax.nn.softmax(x @ p['router']), chosen)
    gates = gates / gates.sum(-1, keepdims=True)
    hot = jax.nn.one_hot(index, experts, dtype=jnp.int32).reshape(-1, experts)
    place = ((jnp.cumsum(hot, 0) - 1) * hot).sum(-1).reshape(tokens, chosen)
    kept = place < room
    slot = jnp.where(kept, index * room + place, experts * room)
    buffer = jnp.zeros((experts * room + 1, x.shape[1])).at[slot.reshape(-1)].set(jnp.repeat(x, chosen, 0), mode='drop')
    h = jax.nn.relu(jnp.einsum('erd,edh->erh', buffer[:-1].reshape(experts, room, -1), p['up']))
    out = jnp.einsum('erh,ehd->erd', h, p['down']).reshape(experts * room, -1)
    return (out[jnp.minimum(slot, experts * room - 1)] * (gates * kept)[..., None]).sum(1)


def mixture_arguments():
    return dict(router=normal(256, 8, scale=.1), up=normal(8, 256, 512, scale=.06), down=normal(8, 512, 256, scale=.04)), normal(1024, 256)


@program()
def mixture_of_experts():
    return mixture, mixture_arguments()


@program()
def mixture_of_experts_training_step():
    optimiser, (parameters, x) = optax.sgd(1e-2, momentum=.9), mixture_arguments()
    loss = lambda p, x: jnp.mean((mixture(p, x) - x)**2)
    return training_step(loss, optimiser), (parameters, zeros(optimiser.init, parameters), x)


@program()
def expert_choice_routing():
    """Each expert takes the 256 tokens it likes best: sparse routing by top-k, gather and scatter."""
    def route(p, x):
        affinity = jax.nn.softmax(x @ p['router'], -1).T
        gate, index = jax.lax.top_k(affinity, 256)
        h = jnp.einsum('erh,ehd->erd', jax.nn.gelu(jnp.einsum('erd,edh->erh', x[index], p['up'])), p['down'])
        return jnp.zeros_like(x).at[index].add(gate[..., None] * h)
    return route, mixture_arguments()


class ViT(nn.Module):
    @nn.compact
    def __call__(self, images):
        x = nn.Conv(192, (16, 16), (16, 16))(images)
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        x = jnp.concatenate([jnp.broadcast_to(self.param('class', nn.initializers.zeros, (1, 1, 192)), (x.shape[0], 1, 192)), x], 1)
        x = x + self.param('positions', nn.initializers.normal(.02), (1, x.shape[1], 192))
        for _ in range(6):
            x = Block(3)(x)
        return nn.Dense(1000)(nn.LayerNorm()(x[:, 0]))


@program()
def vision_transformer():
    model, images = ViT(), normal(2, 224, 224, 3)
    return model.apply, (weights(model.init, key(), images), images)


@program()
def bert_haiku():
    """Haiku's attention, with a mask for padding, and masked words to guess."""
    def forward(tokens, lengths):
        x = hk.Embed(4096, 256)(tokens) + hk.get_parameter('positions', (128, 256), init=hk.initializers.RandomNormal(.02))
        mask = (jnp.arange(128) < lengths[:, None])[:, None, None, :]
        for _ in range(4):
            h = hk.LayerNorm(-1, True, True)(x)
            x = x + hk.MultiHeadAttention(4, 64, w_init=hk.initializers.VarianceScaling(1.0))(h, h, h, mask)
            h = hk.LayerNorm(-1, True, True)(x)
            x = x + hk.Sequential([hk.Linear(1024), jax.nn.gelu, hk.Linear(256)])(h)
        return jnp.argmax(hk.Linear(4096)(x), -1), x
    model = hk.without_apply_rng(hk.transform(forward))
    tokens, lengths = integers(4096, 4, 128), np.array([128, 100, 57, 3], np.int32)
    return model.apply, (weights(model.init, key(), tokens, lengths), tokens, lengths)


@program()
def encoder_equinox():
    """Equinox's own attention and layers under vmap."""
    def encoder(key):
        keys = jax.random.split(key, 3)
        return dict(attention=eqx.nn.MultiheadAttention(4, 256, key=keys[0]), mlp=eqx.nn.MLP(256, 256, 1024, 1, jax.nn.silu, key=keys[1]),
                    norms=(eqx.nn.LayerNorm(256), eqx.nn.RMSNorm(256)))
    shapes = eqx.filter_eval_shape(encoder, jax.random.PRNGKey(0))
    arrays, static = eqx.partition(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def forward(arrays, x):
        p = eqx.combine(arrays, static)

        def one(x):
            h = jax.vmap(p['norms'][0])(x)
            x = x + p['attention'](h, h, h, mask=jnp.tril(jnp.ones((x.shape[0],) * 2, bool)))
            return x + jax.vmap(p['mlp'])(jax.vmap(p['norms'][1])(x))
        for _ in range(3):
            x = jax.vmap(one)(x)
        return x
    return forward, (weights(lambda: arrays), normal(4, 128, 256))


@program(tolerance=2e-2, why='a value that lies between two bytes may be rounded to either')
def quantised_int8_inference():
    """Activations are quantised per row as they come, weights are stored as bytes; products of bytes are summed in 32 bits."""
    def quantise(x):
        scale = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
        return jnp.round(x / scale).astype(jnp.int8), scale

    def linear(x, w):
        q, scale = quantise(x)
        return jax.lax.dot_general(q, w['q'], (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32) * scale * w['scale']

    def forward(layers, x):
        for up, down in layers:
            x = x + linear(jax.nn.gelu(linear(x, up)), down)
        return x
    make = lambda n, m, s: dict(q=integers(255, n, m, seed=s).astype(np.int16).__sub__(127).astype(np.int8), scale=np.full(m, 1 / (73 * n**.5), np.float32))
    return forward, ([(make(512, 2048, s), make(2048, 512, s + 1)) for s in range(4)], normal(256, 512))
