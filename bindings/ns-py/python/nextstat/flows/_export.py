"""The function `export`. It writes the graphs and the manifest of a flow, and compares the graphs with the flow."""

import contextlib
import copy
import hashlib
import io
import json
import math
import pathlib
import warnings

# Numbers of events for tracing a graph and for comparing it with the flow.
TRACED, COMPARED = 5, 257
# Largest fraction of derivatives by the context that may differ from differences, at kinks of a flow.
KINKS = 0.02


class ExportError(RuntimeError):
    """The error that a flow cannot be written, or that its graph differs from the flow."""


def export(
    flow,
    folder,
    name,
    features,
    *,
    support=None,
    location=None,
    scale=None,
    context=(),
    finite_differences=None,
    context_gradient=True,
    sampler=True,
    double=None,
    description=None,
):
    """Writes a flow to `folder`: the graph ``NAME.onnx``, ``NAME_sampler.onnx``, with context
    ``NAME_context_gradient.onnx``, and the manifest ``NAME.flow.json``. Returns the path of the manifest.

    `flow` is a flow of `zuko`, of `nflows`, or a module with a method ``log_prob(x)`` (``log_prob(x, context)`` with
    context). `features` are names, in the order of the columns of ``x``. If the flow was trained with ``(x -
    location) / scale``, give `location` and `scale`, one number per feature each. The input and output of the graphs
    are then ``x``. `support` has a pair per feature, outside which the density is 0; None means an open end. Without
    `support` all ends are open.

    `context` names the numbers of the context, if the flow has one. The derivatives of the log-density by these numbers
    are a graph, traced from PyTorch's automatic differentiation and compared with differences, unless
    `context_gradient` is false. `finite_differences` are steps for second derivatives, and for first ones without that
    graph. If the graph cannot be written, there is a warning, or an error without steps. A sampler is written if the base is a standard normal or a uniform
    distribution; otherwise there is a warning. Graphs compute with 64 bits if `double` is true, with 32 if it is
    false. By default they compute with 64 bits if ONNX Runtime supports all operations of the flow in 64 bits.

    The graphs are compared with the flow at random points if `onnxruntime` is installed.

    Raises `ImportError` without PyTorch or its exporter, `ValueError` for inconsistent arguments, and `ExportError`
    if PyTorch cannot export the flow or a graph differs from the flow.
    """
    try:
        import torch  # type: ignore

        from ._modules import log_prob_module, sampler_module
    except ImportError as error:
        raise ImportError(
            "nextstat.flows.export needs PyTorch, which is not installed: pip install torch onnx onnxscript", name=error.name
        ) from error

    features, context = list(features), list(context)
    location = _per_feature("location", location, features, 0.0)
    scale = _per_feature("scale", scale, features, 1.0)
    if not all(s > 0 for s in scale):
        raise ValueError("scale must be positive")
    support = [(None, None)] * len(features) if support is None else [_pair(side) for side in support]
    if len(support) != len(features):
        raise ValueError(f"support needs a pair (low, high) for each of the {len(features)} features")
    steps = [float(step) for step in finite_differences or ()]
    if len(steps) != len(context) and (steps or not context_gradient):
        raise ValueError(f"finite_differences needs a step for each of the {len(context)} numbers of the context")

    if double is None:
        try:
            import onnxruntime  # type: ignore # noqa: F401

            kinds = (torch.float64, torch.float32)
        except ImportError:
            kinds = (torch.float32,)
    else:
        kinds = (torch.float64 if double else torch.float32,)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"format": "nextstat-flow/1", "name": name}
    if description is not None:
        manifest["description"] = str(description)
    manifest |= {"features": features, "support": [list(side) for side in support]}
    if context:
        manifest["context"] = context
    if steps:
        manifest["finite_differences"] = steps
    for kind in kinds:
        own = copy.deepcopy(flow).to(device="cpu", dtype=kind).eval()
        spread = (torch.tensor(location, dtype=kind), torch.tensor(scale, dtype=kind))
        graphs = Graphs(torch, folder, spread, support, len(context))
        try:
            log_prob = log_prob_module(own, spread)
            manifest["log_prob"] = graphs.write(log_prob, f"{name}.onnx", "x", "log_prob")
            found = sampler_module(own, spread, len(context)) if sampler else None
            if found is not None:
                module, base = found
                written = graphs.write(module, f"{name}_sampler.onnx", "z", "x", base)
                manifest["sampler"] = {**written, "base": base, "numbers": len(features)}
            break
        except _NotImplementedInRuntime as error:
            if kind == kinds[-1]:
                raise ExportError(f"ONNX Runtime cannot run the flow '{name}': {error}") from error
    if context and context_gradient:
        try:
            manifest["context_gradient"] = graphs.write_gradient(log_prob, f"{name}_context_gradient.onnx")
        except (ExportError, _NotImplementedInRuntime) as error:
            why = f"the flow '{name}' has no graph of its derivatives by the context: {error}"
            if not steps:
                raise ExportError(f"{why}; give finite_differences, a step for each number of the context") from error
            warnings.warn(f"{why}. They are computed by differences with the steps {steps}", stacklevel=2)
    if sampler and found is None:
        warnings.warn(
            f"the flow '{name}' has no sampler graph, because its base is neither a standard normal nor a uniform "
            "distribution: toys are drawn by rejection, with up to two features",
            stacklevel=2,
        )
    path = folder / f"{name}.flow.json"
    path.write_text(json.dumps(manifest, indent=1) + "\n")
    return path


