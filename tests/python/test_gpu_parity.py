"""A CUDA device against the CPU, through the Python package: the parity contract of `docs/gpu-contract.md`.

Without a GPU, or without the published workspaces (NEXTSTAT_REFERENCE_DIR), every test is skipped with its reason.
"""

import _tolerances as tolerances
import nextstat
import numpy as np
import pytest
from conftest import reference_folder

WORKSPACES = [
    "1Lbb_C1N2_700_400",
    "complex_all_modifiers",
    "pyhf_2bin_1channel",
    "pyhf_4measurements_sb",
    "pyhf_shapefactor_shapesys",
    "tHu",
    "tttt_prod",
    "xml_multibin",
    "xml_multichan_coupledhistosys",
]
LARGE = ["tHu", "tttt_prod"]
CODES = ["smooth", "piecewise"]
EPS = np.finfo(float).eps

pytestmark = [
    pytest.mark.skipif(
        not nextstat.has_cuda(),
        reason="no CUDA device: "
        + str(next((d.reason for d in nextstat.devices() if d.name.startswith("cuda")), None)),
    ),
    pytest.mark.skipif(reference_folder() is None, reason="NEXTSTAT_REFERENCE_DIR is not set"),
]


def load(name, codes="smooth"):
    return nextstat.load_workspace(reference_folder() / "workspaces" / f"{name}.json", interp_defaults=codes)


def absolute_terms(model, nll):
    """A lower bound of the sum of the absolute terms of -ln L."""
    saturated = nextstat.goodness_of_fit(model).twice_nll_saturated / 2
    return np.abs(nll - saturated) + abs(saturated)


def random_points(model, n):
    rng = np.random.default_rng(5)
    init, bounds = model.init, model.bounds
    free = ~model.fixed
    width = np.where(init == 0, 1.0, 0.1 * np.abs(init))
    points = init + free * width * rng.standard_normal((n, init.size))
    return np.clip(points, bounds[:, 0], bounds[:, 1])


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("name", WORKSPACES)
def test_values_and_derivatives(name, codes):
    model = load(name, codes)
    points = random_points(model, 100)
    here, gradient = model.nll_and_grad(points)
    there, other = model.nll_and_grad(points, device="cuda")
    finite = np.isfinite(here)
    assert finite.any() and np.array_equal(finite, np.isfinite(there))
    allowed = tolerances.CUDA_NLL_ROUNDINGS * EPS * absolute_terms(model, here) + tolerances.CUDA_NLL_FLOOR
    assert np.all(np.abs(here[finite] - there[finite]) <= allowed[finite])

    data, n_bins = model.observed_data(), sum(model.channels.values())
    few = points[finite][:5]
    hessians = zip(model.hessian(few), model.hessian(few, device="cuda"))
    for x, mine, theirs, (square, found) in zip(few, gradient[finite], other[finite], hessians):
        step = 1e-6 * np.maximum(np.abs(x), 1e-2)
        centre = model.expected_data(x)
        high = model.expected_data(x + np.diag(step))
        low = model.expected_data(x - np.diag(step))
        slope = (np.abs(high - centre) + np.abs(centre - low)) / (2 * step[:, None])
        # A bin without observed events has a slope of 1, even if nothing is expected in it.
        ratio = np.divide(data[:n_bins], centre[:n_bins], out=np.zeros(n_bins), where=data[:n_bins] > 0)
        main = (slope[:, :n_bins] * (1 + ratio)).sum(axis=1)
        # Poisson constraints are treated like main bins. The terms of Gaussian constraints are bounded by the
        # curvature, which contains 1 / sigma^2. The Rust test computes all terms.
        with np.errstate(divide="ignore", invalid="ignore"):
            aux = np.nan_to_num(slope[:, n_bins:] * (1 + np.abs(data[n_bins:] / centre[n_bins:])), posinf=0.0).sum(axis=1)
        curvature = np.abs(np.diag(square))
        assert np.all(np.abs(mine - theirs) <= tolerances.CUDA_GRADIENT * (main + aux + curvature * (1 + np.abs(x))))
        # The same for second derivatives.
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.nan_to_num(slope[:, :n_bins] ** 2 * (1 + ratio) / np.abs(centre[:n_bins]), posinf=0.0)
        scale = terms.sum(axis=1) + curvature
        assert np.all(np.abs(square - found) <= tolerances.CUDA_HESSIAN * np.sqrt(np.outer(scale, scale)))


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("name", WORKSPACES)
def test_fit_and_covariance(name, codes):
    model = load(name, codes)
    here, there = (nextstat.fit(model, device=device) for device in ("cpu", "cuda"))
    assert here.converged and there.converged and there.device == "cuda:0" and there.gpu_check is not None
    allowed = tolerances.CUDA_MINIMUM_FLOOR + tolerances.CUDA_NLL_ROUNDINGS * EPS * absolute_terms(model, here.nll)
    assert abs(here.nll - there.nll) <= allowed
    sigma = here.uncertainties
    known = np.isfinite(sigma)
    assert np.array_equal(known, np.isfinite(there.uncertainties))
    far = np.abs(here.bestfit - there.bestfit)[known] / np.maximum(sigma[known], 1.0)
    assert far.max(initial=0.0) <= tolerances.CUDA_BEST_FIT
    scale = np.sqrt(np.outer(np.diag(here.covariance), np.diag(here.covariance)))
    assert np.all(np.abs(here.covariance - there.covariance) <= tolerances.CUDA_COVARIANCE * scale)


