"""Right implementations of every norm, each in another way: none may be accused."""

import numpy as np

import normscope as ns


def _statistics(cells, over):
    mean = cells.mean(axis=over, keepdims=True)
    return mean, ((cells - mean) ** 2).mean(axis=over, keepdims=True)


def two_pass(x, gamma, beta, eps):
    mean, var = _statistics(x.astype(np.float64), -1)
    return ((x - mean) / np.sqrt(var + eps) * gamma + beta).astype(x.dtype)


def own_dtype(x, gamma, beta, eps):
    mean, var = _statistics(x, -1)
    return (x - mean) / np.sqrt(var + np.asarray(eps, x.dtype)) * gamma + beta


def shifted_one_pass(x, gamma, beta, eps):
    cells = x.astype(np.float64) - x[..., :1].astype(np.float64)
    mean = cells.mean(-1, keepdims=True)
    var = np.maximum((cells * cells).mean(-1, keepdims=True) - mean * mean, 0)
    return ((cells - mean) / np.sqrt(var + eps) * gamma + beta).astype(x.dtype)


def masked_padding(x, gamma, beta, eps):
    n = x.shape[-1]
    lanes = np.zeros((*x.shape[:-1], 1 << (n - 1).bit_length()))
    lanes[..., :n] = x
    inside = np.arange(lanes.shape[-1]) < n
    centered = np.where(inside, lanes - lanes.sum(-1, keepdims=True) / n, 0)
    var = (centered**2).sum(-1, keepdims=True) / n
    return ((centered / np.sqrt(var + eps))[..., :n] * gamma + beta).astype(x.dtype)


def welford_float32(x, gamma, beta, eps):
    cells = x.astype(np.float32)
    mean, spread = np.zeros(cells.shape[:-1], np.float32), np.zeros(cells.shape[:-1], np.float32)
    for at in range(cells.shape[-1]):
        delta = cells[..., at] - mean
        mean = mean + delta / np.float32(at + 1)
        spread = spread + delta * (cells[..., at] - mean)
    var = spread[..., None] / np.float32(cells.shape[-1])
    return ((cells - mean[..., None]) / np.sqrt(var + np.float32(eps)) * gamma + beta).astype(x.dtype)


def running_sums_float32(x, gamma, beta, eps):
    cells, n = x.astype(np.float32), np.float32(x.shape[-1])
    centered = cells - np.cumsum(cells, -1, dtype=np.float32)[..., -1:] / n
    var = np.cumsum(centered * centered, -1, dtype=np.float32)[..., -1:] / n
    factor = gamma.astype(np.float32) / np.sqrt(var + np.float32(eps))
    return (centered * factor + beta).astype(x.dtype)


def chunks_of_three(x, gamma, beta, eps):
    count, mean, spread = 0, 0.0, 0.0
    for at in range(0, x.shape[-1], 3):
        part = x[..., at : at + 3].astype(np.float64)
        m, size = part.mean(-1, keepdims=True), part.shape[-1]
        apart = m - mean
        spread = spread + ((part - m) ** 2).sum(-1, keepdims=True) + apart**2 * count * size / (count + size)
        mean = mean + apart * size / (count + size)
        count += size
    return ((x - mean) / np.sqrt(spread / count + eps) * gamma + beta).astype(x.dtype)


def scale_only(x, gamma, eps):
    return two_pass(x, gamma, 0.0, eps)


def without_affine(x, eps):
    return two_pass(x, 1.0, 0.0, eps)


def own_eps(x, weight, bias):
    return two_pass(x, weight, bias, 1e-5)


def loops(x, gamma, beta, eps):
    rows = x.reshape(-1, x.shape[-1]).astype(float)
    y = np.empty_like(rows)
    for at, row in enumerate(rows.tolist()):
        mean = sum(row) / len(row)
        root = (sum((cell - mean) ** 2 for cell in row) / len(row) + eps) ** 0.5
        y[at] = [(cell - mean) / root for cell in row]
    return (y.reshape(x.shape) * gamma + beta).astype(x.dtype)


def rms(x, gamma, eps):
    cells = x.astype(np.float64)
    return (cells / np.sqrt((cells * cells).mean(-1, keepdims=True) + eps) * gamma).astype(x.dtype)


def rms_own_dtype(x, weight, eps):
    return x * (1 / np.sqrt((x * x).mean(-1, keepdims=True) + np.asarray(eps, x.dtype))) * weight


def _channels(value, x):
    return value.reshape(1, -1, *[1] * (x.ndim - 2))


def group(x, num_groups, gamma, beta, eps):
    parts = x.reshape(len(x), num_groups, -1).astype(np.float64)
    mean, var = _statistics(parts, -1)
    xhat = ((parts - mean) / np.sqrt(var + eps)).reshape(x.shape)
    return (xhat * _channels(gamma, x) + _channels(beta, x)).astype(x.dtype)


