"""Training from the start of a process to the end of its steps: one program in three libraries.

`RUNS[name]` makes `(loss, parameters, data, rate)` of a `Kit`: the functions by which a library
spells what the programs need. `train(library, name)` takes `STEPS` steps of gradient descent. A
chain of Monte Carlo is a loss too: the energy of its last sample, and nothing is learned.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

STEPS = 100


class Kit(NamedTuple):
    """A library's own spellings. Images have their channels last; `loop` is a scan."""

    np: Any
    relu: Callable[[Any], Any]
    sigmoid: Callable[[Any], Any]
    softmax: Callable[[Any], Any]
    log_softmax: Callable[[Any], Any]
    conv: Callable[[Any, Any, int], Any]
    loop: Callable[[Callable[..., Any], Any, Any], Any]
    solve: Callable[[Any, Any], Any]
    diagonal: Callable[[Any], Any]
    concatenate: Callable[[Any], Any]
    double: Callable[[Any], Any]
    slope: Callable[[Callable[..., Any], Any], Any]


def kit_of_jax(jax: Any, jnp: Any) -> Kit:
    """The kit of JAX and of effax."""
    layout = ("NHWC", "HWIO", "NHWC")

    def conv(x: Any, w: Any, stride: int) -> Any:
        return jax.lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=layout
        )

    def loop(step: Callable[..., Any], carry: Any, xs: Any) -> Any:
        return jax.lax.scan(lambda c, x: (step(c, x), None), carry, xs)[0]

    return Kit(
        jnp,
        jax.nn.relu,
        jax.nn.sigmoid,
        jax.nn.softmax,
        jax.nn.log_softmax,
        conv,
        loop,
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
        jnp.diagonal,
        lambda xs: jnp.concatenate(xs, -1),
        lambda x: jnp.repeat(jnp.repeat(x, 2, 1), 2, 2),
        lambda f, x: jax.grad(f)(x),
    )


