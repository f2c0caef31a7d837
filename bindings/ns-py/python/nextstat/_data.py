"""Functions that return Asimov data sets. Their names and arguments are those of pyhf and cabinetry."""

import warnings

import numpy as np

from . import _native


def _model(model):
    return model if isinstance(model, _native.Model) else _native.load_workspace(model)


def _point(model, params):
    if params is None:
        return np.array(model.init)
    if isinstance(params, _native.FitResult):
        if params.parameter_names != model.parameter_names:
            raise ValueError("the fit result belongs to another model: its parameters are others")
        return np.array(params.bestfit)
    point = np.array(model.init)
    if isinstance(params, dict):
        for name, value in params.items():
            point[_index(model, name)] = value
        return point
    if np.ndim(params) == 0:
        raise ValueError(
            f"params must be the values of all {point.size} parameters, some values by name or a FitResult, not {params!r}; "
            "poi_value sets the parameter of interest"
        )
    given = np.asarray(params, dtype=float)
    if given.shape != point.shape:
        raise ValueError(
            f"params must have {point.size} elements (one per parameter, see parameter_names); "
            f"its shape is {given.shape}"
        )
    return given.copy()


def _index(model, name):
    names = model.parameter_names
    if name not in names:
        raise ValueError(f"the model has no parameter '{name}'; parameter_names lists them")
    return names.index(name)


def asimov_data(
    model, params=None, *, poi_value=None, poi_name=None, fit_results=None, include_auxdata=True
):
    """Returns the data expected at given parameters: main counts, and auxiliary data if `include_auxdata` is True.

    `params` are all values in order, some values by name, or a `FitResult`. By default they are the initial
    parameters. Parameters without a value have their initial values. `poi_value` sets the parameter of interest, or
    the parameter that `poi_name` names. `fit_results` is cabinetry's name for a `FitResult` in place of `params`.
    `fit(model, data=asimov_data(model))` is the same fit as `fit(model, asimov=True)`.
    """
    model = _model(model)
    if fit_results is not None:
        if params is not None:
            raise ValueError("give params or fit_results, not both")
        params = fit_results
    point = _point(model, params)
    if poi_value is not None:
        name = model.poi_name if poi_name is None else poi_name
        if name is None:
            raise ValueError("the model has no parameter of interest for poi_value; name a parameter with poi_name")
        point[_index(model, name)] = poi_value
    elif poi_name is not None:
        raise ValueError("poi_name needs poi_value, the value of that parameter")
    return model.expected_data(point, include_auxdata)


def generate_asimov_data(
    model, asimov_mu, *, data=None, fixed=None, init=None, return_fitted_pars=False, include_auxdata=True
):
    """Returns the Asimov data set of a hypothesis test, like `pyhf.infer.calculators.generate_asimov_data`.

    The parameter of interest is fixed at `asimov_mu` and the others are fitted to the data. The result is the data
    expected at this point. `data`, `fixed` and `init` have the same meaning as for `fit`. With `return_fitted_pars` the
    result is a pair of the expected data and the parameters. Raises `ConvergenceError` if the fit does not converge.
    """
    if isinstance(model, (int, float)):
        text = "generate_asimov_data(asimov_mu, model) becomes generate_asimov_data(model, asimov_mu): the model comes first"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        model, asimov_mu = asimov_mu, model
    model = _model(model)
    if model.poi_name is None:
        raise ValueError("the model has no parameter of interest to hold at asimov_mu")
    held = {**(fixed or {}), model.poi_name: asimov_mu}
    result = _native.fit(model, data=data, fixed=held, init=init, uncertainties=False, strict=True)
    expected = model.expected_data(result.bestfit, include_auxdata)
    return (expected, result.bestfit) if return_fitted_pars else expected
