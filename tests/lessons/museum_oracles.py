"""Every mistake of the museum once more, in plain loops over one table; nothing of Normscope is read."""

import math

import numpy as np


def mean(cells):
    return sum(cells) / len(cells)


def var(cells, about=None):
    center = mean(cells) if about is None else about
    return sum((cell - center) ** 2 for cell in cells) / len(cells)


def over(top, bottom):
    """top / bottom, nan where IEEE 754 has it."""
    if bottom != bottom or bottom == 0:
        return math.nan if top == 0 or bottom != bottom else math.copysign(math.inf, top)
    return top / bottom


def root(value):
    return math.sqrt(value) if value >= 0 else math.nan


def table(xhat, given, scale=lambda g, b: g, shift=lambda g, b: b):
    """y of rows of xhat."""
    beta = given.get("beta", [0] * len(xhat[0]))
    return [[z * scale(g, b) + shift(g, b) for z, g, b in zip(row, given["gamma"], beta, strict=True)] for row in xhat]


def by_row(make):
    """A whole function from one row to xhat."""
    return lambda given: table([make(row, given["eps"]) for row in given["x"]], given)


def divided(divisor):
    """(x - mean) over a divisor of the row and eps."""
    return by_row(lambda row, eps: [over(cell - mean(row), divisor(row, eps)) for cell in row])


def ordinary(row, eps):
    return [over(cell - mean(row), root(var(row) + eps)) for cell in row]


def affine(scale=lambda g, b: g, shift=lambda g, b: b):
    return lambda given: table([ordinary(row, given["eps"]) for row in given["x"]], given, scale, shift)