def instance(x, eps):
    mean, var = _statistics(x.astype(np.float64), tuple(range(2, x.ndim)))
    return ((x - mean) / np.sqrt(var + eps)).astype(x.dtype)


def batch(x, gamma, beta, eps):
    mean, var = _statistics(x.astype(np.float64), (0, *range(2, x.ndim)))
    return ((x - mean) / np.sqrt(var + eps) * _channels(gamma, x) + _channels(beta, x)).astype(x.dtype)


def batch_of_rows(x, eps):
    mean, var = _statistics(x.astype(np.float64), 0)
    return ((x - mean) / np.sqrt(var + eps)).astype(x.dtype)


def batch_training(x, running_mean, running_var, momentum, eps):
    mean, var = x.mean(0), x.var(0)
    n = len(x)
    y = (x - mean) / np.sqrt(var + eps)
    return (
        y,
        (1 - momentum) * running_mean + momentum * mean,
        (1 - momentum) * running_var + momentum * var * n / (n - 1),
    )


def batch_evaluation(x, gamma, beta, running_mean, running_var, eps):
    root = np.sqrt(_channels(running_var, x).astype(np.float64) + eps)
    xhat = (x - _channels(running_mean, x).astype(np.float64)) / root
    return (xhat * _channels(gamma, x) + _channels(beta, x)).astype(x.dtype)


LAYER = ns.layer_norm()
RIGHTS = {
    **{each.__name__: (each, LAYER) for each in (
        two_pass, own_dtype, shifted_one_pass, masked_padding, welford_float32, running_sums_float32, chunks_of_three,
        scale_only, without_affine, own_eps, loops,
    )},
    "eight features": (two_pass, ns.layer_norm(8)),
    "one feature": (two_pass, ns.layer_norm(1)),
    "rms": (rms, ns.rms_norm()),
    "rms_own_dtype": (rms_own_dtype, ns.rms_norm()),
    "group": (group, ns.group_norm(2)),
    "three groups": (group, ns.group_norm(3)),
    "instance": (instance, ns.instance_norm()),
    "batch": (batch, ns.batch_norm()),
    "batch_of_rows": (batch_of_rows, ns.batch_norm()),
    "batch_training": (batch_training, ns.batch_norm()),
    "batch_evaluation": (batch_evaluation, ns.batch_norm(training=False)),
    "pattern": (two_pass, ns.Norm("A B [d]", "d")),
}  # fmt: skip


def gradients(dy, x, gamma, eps):
    mean, var = _statistics(x.astype(np.float64), -1)
    r = 1 / np.sqrt(var + eps)
    xhat, g = (x - mean) * r, dy * gamma.astype(np.float64)
    dx = r * (g - g.mean(-1, keepdims=True) - xhat * (g * xhat).mean(-1, keepdims=True))
    rest = tuple(range(x.ndim - 1))
    return dx, (dy * xhat).sum(rest), dy.astype(np.float64).sum(rest)


def rms_gradients(dy, x, gamma, eps):
    r = 1 / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + eps)
    g = dy * gamma.astype(np.float64)
    rest = tuple(range(x.ndim - 1))
    return r * g - x * r**3 * (g * x).mean(-1, keepdims=True), (dy * x * r).sum(rest)


def batch_gradients(dy, x, gamma, eps):
    n = len(x)
    centered = x - x.astype(np.float64).mean(0)
    r = 1 / np.sqrt((centered**2).mean(0) + eps)
    dbeta, dgamma = dy.astype(np.float64).sum(0), (dy * centered * r).sum(0)
    return gamma * r / n * (n * dy - dbeta - centered * r * dgamma), dgamma, dbeta


def layer_gradients_by_blocks(dy, x, weight, eps):
    cells = x.astype(np.float64)
    n = x.shape[-1]
    mean = cells.mean(-1, keepdims=True)
    c = cells - mean
    r = (np.mean(c * c, -1, keepdims=True) + eps) ** -0.5
    dvar = np.sum(dy * weight.astype(np.float64) * c, -1, keepdims=True) * -0.5 * r**3
    dmean = -np.sum(dy * weight.astype(np.float64) * r, -1, keepdims=True) - 2 * dvar * c.mean(-1, keepdims=True)
    return dy * weight * r + dvar * 2 * c / n + dmean / n


BACKWARD = {
    "gradients": (gradients, LAYER),
    "by blocks": (layer_gradients_by_blocks, LAYER),
    "rms": (rms_gradients, ns.rms_norm()),
    "batch": (batch_gradients, ns.Norm("[N] C", "C")),
}
