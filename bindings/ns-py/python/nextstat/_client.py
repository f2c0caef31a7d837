"""Clients of `nextstat-server`. Their methods have the names of the functions of this package, and return the same objects."""

from __future__ import annotations

import asyncio
import functools
import http.client
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from . import _requests, _results
from ._requests import ModelLike, RemoteModel, Request

#: Called with the number of finished fits and the total number of fits.
Progress = Callable[[int, int], None]


class _Connection:
    """The connection of one call. `close` ends the call. Another thread may call it."""

    def __init__(self, url: str, token: str | None, timeout: float | None):
        place = urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise ValueError(f"'{url}' is no address of a server; write it as http://127.0.0.1:8765")
        kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(place.hostname, place.port, timeout=timeout)
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def send(self, request: Request) -> http.client.HTTPResponse:
        """Sends a request. Reads the body of the response only if the server refused the request."""
        self._connection.request(request.method, request.path, request.body, self._headers)
        response = self._connection.getresponse()
        if response.status >= 400:
            raise _requests.failure(response.status, response.read())
        return response

    def result(self, request: Request, progress: Progress | None) -> bytes:
        """Returns the answer to a request. If the request becomes a job, waits until the job ends."""
        response = self.send(request)
        content = response.read()
        if response.status != 202:
            return content
        job = f"/v1/jobs/{json.loads(content)['id']}"
        try:
            for name, data in _requests.read_events(self.send(Request("GET", f"{job}/events"))):
                if name == "progress" and progress is not None:
                    progress(data["done"], data["total"])
            return self.send(Request("GET", f"{job}/result")).read()
        except BaseException:
            # The call was interrupted, so the result of the job is not needed.
            self._connection.close()
            self.send(Request("DELETE", job)).read()
            raise

    def close(self) -> None:
        """Ends the call."""
        socket = self._connection.sock
        if socket is not None:
            try:
                socket.shutdown(2)
            except OSError:
                pass  # The server has ended the connection already.
        self._connection.close()