def columns_of(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def over_rows(given):
    return table(columns_of([ordinary(column, given["eps"]) for column in columns_of(given["x"])]), given)


def dropped(given):
    x, n = given["x"], len(given["x"])
    means = [mean(row) for row in x]
    c = [[x[i][j] - means[j] for j in range(n)] for i in range(n)]
    v = [mean([cell**2 for cell in row]) for row in c]
    return table([[over(c[i][j], root(v[j] + given["eps"])) for j in range(n)] for i in range(n)], given)


def rms(row, eps):
    return root(mean([cell * cell for cell in row]) + eps)


def rescaled(row, eps):
    most = max(map(abs, row))
    return ordinary([over(cell, most) for cell in row], eps) if most else [math.nan] * len(row)


def scalar(given):
    first = {"gamma": [given["gamma"][0]] * len(given["x"][0]), "beta": [given["beta"][0]] * len(given["x"][0])}
    return affine()(given | first)


def along_rows(given):
    xhat = [ordinary(row, given["eps"]) for row in given["x"]]
    return [[z * given["gamma"][r] + given["beta"][r] for z in row] for r, row in enumerate(xhat)]


def before(given):
    x = table(given["x"], given)
    return [ordinary(row, given["eps"]) for row in x]


def groups(make):
    """Each row in two halves; make(half, the cells behind it, eps)."""

    def whole(given):
        half = len(given["x"][0]) // 2
        xhat = [make(row[:half], row[half:], given["eps"]) + make(row[half:], [], given["eps"]) for row in given["x"]]
        return table(xhat, given)

    return whole


def per_group(given):
    half = len(given["x"][0]) // 2
    spread = {name: [given[name][0]] * half + [given[name][1]] * half for name in ("gamma", "beta")}
    return groups(lambda own, behind, eps: ordinary(own, eps))(given | spread)


def bleeding(own, behind, eps):
    block = own + behind[:1]
    m = sum(block) / len(own)
    v = sum((cell - m) ** 2 for cell in block) / len(own)
    return [over(cell - m, root(v + eps)) for cell in own]


def padded(row, eps):
    lanes = 1
    while lanes < len(row):
        lanes *= 2
    m = mean(row)
    cells = [cell - m for cell in row] + [-m] * (lanes - len(row))
    return root(sum(cell**2 for cell in cells) / len(row) + eps)


def first_block(given):
    block = 1
    while 2 * block <= len(given["x"][0]):
        block *= 2
    short = {name: given[name][:block] for name in ("gamma", "beta")}
    rest = len(given["x"][0]) - block
    y = table([ordinary(row[:block], given["eps"]) for row in given["x"]], short)
    return [row + [0.0] * rest for row in y]


def averaged(row, eps):
    half = len(row) // 2
    return root((var(row[:half]) + var(row[half:])) / 2 + eps)


def merged(row, eps):
    cut = (len(row) + 1) // 2
    a, b = row[:cut], row[cut:]
    m = (mean(a) + mean(b)) / 2
    v = (var(a) + var(b)) / 2 + ((mean(a) - mean(b)) / 2) ** 2
    return [over(cell - m, root(v + eps)) for cell in row]


def twice(row, eps):
    return ordinary(ordinary(row, eps), eps)


def constant(value):
    return lambda row, eps: root(var(row) + value)


def mad(row):
    return mean([abs(cell - mean(row)) for cell in row])


def short_formula(row, eps):
    return root(mean([cell * cell for cell in row]) - mean(row) + eps)


def f32(given):
    return np.float32(given["x"]), np.float32(given["gamma"]), np.float32(given["beta"]), np.float32(given["eps"])


def one_pass(given):
    x, gamma, beta, eps = f32(given)
    m, q = x.mean(-1, keepdims=True), (x * x).mean(-1, keepdims=True)
    return ((x - m) / np.sqrt(q - m * m + eps) * gamma + beta).tolist()


def narrow(what):
    """A two-pass LayerNorm in float32 with one value cast."""

    def make(given):
        x, gamma, beta, eps = f32(given)
        c = x - x.mean(-1, keepdims=True)
        v = (c * c).mean(-1, keepdims=True)
        with np.errstate(all="ignore"):
            v = v.astype(np.float16).astype(np.float32) if what == "var" else v
            v = v + eps
            v = v.astype(np.float16).astype(np.float32) if what == "v" else v
            r = 1 / np.sqrt(v)
            r = bf16(r) if what == "r" else r
            return (c * r * gamma + beta).tolist()

    return make


def bf16(values):
    import ml_dtypes

    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


def gradient(gamma=True, mean_term=True, xhat_term=True):
    def make(given):
        made = []
        for row, dys in zip(given["x"], given["dy"], strict=True):
            z, r = ordinary(row, given["eps"]), 1 / root(var(row) + given["eps"])
            g = [dy * (scale if gamma else 1) for dy, scale in zip(dys, given["gamma"], strict=True)]
            a, b = mean(g), mean([p * q for p, q in zip(g, z, strict=True)])
            made.append([r * (p - mean_term * a - xhat_term * q * b) for p, q in zip(g, z, strict=True)])
        return made

    return make


def running(value, old, share):
    def make(given):
        weight = share(given["momentum"])
        return [[(1 - weight) * old + weight * value(column) for column in columns_of(given["x"])]]

    return make


ROUNDED = ("one-pass-variance", "variance-in-half", "eps-in-half", "rstd-in-bf16")
RIGHT = {
    "layer_norm": affine(),
    "rms_norm": by_row(lambda row, eps: [over(cell, rms(row, eps)) for cell in row]),
    "group_norm": groups(lambda own, behind, eps: ordinary(own, eps)),
    "layer_norm_backward": gradient(),
}
WRONG = {
    "wrong-axes": over_rows,
    "keepdims-dropped": dropped,
    "rms-instead-of-layer-norm": RIGHT["rms_norm"],
    "variance-not-centered": divided(rms),
    "mean-not-subtracted": by_row(lambda row, eps: [over(cell, root(var(row) + eps)) for cell in row]),
    "variance-instead-of-mean-square": by_row(lambda row, eps: [over(cell, root(var(row) + eps)) for cell in row]),
    "layer-norm-instead-of-rms": affine(),
    "correction-1": divided(lambda row, eps: root(var(row) * len(row) / (len(row) - 1) + eps)),
    "sum-not-mean": divided(lambda row, eps: root(var(row) * len(row) + eps)),
    "mean-not-squared": divided(short_formula),
    "squares-missing": divided(lambda row, eps: root(mad(row) + eps)),
    "mean-absolute-deviation": divided(lambda row, eps: mad(row) + eps),
    "root-missing": divided(lambda row, eps: var(row) + eps),
    "root-of-std": divided(lambda row, eps: root(root(var(row)) + eps)),
    "scale-inverted": by_row(
        lambda row, eps: [over(cell, root(sum(c * c for c in row) + eps)) * len(row) ** -0.5 for cell in row]
    ),
    "normalized-twice": by_row(twice),
    "eps-outside-root": divided(lambda row, eps: root(var(row)) + eps),
    "eps-missing": divided(lambda row, eps: root(var(row))),
    "eps-fixed": divided(constant(1e-3)),
    "eps-twice": divided(lambda row, eps: root(var(row) + 2 * eps)),
    "eps-squared": divided(lambda row, eps: root(var(row) + eps**2)),
    "eps-as-floor": divided(lambda row, eps: root(max(var(row), eps))),
    "eps-added-to-xhat": by_row(lambda row, eps: [over(cell - mean(row), root(var(row))) + eps for cell in row]),
    "eps-after-rescale": by_row(rescaled),
    "affine-ignored": affine(lambda g, b: 1, lambda g, b: 0),
    "gamma-plus-one": affine(lambda g, b: 1 + g),
    "gamma-beta-swapped": affine(lambda g, b: b, lambda g, b: g),
    "affine-scalar": scalar,
    "affine-on-wrong-axis": along_rows,
    "shift-inside-scale": affine(lambda g, b: g, lambda g, b: g * b),
    "shift-missing": affine(lambda g, b: g, lambda g, b: 0),
    "affine-before-norm": before,
    "affine-per-group": per_group,
    "padded-lanes-counted": divided(padded),
    "columns-beyond-block-ignored": first_block,
    "statistics-per-chunk": groups(lambda own, behind, eps: ordinary(own, eps)),
    "between-chunk-term-missing": divided(averaged),
    "chunks-merged-with-equal-weights": by_row(merged),
    "block-bleeds-into-next-row": groups(bleeding),
    "ignores-offset-and-strides": lambda given: affine()(given | {"x": given["x"][:-1]}),
    "one-pass-variance": one_pass,
    "variance-in-half": narrow("var"),
    "eps-in-half": narrow("v"),
    "rstd-in-bf16": narrow("r"),
    "mean-term-missing": gradient(mean_term=False),
    "xhat-term-missing": gradient(xhat_term=False),
    "gamma-missing-in-gradient": gradient(gamma=False),
    "running-variance-biased": running(var, 1, lambda momentum: momentum),
    "momentum-inverted": running(mean, 0, lambda momentum: 1 - momentum),
}


def right(id, function):
    """The right function of an exhibit."""
    if id == "ignores-offset-and-strides":
        return lambda given: affine()(given | {"x": given["x"][1:]})
    if id == "running-variance-biased":
        return running(lambda column: var(column) * len(column) / (len(column) - 1), 1, lambda momentum: momentum)
    if id == "momentum-inverted":
        return running(mean, 0, lambda momentum: momentum)
    return narrow("") if id in ROUNDED else RIGHT[function]