def kit_of_torch(torch: Any) -> Kit:
    """The kit of PyTorch, whose images are views with their channels in the second place."""
    nn = torch.nn.functional

    def conv(x: Any, w: Any, stride: int) -> Any:
        rows, columns = x.shape[1:3]
        high, wide = w.shape[:2]
        down = max((-(-rows // stride) - 1) * stride + high - rows, 0)
        across = max((-(-columns // stride) - 1) * stride + wide - columns, 0)
        first = x.permute(0, 3, 1, 2)
        edges = (across // 2, across - across // 2, down // 2, down - down // 2)
        found = nn.conv2d(nn.pad(first, edges), w.permute(3, 2, 0, 1), stride=stride)
        return found.permute(0, 2, 3, 1)

    def loop(step: Callable[..., Any], carry: Any, xs: Any) -> Any:
        for x in xs:
            carry = step(carry, x)
        return carry

    def double(x: Any) -> Any:
        return x.repeat_interleave(2, 1).repeat_interleave(2, 2)

    def slope(f: Callable[..., Any], x: Any) -> Any:
        with torch.enable_grad():
            given = x.detach().requires_grad_()
            return torch.autograd.grad(f(given), given)[0]

    return Kit(
        torch,
        torch.relu,
        torch.sigmoid,
        lambda x: torch.softmax(x, -1),
        lambda x: torch.log_softmax(x, -1),
        conv,
        loop,
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
        torch.diagonal,
        lambda xs: torch.cat(xs, -1),
        double,
        slope,
    )


Made = tuple[Callable[..., Any], dict[str, Any], dict[str, Any], float]


def _weights(rng: Any, *shape: int) -> Any:
    return (rng.standard_normal(shape) / np.prod(shape[:-1]) ** 0.5).astype("f4")


def _likelihood(kit: Kit, scores: Any, wanted: Any) -> Any:
    return -(kit.log_softmax(scores) * wanted).sum(-1).mean()


def _classes(rng: Any, count: int, kinds: int) -> Any:
    return np.eye(kinds, dtype="f4")[rng.integers(0, kinds, count)]


def mlp(kit: Kit, rng: Any) -> Made:
    """A network 784-512-512-10 on batches of 128."""
    sizes = (784, 512, 512, 10)
    params = {f"w{i}": _weights(rng, m, n) for i, (m, n) in enumerate(pairwise(sizes))}
    data = {"x": rng.standard_normal((128, 784)).astype("f4"), "y": _classes(rng, 128, 10)}

    def loss(p: Any, d: Any) -> Any:
        x = kit.relu(kit.relu(d["x"] @ p["w0"]) @ p["w1"])
        return _likelihood(kit, x @ p["w2"], d["y"])

    return loss, params, data, 0.1


def _normal(kit: Kit, x: Any) -> Any:
    x = x - x.mean(-1)[..., None]
    return x / kit.np.sqrt((x * x).mean(-1)[..., None] + 1e-5)


def resnet(kit: Kit, rng: Any) -> Made:
    """ResNet-18, a quarter as wide, on 8 images of 32 x 32; layers are normalized, not batches."""
    widths, params = (
        (16, 32, 64, 128),
        {"in": _weights(rng, 3, 3, 3, 16), "out": _weights(rng, 128, 10)},
    )
    plan, before = [], 16
    for i, width in enumerate(widths):
        for j in (0, 1):
            name = f"{i}{j}"
            params[f"a{name}"] = _weights(rng, 3, 3, before, width)
            params[f"b{name}"] = _weights(rng, 3, 3, width, width)
            params[f"c{name}"] = _weights(rng, 1, 1, before, width)
            plan.append((name, 2 if i and not j else 1))
            before = width
    data = {"x": rng.standard_normal((8, 32, 32, 3)).astype("f4"), "y": _classes(rng, 8, 10)}

    def loss(p: Any, d: Any) -> Any:
        x = kit.conv(d["x"], p["in"], 1)
        for name, stride in plan:
            inner = kit.relu(_normal(kit, kit.conv(x, p[f"a{name}"], stride)))
            inner = _normal(kit, kit.conv(inner, p[f"b{name}"], 1))
            x = kit.relu(inner + kit.conv(x, p[f"c{name}"], stride))
        return _likelihood(kit, x.mean((1, 2)) @ p["out"], d["y"])

    return loss, params, data, 0.05


def unet(kit: Kit, rng: Any) -> Made:
    """A U-Net of three levels, 8 to 32 channels, on 4 images of 64 x 64."""
    shapes = {
        "in": (1, 8),
        "d0": (8, 16),
        "d1": (16, 32),
        "u1": (48, 16),
        "u0": (24, 8),
        "out": (8, 1),
    }
    params = {name: _weights(rng, 3, 3, *shape) for name, shape in shapes.items()}
    data = {"x": rng.standard_normal((4, 64, 64, 1)).astype("f4")}

    def loss(p: Any, d: Any) -> Any:
        top = kit.relu(kit.conv(d["x"], p["in"], 1))
        middle = kit.relu(kit.conv(top, p["d0"], 2))
        low = kit.relu(kit.conv(middle, p["d1"], 2))
        middle = kit.relu(kit.conv(kit.concatenate([kit.double(low), middle]), p["u1"], 1))
        top = kit.relu(kit.conv(kit.concatenate([kit.double(middle), top]), p["u0"], 1))
        return ((kit.conv(top, p["out"], 1) - d["x"]) ** 2).mean()

    return loss, params, data, 0.1


def gpt(kit: Kit, rng: Any) -> Made:
    """A block of GPT-2's size (768 wide, 12 heads) and its vocabulary's first 256, on 2 x 64 tokens."""
    width, heads, words = 768, 12, 64
    shapes = {"qkv": (width, 3 * width), "out": (width, width)}
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width), "head": (width, 256)}
    params = {name: _weights(rng, *shape) for name, shape in shapes.items()}
    params["table"] = rng.standard_normal((256, width)).astype("f4")
    mask = np.where(np.tril(np.ones((words, words))), 0, -1e9).astype("f4")
    tokens = rng.integers(0, 256, (2, words + 1))
    data = {
        "x": np.eye(256, dtype="f4")[tokens[:, :-1]],
        "y": np.eye(256, dtype="f4")[tokens[:, 1:]],
    }
    data["mask"] = mask

    def loss(p: Any, d: Any) -> Any:
        x = d["x"] @ p["table"]
        q, k, v = (
            (_normal(kit, x) @ p["qkv"][:, i * width : (i + 1) * width]).reshape(
                2, words, heads, 64
            )
            for i in range(3)
        )
        scores = kit.softmax(kit.np.einsum("bqhd,bkhd->bhqk", q, k) / 8.0 + d["mask"])
        mixed = kit.np.einsum("bhqk,bkhd->bqhd", scores, v).reshape(2, words, width)
        x = x + mixed @ p["out"]
        x = x + kit.relu(_normal(kit, x) @ p["up"]) @ p["down"]
        return _likelihood(kit, _normal(kit, x) @ p["head"], d["y"])

    return loss, params, data, 0.1


def lstm(kit: Kit, rng: Any) -> Made:
    """An LSTM of 64 on 32 series of 50, in a loop."""
    params = {"x": _weights(rng, 16, 256), "h": _weights(rng, 64, 256), "out": _weights(rng, 64, 1)}
    data = {"x": rng.standard_normal((50, 32, 16)).astype("f4")}
    data["y"] = data["x"].sum((0, 2))[:, None] / 30
    data["zero"] = np.zeros((32, 64), "f4")

    def loss(p: Any, d: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, c = carry
            z = x @ p["x"] + h @ p["h"]
            keep, new, out = (kit.sigmoid(z[:, 64 * i : 64 * i + 64]) for i in range(3))
            c = keep * c + new * kit.np.tanh(z[:, 192:])
            return out * kit.np.tanh(c), c

        h, _ = kit.loop(step, (d["zero"], d["zero"]), d["x"])
        return ((h @ p["out"] - d["y"]) ** 2).mean()

    return loss, params, data, 0.1


def gaussian_process(kit: Kit, rng: Any) -> Made:
    """The evidence of a Gaussian process on 300 points, by its three logarithmic parameters."""
    x = np.sort(rng.uniform(-3, 3, 300)).astype("f4")
    y = (np.sin(2 * x) + 0.1 * rng.standard_normal(300)).astype("f4")
    data = {"x": x, "y": y[:, None], "eye": np.eye(300, dtype="f4")}
    params = {name: np.zeros((), "f4") for name in ("scale", "width", "noise")}

    def loss(p: Any, d: Any) -> Any:
        exp = kit.np.exp
        apart = (d["x"][:, None] - d["x"][None, :]) / exp(p["width"])
        covariance = exp(p["scale"] - 0.5 * apart * apart) + (exp(p["noise"]) + 1e-4) * d["eye"]
        root = kit.np.linalg.cholesky(covariance)
        white = kit.solve(root, d["y"])
        return (0.5 * (white * white).sum() + kit.np.log(kit.diagonal(root)).sum()) / 300

    return loss, params, data, 0.05


def ode(kit: Kit, rng: Any) -> Made:
    """Four rates of Lotka and Volterra's equations, fitted through 200 steps of Runge and Kutta."""

    def orbit_end(p: Any, y: Any, times: Any) -> Any:
        def slope(s: Any) -> Any:
            a, b = s
            r = p["rates"]
            return r[0] * a - r[1] * a * b, r[2] * a * b - r[3] * b

        def moved(s: Any, d: Any, h: float) -> Any:
            return s[0] + h * d[0], s[1] + h * d[1]

        def step(s: Any, _: Any) -> Any:
            k1 = slope(s)
            k2 = slope(moved(s, k1, 0.01))
            k3 = slope(moved(s, k2, 0.01))
            k4 = slope(moved(s, k3, 0.02))
            return tuple(
                x + 0.02 / 6 * (a + 2 * b + 2 * c + d)
                for x, a, b, c, d in zip(s, k1, k2, k3, k4, strict=True)
            )

        return kit.loop(step, (y[0], y[1]), times)

    start = rng.uniform(0.5, 1.5, (2, 64)).astype("f4")
    data = {"y": start, "times": np.zeros(200, "f4"), "end": np.full((2, 64), 0.8, "f4")}
    params = {"rates": np.array([1.1, 0.4, 0.1, 0.4], "f4")}

    def loss(p: Any, d: Any) -> Any:
        a, b = orbit_end(p, d["y"], d["times"])
        return ((a - d["end"][0]) ** 2).mean() + ((b - d["end"][1]) ** 2).mean()

    return loss, params, data, 1e-3


def schools(kit: Kit, rng: Any) -> Made:
    """Hamiltonian Monte Carlo on the eight schools: 20 steps of leapfrog for each sample."""
    effects = np.array([28, 8, -3, 7, -1, 1, 18, 12], "f4")
    data = {"y": effects, "error": np.array([15, 10, 16, 11, 9, 11, 10, 18], "f4")}
    data["push"] = rng.standard_normal((10, 10)).astype("f4")
    data["times"] = np.zeros(20, "f4")
    params = {"state": np.zeros(10, "f4")}

    def energy(s: Any, d: Any) -> Any:
        spread = kit.np.exp(s[1])
        away = (s[0] + spread * s[2:] - d["y"]) / d["error"]
        return 0.5 * ((away * away).sum() + (s[2:] * s[2:]).sum()) + 0.02 * s[0] ** 2 + s[1] ** 2

    def loss(p: Any, d: Any) -> Any:
        def slope(s: Any) -> Any:
            return kit.slope(lambda s: energy(s, d), s)

        def sample(s: Any, push: Any) -> Any:
            def step(pair: Any, _: Any) -> Any:
                s, v = pair
                v = v - 0.025 * slope(s)
                s = s + 0.05 * v
                return s, v - 0.025 * slope(s)

            return kit.loop(step, (s, push), d["times"])[0]

        return energy(kit.loop(sample, p["state"], d["push"]), d)

    return loss, params, data, 0.0


RUNS: dict[str, tuple[str, Callable[[Kit, Any], Made]]] = {
    make.__name__: (title, make)
    for title, make in (
        ("100 steps of an MLP, 784-512-512-10, batch 128", mlp),
        ("100 steps of a ResNet-18, a quarter as wide, 8 images of 32 x 32", resnet),
        ("100 steps of a U-Net of three levels, 4 images of 64 x 64", unet),
        ("100 steps of a block of GPT-2's size, 2 x 64 tokens", gpt),
        ("100 steps of an LSTM of 64, 32 series of 50", lstm),
        ("100 steps of a Gaussian process, 300 points", gaussian_process),
        ("100 steps of fitting an ODE, through 200 of Runge-Kutta", ode),
        ("1000 samples of Hamiltonian Monte Carlo on eight schools", schools),
    )
}


def train(library: str, name: str) -> float:
    """Take the steps in a library, and return the first loss; the last must be a number."""
    make = RUNS[name][1]
    by = _by_torch if library == "torch" else _by_jax
    first, last = by(library, make)
    assert np.isfinite(last), (library, name, last)
    return first


def _by_jax(library: str, make: Callable[[Kit, Any], Made]) -> tuple[float, float]:
    from benchmarks.child import load

    jax, jnp = load(library)
    loss, params, data, rate = make(kit_of_jax(jax, jnp), np.random.default_rng(0))

    def descend(params: Any, data: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(params, data)
        return value, jax.tree.map(lambda p, g: p - rate * g, params, slopes)

    step = jax.jit(descend if rate else lambda params, data: (loss(params, data), params))
    data = jax.tree.map(jnp.asarray, data)
    first, params = step(params, data)
    for _ in range(STEPS - 1):
        value, params = step(params, data)
    return float(first), float(value)


def _by_torch(library: str, make: Callable[[Kit, Any], Made]) -> tuple[float, float]:
    import torch

    loss, params, data, rate = make(kit_of_torch(torch), np.random.default_rng(0))
    data = {name: torch.as_tensor(x) for name, x in data.items()}
    leaves = {n: torch.tensor(x, requires_grad=bool(rate)) for n, x in params.items()}
    values = []
    for _ in range(STEPS):
        value = loss(leaves, data)
        values.append(value.detach())
        if rate:
            value.backward()
            with torch.no_grad():
                for leaf in leaves.values():
                    leaf -= rate * leaf.grad
                    leaf.grad = None
    return float(values[0]), float(values[-1])