@pytest.mark.parametrize("name", LARGE)
def test_ranking(name):
    model = load(name)
    here, there = (nextstat.ranking(model, device=device).ranking for device in ("cpu", "cuda"))
    top = int(tolerances.CUDA_TOP)
    assert [e["name"] for e in here[:top]] == [e["name"] for e in there[:top]]
    other = {e["name"]: e for e in there}
    for entry in here:
        for side in ("delta_mu_up", "delta_mu_down"):
            assert abs(entry[side] - other[entry["name"]][side]) <= tolerances.CUDA_IMPACT, entry["name"]


def toys(model, header, device, which, start, stop):
    return nextstat.toys_from_header(model, header, device=device).run(which, start, stop)


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("name", LARGE)
def test_statistics_of_toys(name, codes):
    n, model = 500, load(name, codes)
    header = nextstat.toys_prepare(model, 1.0, n_toys=n, seed=3, device="cpu").header
    tolerance, fraction = {
        True: (tolerances.CUDA_STATISTIC, tolerances.CUDA_STATISTIC_FRACTION),
        False: (tolerances.CUDA_STATISTIC_PIECEWISE, tolerances.CUDA_STATISTIC_PIECEWISE_FRACTION),
    }[codes == "smooth"]
    exceptions = compared = 0
    for which in ("b", "sb"):
        index, here, _, good, _ = toys(model, header, "cpu", which, 0, n)
        other, there, _, well, _ = toys(model, header, "cuda", which, 0, n)
        assert np.array_equal(index, other)
        converged = good == 0
        bad = converged & ((well != 0) | ~(np.abs(here - there) <= tolerance))
        for i in np.flatnonzero(bad):
            print(f"{name}: toy {index[i]} of {which}: {here[i]} and {there[i]} on the device, status {well[i]}")
        exceptions, compared = exceptions + bad.sum(), compared + converged.sum()
    assert exceptions <= max(1.0, (1 - fraction) * compared)


@pytest.mark.parametrize("name", LARGE)
def test_batches_change_no_bit(name):
    model = load(name)
    header = nextstat.toys_prepare(model, 1.0, n_toys=2000, seed=3, device="cpu").header
    whole = toys(model, header, "cuda", "b", 0, 2000)[1]
    parts = [toys(model, header, "cuda", "b", k, min(k + 777, 2000))[1] for k in range(0, 2000, 777)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    single = np.concatenate([toys(model, header, "cuda", "b", k, k + 1)[1] for k in range(20)])
    assert single.tobytes() == whole[:20].tobytes()