class _Functions:
    """The functions of both clients. `_send` sends a request, converts the answer by `read`, and returns it."""

    _device: str | None = None

    def _send(self, request: Request, read: Callable[[bytes], Any] = json.loads, progress: Progress | None = None) -> Any:
        raise NotImplementedError

    def _analysis(self, name: str, model: ModelLike, options: Mapping[str, Any], *, plot: str | None = None,
                  device: str | None = None, progress: Progress | None = None,
                  backgrounds: Mapping[str, ModelLike] | None = None, **keys: Any) -> Any:
        keys = {**keys, "device": device or self._device}
        if options:
            keys["options"] = dict(options)
        request = _requests.analysis(name, model, keys, plot=plot, backgrounds=backgrounds)
        read = bytes if plot else functools.partial(_results.of_json, name, model)
        return self._send(request, read, progress)

    def load_workspace(self, workspace: ModelLike, **settings: Any) -> Any:
        """Stores a model on the server, and returns an object that names the model in later calls. Settings:
        `measurement`, `poi`, `patches`, `channels`, `mask`, `interpolation`, `normsys_code`, `histosys_code`,
        `digest_check`. `workspace` may be the path of an archive (tar, tar.gz, zip) of HistFactory's XML, a datacard or a
        configuration with the files that it names; then also `file`, its path in the archive, and for a datacard `mass`, `map`
        and `mc_stats`. The server reads the archive, so that results of fits have numbers and no `plot`."""
        def name(content: bytes) -> RemoteModel:
            kept = json.loads(content)
            return RemoteModel(kept["model_digest"], kept["data_digest"], _results.Origin(workspace, settings))
        return self._send(_requests.keep(workspace, settings), name)

    def fit(self, model: ModelLike, *, plot: str | None = None, device: str | None = None, **options: Any) -> Any:
        """Finds the best fit. With `plot` (svg, png or pdf), returns the picture of pulls as bytes."""
        return self._analysis("fit", model, options, plot=plot, device=device)

    def fit_batch(self, model: ModelLike, datasets: Any, *, device: str | None = None,
                  progress: Progress | None = None, **options: Any) -> Any:
        """Fits many data sets. Each has the keys `main` and `aux`; by default `aux` is the observed auxiliary data."""
        options = {"covariance": False, **options}
        return self._analysis("fit-batch", model, options, device=device, progress=progress, datasets=list(datasets))

    def profile_scan(self, model: ModelLike, *, plot: str | None = None, device: str | None = None,
                     progress: Progress | None = None, **options: Any) -> Any:
        """Scans the profile likelihood. An axis is `first={"param": ..., "start": ..., "stop": ..., "points": ...}`."""
        return self._analysis("scan", model, options, plot=plot, device=device, progress=progress)

    def ranking(self, model: ModelLike, *, plot: str | None = None, device: str | None = None,
                progress: Progress | None = None, **options: Any) -> Any:
        """Ranks nuisance parameters by their impact on the parameter of interest. For a model with several, as all functions
        about one of them, it returns a dictionary with one result per name."""
        return self._analysis("ranking", model, options, plot=plot, device=device, progress=progress)

    def hypotest(self, model: ModelLike, mu: Any, *, toys: int | None = None, seed: int | None = None,
                 device: str | None = None, progress: Progress | None = None, **options: Any) -> Any:
        """Tests a value of the parameter of interest with asymptotic formulae, or a point in several parameters: a dictionary
        of names and values, or a list of the values of all parameters of interest. `toys` and `seed` are for a point."""
        model, mu = _model_first("hypotest", model, mu)
        return self._analysis("hypotest", model, options, device=device, progress=progress, mu=mu, n_toys=toys, seed=seed)

    def hypotest_toys(self, model: ModelLike, mu: Any, *, device: str | None = None,
                      progress: Progress | None = None, **options: Any) -> Any:
        """Tests a value of the parameter of interest with toys."""
        model, mu = _model_first("hypotest_toys", model, mu)
        return self._analysis("hypotest-toys", model, options, device=device, progress=progress, mu=mu)

    def fit_toys(self, model: ModelLike, *, device: str | None = None, progress: Progress | None = None,
                 **options: Any) -> Any:
        """Fits toys drawn at a known point: bias, pulls and coverage."""
        return self._analysis("toys", model, options, device=device, progress=progress)

    def upper_limit(self, model: ModelLike, *, plot: str | None = None, device: str | None = None,
                    progress: Progress | None = None, **options: Any) -> Any:
        """Finds the observed and the expected CLs upper limits with asymptotic formulae."""
        return self._analysis("upper-limit", model, options, plot=plot, device=device, progress=progress)

    def significance(self, model: ModelLike, *, device: str | None = None, **options: Any) -> Any:
        """Finds the significance of a discovery."""
        return self._analysis("significance", model, options, device=device)

    def goodness_of_fit(self, model: ModelLike, *, n_toys: int | None = None, seed: int | None = None,
                        device: str | None = None, progress: Progress | None = None, **options: Any) -> Any:
        """Compares the best fit with the saturated model."""
        return self._analysis("gof", model, options, device=device, progress=progress, n_toys=n_toys, seed=seed)

    def yields(self, model: ModelLike, *, at: Any = None, plot: str | None = None, device: str | None = None,
               **options: Any) -> Any:
        """Returns the expected events of every channel and sample, at `"bestfit"`, `"init"` or `{"point": ...}`."""
        return self._analysis("yields", model, options, plot=plot, device=device, at=at)

    def interval(self, model: ModelLike, *, plot: str | None = None, device: str | None = None,
                 progress: Progress | None = None, **options: Any) -> Any:
        """Finds the confidence interval of a parameter; with `n_toys` that of Feldman and Cousins."""
        return self._analysis("interval", model, options, plot=plot, device=device, progress=progress)

    def region(self, model: ModelLike, *, plot: str | None = None, device: str | None = None,
               progress: Progress | None = None, **options: Any) -> Any:
        """Finds the confidence region of two parameters; with `n_toys` that of Feldman and Cousins."""
        return self._analysis("region", model, options, plot=plot, device=device, progress=progress)

    def look_elsewhere(self, model: ModelLike, param: str, *, plot: str | None = None, device: str | None = None,
                       progress: Progress | None = None, **options: Any) -> Any:
        """Finds the significance of a signal that was searched at many places along the parameter `param`."""
        return self._analysis("look-elsewhere", model, {"param": param, **options}, plot=plot, device=device, progress=progress)

    def injection(self, model: ModelLike, values: Iterable[float], *, plot: str | None = None, device: str | None = None,
                  progress: Progress | None = None, **options: Any) -> Any:
        """Draws toys at values of a parameter, and finds the bias of their fits."""
        return self._analysis("injection", model, {"values": [float(x) for x in values], **options}, plot=plot, device=device,
                              progress=progress)

    def sample(self, model: ModelLike, *, device: str | None = None, progress: Progress | None = None, **options: Any) -> Any:
        """Samples the posterior. The result has the numbers of `nextstat.sample` as attributes; the draws stay on the server, so
        that it has no `draws` and no `plot`. Options: `priors`, `chains`, `draws`, `tune`, `cl`, `seed`."""
        return self._analysis("sample", model, options, device=device, progress=progress)

    def compatibility(self, model: ModelLike, *, plot: str | None = None, device: str | None = None,
                      progress: Progress | None = None, **options: Any) -> Any:
        """Tests whether all channels have the same value of the parameter of interest. Options: `n_toys`, `leave_out`, `seed`."""
        return self._analysis("compatibility", model, options, plot=plot, device=device, progress=progress)

    def spurious_signal(self, model: ModelLike, backgrounds: Mapping[str, ModelLike], param: str, *, plot: str | None = None,
                        device: str | None = None, progress: Progress | None = None, **options: Any) -> Any:
        """Finds the signal that a model finds in backgrounds without signal, which are models by their names."""
        return self._analysis("spurious-signal", model, {"param": param, **options}, plot=plot, device=device,
                              progress=progress, backgrounds=backgrounds)

    def unfold(self, model: ModelLike, truth: str | Iterable[str], *, prediction: Any = None, plot: str | None = None,
               picture: str | None = None, device: str | None = None, progress: Progress | None = None, **options: Any) -> Any:
        """Unfolds the data: finds the factors of the truth bins. `prediction` is a list of yields or a dictionary. With `plot`,
        `picture` may be `"strengths"`. Options: `regularisation`, `tau`, `n_toys`, ..."""
        options = {"truth": [truth] if isinstance(truth, str) else list(truth), **options}
        if prediction is not None:
            options["prediction"] = (dict(prediction) if isinstance(prediction, Mapping)
                                     else {"yields": [float(x) for x in prediction]})
        return self._analysis("unfold", model, options, plot=plot, device=device, progress=progress, picture=picture)

    def simplify(self, model: ModelLike, *, at: Any = None, validation: bool = False, device: str | None = None,
                 progress: Progress | None = None, **options: Any) -> Any:
        """Makes a simplified likelihood. `at` is the result of a fit with its covariance. With `validation=True`, best fits and
        limits are compared with those of the model. Options: `channels`, `n_draws`, `seed`, `third_moments`."""
        point = None if at is None else at.to_dict()
        return self._analysis("simplify", model, options, device=device, progress=progress, at=point, validation=validation)

    def blue(self, results: Mapping[str, Any] | str | os.PathLike[str]) -> Any:
        """Combines given results to the best linear unbiased estimate. `results` is a dictionary, or the path of a file in TOML
        or JSON."""
        return self._send(_requests.blue(results), functools.partial(_results.of_json, "blue", None))

    def inspect(self, model: ModelLike) -> Any:
        """Returns the channels, samples, parameters and modifiers of a workspace."""
        return self._send(_requests.analysis("inspect", model, {}))

    def validate(self, workspace: ModelLike) -> Any:
        """Returns every problem of a workspace."""
        return self._send(_requests.analysis("validate", workspace, {}))

    def prune(self, workspace: Mapping[str, Any] | str | os.PathLike[str], **options: Any) -> Any:
        """Removes parts of a workspace."""
        return self._send(_requests.edit("prune", [workspace], options))

    def rename(self, workspace: Mapping[str, Any] | str | os.PathLike[str], **options: Any) -> Any:
        """Renames parts of a workspace."""
        return self._send(_requests.edit("rename", [workspace], options))

    def decorrelate(self, workspace: Mapping[str, Any] | str | os.PathLike[str], modifier: str, by: Any) -> Any:
        """Makes a parameter independent parameters, one for each channel (`by="channel"`), sample or region of a dictionary."""
        by = by if isinstance(by, str) else {"regions": dict(by)}
        return self._send(_requests.edit("decorrelate", [workspace], {"modifier": modifier, "by": by}))

    def combine(self, *workspaces: Mapping[str, Any] | str | os.PathLike[str], **options: Any) -> Any:
        """Combines workspaces into one."""
        return self._send(_requests.edit("combine", workspaces, options))

    def merge_toys(self, *files: str | os.PathLike[str], **options: Any) -> Any:
        """Computes the result of a run of toys from the files of its shards."""
        return self._send(_requests.merge(files, options), functools.partial(_results.of_json, "merge-toys", None))

    def devices(self) -> Any:
        """Lists the devices of the server. For a device that cannot be used, gives the reason."""
        return self._send(Request("GET", "/v1/devices"), lambda content: json.loads(content)["devices"])