class _NotImplementedInRuntime(Exception):
    """The error that ONNX Runtime does not support an operation for numbers of this type."""


class Graphs:
    """Writes the graphs of one flow, and compares the graphs with the flow."""

    def __init__(self, torch, folder, spread, support, context):
        self.torch, self.folder, self.spread, self.support, self.context = torch, folder, spread, support, context
        self.generator = torch.Generator().manual_seed(1)

    def random(self, rows, columns):
        return self.torch.randn(rows, columns, generator=self.generator, dtype=self.spread[0].dtype)

    def inputs(self, rows, base):
        """Returns random numbers from the base of a sampler. Without a base, returns events around the region of
        training."""
        first = self.random(rows, len(self.support))
        if base == "uniform":
            first = self.torch.special.ndtr(first)
        elif base is None:
            first = self.spread[0] + self.spread[1] * first
            for k, (low, high) in enumerate(self.support):
                low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
                first[:, k] = first[:, k].clamp(low, high)
        return (first, 0.1 * self.random(rows, self.context)) if self.context else (first,)

    def write_gradient(self, log_prob, file):
        """Writes the graph of the derivatives by the context, and returns its entry in the manifest."""
        from ._modules import ContextGradient

        gradient = ContextGradient(log_prob)
        try:
            differs = gradient.differs(*self.inputs(COMPARED, None))
            traced = gradient.traced(*self.inputs(TRACED, None))
        except Exception as error:  # Flows and tracing raise errors of many types.
            raise ExportError(f"PyTorch cannot differentiate it: {_first_line(error)}") from error
        if differs > KINKS:
            raise ExportError(f"{100 * differs:.0f} % of PyTorch's derivatives differ from differences")
        try:
            return self.write(gradient, file, "x", "gradient", traced=traced)
        except (ExportError, _NotImplementedInRuntime):
            (self.folder / file).unlink(missing_ok=True)
            raise

    def write(self, module, file, first, output, base=None, traced=None):
        """Writes one graph, and returns its entry in the manifest. `traced` is what is exported, if it is not the module
        itself."""
        path = self.folder / file
        names = [first, "context"] if self.context else [first]
        _write(self.torch, traced or module, path, self.inputs(TRACED, base), names, output)
        _compare(self.torch, module, path, self.inputs(COMPARED, base), names, output)
        return {"file": file, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _pair(side):
    """Returns the two ends of a feature. None means an open end."""
    try:
        low, high = side
    except TypeError:
        raise ValueError(f"support needs a pair (low, high) per feature, not {side!r}") from None
    return tuple(None if end is None or math.isinf(end) else float(end) for end in (low, high))


def _per_feature(what, values, features, default):
    values = [default] * len(features) if values is None else [float(value) for value in values]
    if len(values) != len(features) or not all(map(math.isfinite, values)):
        raise ValueError(f"{what} needs a finite number for each of the {len(features)} features")
    return values


def _first_line(error):
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def _write(torch, module, path, inputs, names, output):
    """Exports a module with PyTorch's exporter. If this fails, uses the older exporter, which traces the module."""
    rows = torch.export.Dim("n")
    errors = []
    for dynamo in (True, False):
        if dynamo:
            options = {"dynamic_shapes": tuple({0: rows} for _ in inputs), "external_data": False, "verbose": False}
        else:
            options = {"dynamic_axes": {key: {0: "n"} for key in [*names, output]}, "opset_version": 17}
        try:
            quiet = io.StringIO()
            with torch.no_grad(), warnings.catch_warnings(), contextlib.ExitStack() as stack:
                warnings.simplefilter("ignore")
                stack.enter_context(contextlib.redirect_stdout(quiet))
                stack.enter_context(contextlib.redirect_stderr(quiet))
                torch.onnx.export(
                    module, inputs, str(path), input_names=names, output_names=[output], dynamo=dynamo, **options
                )
            return
        except ImportError as error:
            raise ImportError(
                f"the exporter of PyTorch needs the package '{error.name}': pip install onnx onnxscript", name=error.name
            ) from error
        except Exception as error:  # Exporters raise errors of many types.
            errors.append(_first_line(error))
    raise ExportError(f"PyTorch cannot export '{path.name}': {'; '.join(errors)}")


def _compare(torch, module, path, inputs, names, output):
    """Compares a graph with its module at other events, if ONNX Runtime is installed."""
    try:
        import onnxruntime  # type: ignore
    except ImportError:
        warnings.warn("onnxruntime is not installed: the graph is not compared with the flow", stacklevel=4)
        return
    with torch.no_grad():
        expected = module(*inputs)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's errors have no other common base class.
        raise _NotImplementedInRuntime(str(error)) from error
    given = {name: tensor.numpy() for name, tensor in zip(names, inputs)}
    found = torch.from_numpy(session.run([output], given)[0])
    if found.shape != expected.shape:
        raise ExportError(f"'{path.name}' gives the shape {tuple(found.shape)}, and the flow {tuple(expected.shape)}")
    both = torch.isfinite(expected) & torch.isfinite(found)
    bound = 1e-6 if expected.dtype == torch.float64 else 1e-3
    size = max(1.0, expected[both].abs().max().item()) if both.any() else 1.0
    difference = (expected - found)[both].abs().max().item() if both.any() else 0.0
    if not (both | (expected == found)).all() or not difference <= bound * size:
        raise ExportError(f"'{path.name}' differs from the flow by up to {difference:.1e}; try double=True")
