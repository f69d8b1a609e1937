"""Graph networks of jraph."""
import jax
import jax.numpy as jnp
import jraph
import numpy as np
import optax

from program import integers, normal, program, training_step, zeros

NODES, EDGES = 2048, 16384


def graph(nodes):
    senders, receivers = integers(NODES, EDGES), integers(NODES, EDGES, seed=1)
    return jraph.GraphsTuple(nodes=nodes, edges=normal(EDGES, 16), senders=senders, receivers=receivers, globals=normal(1, 8),
                             n_node=np.array([NODES], np.int32), n_edge=np.array([EDGES], np.int32))


@program()
def graph_convolution_training_step():
    optimiser, parameters = optax.adam(1e-4), [normal(64, 64, seed=s, scale=.12) for s in range(3)]

    def loss(parameters, graph, labels):
        for w in parameters:
            graph = jraph.GraphConvolution(lambda n, w=w: jax.nn.relu(n @ w), add_self_edges=True)(graph)
        return optax.softmax_cross_entropy_with_integer_labels(graph.nodes, labels).mean()
    return training_step(loss, optimiser), (parameters, zeros(optimiser.init, parameters), graph(normal(NODES, 64)), integers(64, NODES))


@program()
def graph_attention():
    def forward(p, graph):
        query = lambda n: (n @ p['w']).reshape(NODES, 4, 16)
        logit = lambda s, r, e: jax.nn.leaky_relu(jnp.concatenate([s, r], -1) @ p['a'], .2)
        return jraph.GAT(query, logit, lambda n: jax.nn.elu(n.reshape(NODES, -1)))(graph).nodes
    return forward, (dict(w=normal(64, 64, scale=.12), a=normal(32, 1, scale=.2)), graph(normal(NODES, 64)))


@program()
def interaction_network():
    """Messages along edges, with a state of the whole graph: jraph's GraphNetwork, twice."""
    def forward(p, graph):
        update = lambda name: lambda *parts: jax.nn.relu(jnp.concatenate([x for x in parts if x is not None], -1) @ p[name])
        net = jraph.GraphNetwork(lambda e, s, r, g: update('edge')(e, s, r, g), lambda n, s, r, g: update('node')(n, s, r, g), lambda n, e, g: update('whole')(n, e, g))
        graph = net(net(graph))
        return graph.nodes, graph.edges, graph.globals
    p = dict(edge=normal(16 + 64 + 64 + 8, 16, scale=.08), node=normal(64 + 16 + 16 + 8, 64, scale=.1), whole=normal(64 + 16 + 8, 8, scale=.01))
    return forward, (p, graph(normal(NODES, 64)))