def _model_first(function: str, model: Any, mu: Any) -> tuple[Any, float]:
    # Earlier versions had the two arguments in the other order.
    if isinstance(model, int | float):
        text = f"client.{function}(mu, model) becomes client.{function}(model, mu): the model comes first"
        warnings.warn(text, DeprecationWarning, stacklevel=3)
        model, mu = mu, model
    return model, mu


class Client(_Functions):
    """A client of `nextstat-server`. Results are of the classes that the same functions of this package return, with their
    warnings. Distributions of toys stay on the server: pictures of them come with `plot=`.

    Keyword arguments become the key `options` of the request, for example `fixed={"lumi": 1.0}` for a fit, or
    `fit={"fixed": ...}` for other analyses. A call that takes long becomes a job of the server, and the client waits
    for the job. If the call is interrupted, the job is cancelled.
    """

    def __init__(self, url: str = "http://127.0.0.1:8765", token: str | None = None, *, device: str | None = None,
                 timeout: float | None = None):
        self._open = functools.partial(_Connection, url, token, timeout)
        self._device = device
        self._open().close()

    def _send(self, request: Request, read: Callable[[bytes], Any] = json.loads, progress: Progress | None = None) -> Any:
        connection = self._open()
        try:
            return read(connection.result(request, progress))
        finally:
            connection.close()


class AsyncClient(_Functions):
    """A client like `Client`, for asyncio. If a call is cancelled, its job on the server is cancelled too."""

    def __init__(self, url: str = "http://127.0.0.1:8765", token: str | None = None, *, device: str | None = None,
                 timeout: float | None = None):
        self._open = functools.partial(_Connection, url, token, timeout)
        self._device = device
        self._open().close()

    async def _send(self, request: Request, read: Callable[[bytes], Any] = json.loads, progress: Progress | None = None) -> Any:
        connection = self._open()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bytes] = loop.create_future()

        def finish(content: bytes | None, error: BaseException | None) -> None:
            if done.cancelled():
                return
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(content or b"")

        def work() -> None:
            content, failed = None, None
            try:
                content = connection.result(request, progress)
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                failed = error
            loop.call_soon_threadsafe(finish, content, failed)

        # A call may take hours and would occupy a thread of the default executor, so it has a thread of its own.
        threading.Thread(target=work, daemon=True).start()
        try:
            return read(await done)
        finally:
            connection.close()
