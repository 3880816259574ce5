"""Makes reference.json, which tests/uncertainty/reference.rs compares skidconv's statistics with.

    python3 -m venv venv && venv/bin/pip install scipy==1.17.1 && venv/bin/python reference.py > reference.json
"""
import json
import sys

import numpy as np
import scipy
from scipy import stats

RESAMPLES = 400_000
rng = np.random.default_rng(1826)
samples = {
    "counts": rng.poisson(800, 25).astype(float),
    "skewed": np.round(100 + rng.gamma(0.8, 20, 60), 3),
    # the note's mixture (figure 6): deviations of 1, means of 10 and 30
    "mixture": np.round(np.concatenate([rng.normal(10, 1, 94), rng.normal(30, 1, 6)]), 4),
}
later = rng.poisson(830, 40).astype(float)


def intervals(x, statistic, confidence):
    out = {}
    for method in ("percentile", "BCa"):
        r = stats.bootstrap((x,), statistic, n_resamples=RESAMPLES, batch=20_000, vectorized=True, axis=-1,
                            confidence_level=confidence, method=method, rng=np.random.default_rng(7))
        out[method.lower()] = list(r.confidence_interval)
    return out


def deviation(x, axis):
    return np.std(x, axis=axis, ddof=1)


def described(x):
    n, s = len(x), np.std(x, ddof=1)
    t = stats.t.interval(0.95, n - 1, np.mean(x), stats.sem(x))
    chi = [float(np.sqrt((n - 1) * s**2 / stats.chi2.ppf(p, n - 1))) for p in (0.975, 0.025)]
    return {
        "values": x.tolist(), "mean": np.mean(x), "deviation": s, "quartiles": np.quantile(x, [0, .25, .5, .75, 1]).tolist(),
        "skewness": stats.skew(x), "t": list(t), "chi": chi,
        "bootstrap_mean": intervals(x, np.mean, 0.95), "bootstrap_deviation": intervals(x, deviation, 0.95),
        "density": {"bandwidth": 2.0, "at": [float(np.median(x))],
                    "is": stats.gaussian_kde(x, bw_method=2.0 / s)(np.median(x)).tolist()},
    }


def welch(a, b):
    r = stats.ttest_ind(b, a, equal_var=False)
    low, high = r.confidence_interval(0.95)
    return {"difference": np.mean(b) - np.mean(a), "freedom": r.df, "probability": r.pvalue, "interval": [low, high]}


def projection():
    x, y = np.array([4., 3., 2., 1.]), np.array([1069.2, 803.1, 531.9, 270.4])
    x0, y0 = 5.0, 1290.0
    design = np.column_stack([np.ones_like(x), x])
    beta, rest, *_ = np.linalg.lstsq(design, y, rcond=None)
    s = np.sqrt(rest[0] / (len(x) - 2))
    at = np.array([1.0, x0])
    se = s * np.sqrt(1 + at @ np.linalg.inv(design.T @ design) @ at)
    half = stats.t.ppf(0.975, len(x) - 2) * se
    return {"expected": [x0, *x], "observed": [y0, *y], "predicted": at @ beta, "interval": [at @ beta - half, at @ beta + half],
            "probability": 2 * stats.t.sf(abs((y0 - at @ beta) / se), len(x) - 2)}


groups = [rng.normal(0, 1, 12), rng.normal(0.5, 1, 9), rng.normal(0, 2, 15)]
line = rng.normal(5, 1, 30) + 0.03 * np.arange(30)
table = rng.poisson(20, (4, 6))
fit = stats.linregress(np.arange(30), line)
chi = stats.chi2_contingency(table, correction=False)
made = {
    "scipy": scipy.__version__, "python": sys.version.split()[0],
    "samples": {name: described(x) for name, x in samples.items()},
    "later": later.tolist(), "welch": welch(samples["counts"], later), "projection": projection(),
    "anova": {"groups": [g.tolist() for g in groups], "probability": stats.f_oneway(*groups).pvalue},
    "trend": {"values": line.tolist(), "slope": fit.slope, "probability": fit.pvalue},
    "table": {"counts": table.tolist(), "chi_squared": chi.statistic, "freedom": chi.dof, "probability": chi.pvalue},
    "quantiles": {
        "t": [[p, n, stats.t.ppf(0.5 + 0.5 * p, n)] for p in (0.9, 0.95, 0.999996769) for n in (1, 2, 7.5, 99, 1000)],
        "chi": [[p, n, stats.chi2.ppf(p, n)] for p in (0.025, 0.5, 0.975, 0.999) for n in (1, 9, 99, 999)],
        "f": [[x, a, b, stats.f.sf(x, a, b)] for x in (0.5, 2.0, 6.0) for a, b in ((1, 10), (4, 60), (64, 1280))],
        "normal": [[p, stats.norm.ppf(p)] for p in (0.001, 0.025, 0.5, 0.975, 0.9999999)],
    },
}
json.dump(made, sys.stdout, indent=1, default=float)
print()
