#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The statistics against python3-scipy, numpy and whole numbers of any size.

usage: against_scipy.py STAT_PROBE

Random data with ties, equal, reversed, one element, and up to 100 000 values, all from fixed
seeds. What is exact must be equal; what is rounded, to 1e-9; what is drawn at random, within the error of
drawing, whose bounds stand beside each check.
"""
import itertools
import json
import os
import subprocess
import sys
from fractions import Fraction
from math import comb, erfc, sqrt


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


try:
    import numpy as np
    import scipy
    from scipy import stats
except ImportError as error:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
    skip("python3 here has no numpy or no scipy (%s)" % error)

failures = 0
checks = 0


def check(holds, what):
    global failures, checks
    checks += 1
    if not holds:
        failures += 1
        print("not ok: " + what)


def check_equal(found, wanted, what):
    check(found == wanted, "%s: %r, wanted %r" % (what, found, wanted))


def check_near(found, wanted, what, relative=1e-9):
    check(abs(found - wanted) <= relative * max(abs(wanted), 1e-300) + 1e-300 or found == wanted,
          "%s: %r, wanted %r" % (what, found, wanted))


class Probe:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, word, *arguments):
        words = [word]
        for argument in arguments:
            if isinstance(argument, (list, np.ndarray)):
                words += [repr(x) for x in np.asarray(argument).tolist()]
            else:
                words.append(repr(argument))
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            print("not ok: stat_probe ended at '%s'" % word)
            sys.exit(1)
        return json.loads(line)


def integer_cases(rng):
    """Names and pairs of lists of whole numbers."""
    yield "one each, equal", [5], [5]
    yield "one each, less", [4], [5]
    yield "one against many", [7], rng.integers(0, 15, 1000).tolist()
    yield "all equal", [9] * 300, [9] * 200
    yield "reversed", list(range(500, 0, -1)), list(range(700, 0, -1))
    yield "apart", list(range(100)), list(range(1000, 1100))
    yield "beyond 2^32", (rng.integers(0, 50, 200) + 2**40).tolist(), \
        (rng.integers(0, 50, 300) + 2**40).tolist()
    yield "across the counters' end", (rng.integers(-9, 9, 400) + 2**24).tolist(), \
        (rng.integers(-9, 9, 400) + 2**24).tolist()
    for n, m, most in [(2, 3, 2), (50, 70, 4), (999, 1000, 10), (1000, 2000, 10**6),
                       (2000, 1999, 2**60), (1500, 1500, 3)]:
        yield "%d x %d below %d" % (n, m, most), rng.integers(0, most, n).tolist(), \
            rng.integers(0, most, m).tolist()
    latencies = (150e3 * np.exp(0.2 * rng.standard_normal((2, 100000)))).astype(np.int64)
    yield "100 000 latencies", latencies[0].tolist(), (latencies[1] + 1000).tolist()
    yield "100 000 with many ties", (latencies[0] // 10000).tolist(), (latencies[1] // 9900).tolist()


def twice_shift(x, y):
    differences = np.subtract.outer(np.array(y, dtype=np.int64), np.array(x, dtype=np.int64)).ravel()
    n = len(differences)
    middle = np.partition(differences, [(n - 1) // 2, n // 2])
    return int(middle[(n - 1) // 2]) + int(middle[n // 2])


def check_pairs(probe, rng):
    for name, x, y in integer_cases(rng):
        answer = probe.ask("pair", len(x), x, y)
        u = stats.mannwhitneyu(np.array(y, dtype=float), np.array(x, dtype=float), method="asymptotic").statistic
        check_equal(answer["denominator"], 2 * len(x) * len(y), name + ": denominator")
        # U counts ties half, exactly: U is a multiple of 1/2 and far below 2^53. Values above 2^53 would not
        # survive as doubles, so these are ranked first.
        if max(x + y) >= 2**53:
            ranks = {v: i for i, v in enumerate(sorted(set(x + y)))}
            u = stats.mannwhitneyu([ranks[v] for v in y], [ranks[v] for v in x], method="asymptotic").statistic
        check_equal(answer["numerator"], int(2 * u), name + ": A against mannwhitneyu")
        check_equal(answer["sorted_numerator"], int(2 * u), name + ": A of sorted arrays")
        check_equal(answer["numerator"] + answer["exchanged_numerator"], answer["denominator"],
                    name + ": A(x,y) + A(y,x)")
        if len(x) * len(y) <= 4000000:
            check_equal(answer["twice_shift"], twice_shift(x, y), name + ": shift")

        percentiles = probe.ask("percentiles", x)
        ordered = sorted(x)
        wanted = [ordered[max(1, -(-s * len(x) // 10000)) - 1] for s in (5000, 9000, 9900, 9990, 9999)]
        check_equal(percentiles["percentiles"], wanted, name + ": percentiles")
        check_equal(percentiles["distinct"], len(set(x)), name + ": distinct values")


def check_ranks(probe):
    for count in [1, 2, 9, 10, 999, 1000, 1001, 16000, 1000000, 17166137, 2**31]:
        for numerator, denominator in [(1, 2), (9, 10), (99, 100), (999, 1000), (9999, 10000)]:
            wanted = max(1, -(-numerator * count // denominator))
            check_equal(probe.ask("rank", numerator, denominator, count)["rank"], wanted,
                        "nearest rank %d/%d of %d" % (numerator, denominator, count))
            for level in (0.9, 0.95, 0.99):
                tail = (1 - level) / 2
                share = numerator / denominator
                low = int(stats.binom.ppf(tail, count, share))
                high = int(stats.binom.ppf(1 - tail, count, share)) + 1
                answer = probe.ask("ranks", numerator, denominator, count, level)
                check_equal((answer["low"], answer["high"]), (low, high if high <= count else 0),
                            "ranks %d/%d of %d at %g" % (numerator, denominator, count, level))


def check_binomial(probe, rng):
    for _ in range(400):
        count = int(10 ** rng.uniform(0, 7.5))
        share = float(rng.choice([rng.uniform(), 10 ** rng.uniform(-7, -1), 1 - 10 ** rng.uniform(-7, -1)]))
        probability = float(rng.choice([rng.uniform(), 10 ** rng.uniform(-9, -1)]))
        check_equal(probe.ask("binomial", count, share, probability)["quantile"],
                    int(stats.binom.ppf(probability, count, share)),
                    "binomial %d %r %r" % (count, share, probability))
    # Probabilities that are reached exactly, in fractions, where doubles round to either side.
    for count in range(1, 13):
        for a in range(1, 4):
            share = Fraction(a, 4)
            total = Fraction(0)
            for k in range(count):
                total += comb(count, k) * share**k * (1 - share) ** (count - k)
                check_equal(probe.ask("binomial", count, float(share), float(total))["quantile"], k,
                            "binomial %d %s reached exactly" % (count, share))


def check_bootstrap(probe, rng):
    """
    Both intervals end at quantiles of 20 000 random means. A quantile q of R draws has the standard error
    sqrt(q (1 - q) / R) / density; the means are near normal, of standard deviation s, whose density at
    the 2.5 % quantile is 0.0584 / s, so that each end is off by 0.0189 s, and the difference of two by
    0.0267 s. Five of these are allowed: by chance one end in two million is further off.
    """
    repetitions = 20000
    for name, values in [("normal", rng.standard_normal(96)), ("A of blocks", rng.beta(40, 38, 96)),
                         ("skewed", rng.exponential(1, 96) * 1e5), ("ties", rng.integers(0, 3, 60) * 1.0),
                         ("many", rng.standard_normal(1000))]:
        first = probe.ask("bootstrap", repetitions, 0.95, 7, values)
        wanted = stats.bootstrap((values,), np.mean, n_resamples=repetitions, method="percentile",
                                 batch=500, random_state=np.random.default_rng(11)).confidence_interval
        allowed = 5 * sqrt(2) * sqrt(0.025 * 0.975 / repetitions) / 0.0584 * \
            values.std() / sqrt(len(values))
        for end in ("low", "high"):
            check(abs(first[end] - getattr(wanted, end)) <= allowed,
                  "bootstrap of %s: %s end %r, scipy's %r" % (name, end, first[end], getattr(wanted, end)))
        check_equal(probe.ask("bootstrap", repetitions, 0.95, 7, values), first, "bootstrap of %s again" % name)
        if name != "ties":  # whose means are few, and so are their quantiles
            check(probe.ask("bootstrap", repetitions, 0.95, 8, values) != first,
                  "bootstrap of %s by another seed" % name)
    check_equal(probe.ask("bootstrap", 100, 0.95, 7, [3.5]), {"low": 3.5, "high": 3.5}, "one value")


def enumerate_flips(values):
    signs = np.array(list(itertools.product([1, -1], repeat=len(values))))
    sums = abs(signs @ values)
    return float((sums >= abs(values.sum()) - 1e-12 * abs(values).sum()).mean())


def check_flips(probe, rng):
    for count in range(1, 13):
        for values in (rng.standard_normal(count) + 0.5, rng.integers(-3, 5, count) * 1.0,
                       rng.integers(-30, 50, count) / 10):
            check_equal(probe.ask("flips", 100, 1, values)["p"], enumerate_flips(values),
                        "all sign patterns of %d" % count)
    for count, shift in [(15, 0.6), (20, 0.5), (21, 0.4), (96, 0.2), (96, 0.05), (300, 0.1)]:
        values = rng.standard_normal(count) + shift
        found = probe.ask("flips", 20000, 3, values)["p"]
        wanted = stats.permutation_test((values,), lambda x, axis: np.mean(x, axis=axis), vectorized=True,
                                        permutation_type="samples", n_resamples=20000, batch=1000,
                                        random_state=np.random.default_rng(5)).pvalue
        # Each p is a share of 20 000 draws, ours from both sides (scipy's is twice the lesser side): standard
        # errors of sqrt(p (1 - p) / 20 000) and sqrt(2 p (1 - p / 2) / 20 000); five of their sum.
        p = max(found, 1e-3)
        allowed = 5 * sqrt((p * (1 - p) + 2 * p) / 20000) + 2 / 20000
        check(abs(found - wanted) <= allowed, "sign flips of %d: %r, scipy's %r" % (count, found, wanted))


def wilcoxon_below(count):
    """How many of the 2^count sets of ranks have a sum up to each number, exactly."""
    ways = [1] + [0] * (count * (count + 1) // 2)
    for rank in range(1, count + 1):
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    return list(itertools.accumulate(ways))


def check_walsh(probe, rng):
    for count in [1, 2, 5, 6, 7, 20, 96, 200, 201, 500]:
        for level in (0.9, 0.95):
            values = rng.choice([rng.standard_normal(count), rng.integers(-9, 9, count) * 1.0])
            averages = np.sort(np.add.outer(values, values)[np.triu_indices(count)] / 2)
            n = len(averages)
            answer = probe.ask("walsh", level, values)
            check_near(answer["estimate"], float(averages[(n - 1) // 2] + averages[n // 2]) / 2,
                       "Hodges-Lehmann of %d" % count)
            if count <= 200:
                tail = Fraction((1 - level) / 2) * 2**count
                c = sum(1 for below in wilcoxon_below(count) if below <= tail)
            else:
                c = int(count * (count + 1) / 4 + stats.norm.ppf((1 - level) / 2) *
                        sqrt(count * (count + 1) * (2 * count + 1) / 24))
            wanted = [float(averages[c - 1]), float(averages[n - c])] if c > 0 else None
            check_equal(answer["interval"], wanted, "Walsh interval of %d at %g" % (count, level))


def check_student(probe):
    for degrees in [1, 1.5, 2, 3, 7, 10, 39, 40, 41, 95, 200, 1000, 1e5, 999999, 1e6, 1e7]:
        for probability in [1e-9, 0.001, 0.025, 0.3, 0.4999, 0.5, 0.5001, 0.6, 0.74, 0.76, 0.9, 0.975, 0.995,
                            0.9999999]:
            # scipy's t.ppf itself is off by up to 1e-8 there, so its distribution is asked.
            found = probe.ask("student", probability, degrees)["quantile"]
            share = min(probability, 1 - probability)
            # Moving the quantile by 1e-9 of itself changes the distribution by 1e-9 t f(t).
            allowed = 1e-9 * abs(found) * stats.t.pdf(found, degrees) + 4e-16
            reached = stats.t.cdf(found, degrees) if probability <= 0.5 else stats.t.sf(found, degrees)
            check(abs(reached - share) <= allowed, "Student's t %r, %r: %r gives %r" %
                  (probability, degrees, found, reached))


def mann_kendall_p(values):
    n = len(values)
    s = int(sum(np.sign(values[i + 1:] - values[i]).sum() for i in range(n)))
    variance = n * (n - 1) * (2 * n + 5) / 18
    for ties in np.unique(values, return_counts=True)[1].tolist():
        variance -= ties * (ties - 1) * (2 * ties + 5) / 18
    return s, 1.0 if variance <= 0 or abs(s) <= 1 else erfc((abs(s) - 1) / sqrt(2 * variance))


def check_trend(probe, rng):
    for name, values in [("two", np.array([1.0, 4.0])), ("equal", np.ones(50)), ("reversed", -np.arange(40.0)),
                         ("noise", rng.standard_normal(96)), ("noise, odd", rng.standard_normal(95)),
                         ("ties", rng.integers(0, 4, 200) * 1.0),
                         ("trend", 0.01 * np.arange(300) + rng.standard_normal(300)),
                         ("large", 1.5e5 + 30 * rng.standard_normal(1500))]:
        answer = probe.ask("trend", values)
        check_near(answer["slope"], float(stats.theilslopes(values)[0]), name + ": slope")
        s, p = mann_kendall_p(values)
        check_near(answer["p"], p, name + ": Mann-Kendall p")
        tau = stats.kendalltau(np.arange(len(values)), values, variant="b")
        if not np.isnan(tau.statistic if hasattr(tau, "statistic") else tau.correlation):
            pairs = len(values) * (len(values) - 1) / 2
            tied = sum(t * (t - 1) / 2 for t in np.unique(values, return_counts=True)[1].tolist())
            check_near((tau.statistic if hasattr(tau, "statistic") else tau.correlation) * sqrt(pairs * (pairs - tied)),
                       s, name + ": rises less falls against kendalltau", 1e-6)


def check_correlated(probe, rng):
    for count in (2, 3, 9, 96, 500):
        values = rng.standard_normal(count)
        centered = values - values.mean()
        answer = probe.ask("correlated", 0.95, values)
        lag1 = float((centered[1:] * centered[:-1]).sum() / (centered**2).sum()) if count > 2 else 0
        check(abs(answer["lag1"] - lag1) < 1e-12, "lag-1 correlation of %d" % count)
        check_near((answer["low"] + answer["high"]) / 2, float(values.mean()), "middle of %d" % count, 1e-8)
        if answer["merged"] == 1:
            bias = lag1 + (1 + 3 * lag1) / count
            factor = sqrt((1 + min(bias, 0.9)) / (1 - min(bias, 0.9))) if count >= 8 and bias > 0 else 1
            half = stats.t.ppf(0.975, count - 1) * values.std(ddof=1) / sqrt(count) * factor
            check_near((answer["high"] - answer["low"]) / 2, half, "half width of %d" % count, 1e-8)


def main():
    if len(sys.argv) != 2:
        print("usage: against_scipy.py STAT_PROBE", file=sys.stderr)
        sys.exit(2)
    rng = np.random.default_rng(20240229)
    probe = Probe(sys.argv[1])
    check_pairs(probe, rng)
    check_ranks(probe)
    check_binomial(probe, rng)
    check_bootstrap(probe, rng)
    check_flips(probe, rng)
    check_walsh(probe, rng)
    check_student(probe)
    check_trend(probe, rng)
    check_correlated(probe, rng)
    print("%d checks, %d failed (numpy %s, scipy %s)" % (checks, failures, np.__version__, scipy.__version__))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
