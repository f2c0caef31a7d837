"""Names of earlier programs for models and for toys on a GPU. They call the functions of this package."""

from . import _native

__all__ = [
    "HistFactoryModel",
    "fit_toys_batch_gpu",
    "fit_toys_batch_metal",
    "fit_toys_from_data_gpu",
    "fit_toys_from_data_metal",
    "hypotest_qtilde_toys_gpu",
    "hypotest_qtilde_toys_metal",
]

HistFactoryModel = _native.Model


def _fit_toys(device):
    def fit_toys_batch(model, params, n_toys=1000, seed=0, device=device):
        return _native.fit_toys(model, params, n_toys, seed, device=device)

    return fit_toys_batch


def _fit_toys_from_data(device):
    def fit_toys_from_data(model, data, init=None, bounds=None, device=device):
        return _native.fit_batch(model, data, init=init, bounds=bounds, device=device)

    return fit_toys_from_data


def _hypotest_qtilde_toys(device):
    def hypotest_qtilde_toys(mu, model, n_toys=10_000, seed=0, device=device):
        return _native.hypotest_toys(model, mu, n_toys=n_toys, seed=seed, device=device)

    return hypotest_qtilde_toys


def _named(function, name, what):
    function.__name__ = function.__qualname__ = name
    function.__module__ = "nextstat.compat"
    function.__doc__ = what
    return function


fit_toys_batch_gpu = _named(
    _fit_toys("cuda"),
    "fit_toys_batch_gpu",
    """`fit_toys` with `device='cuda'`: toys drawn at `params` and fitted on the GPU.

    `device` may name another GPU ("cuda:1"), all of them ("cuda:all"), "cpu" or "auto"; the toys are the same on
    all of them. Without a GPU `DeviceError` says what is missing and what to do.""",
)
fit_toys_batch_metal = _named(_fit_toys("metal"), "fit_toys_batch_metal", "`fit_toys` with `device='metal'`.")
fit_toys_from_data_gpu = _named(
    _fit_toys_from_data("cuda"),
    "fit_toys_from_data_gpu",
    """`fit_batch` with `device='cuda'`: one fit for each row of `data`, from `init` (by default the model's).

    A row has main counts, or main counts followed by auxiliary data. `bounds` are other bounds than the model's, as
    for `fit_batch`. Without a GPU `DeviceError` says what is missing and what to do.""",
)
fit_toys_from_data_metal = _named(
    _fit_toys_from_data("metal"), "fit_toys_from_data_metal", "`fit_batch` of given data with `device='metal'`."
)
hypotest_qtilde_toys_gpu = _named(
    _hypotest_qtilde_toys("cuda"),
    "hypotest_qtilde_toys_gpu",
    """`hypotest_toys` with `device='cuda'`: CLs of `mu` with the statistic qtilde, `n_toys` of each hypothesis.

    Without a GPU `DeviceError` says what is missing and what to do.""",
)
hypotest_qtilde_toys_metal = _named(
    _hypotest_qtilde_toys("metal"), "hypotest_qtilde_toys_metal", "`hypotest_toys` with `device='metal'`."
)
