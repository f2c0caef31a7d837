"use strict";
// The page for analyses. A model is sent once. The server computes all pictures and numbers.

const by = (id) => document.getElementById(id);
const state = { model: null, pois: [], name: "", source: null, patch: null, results: new Map(), tab: "summary", generation: 0 };

function headers(further = {}) {
  const token = by("token").value.trim();
  return token ? { ...further, Authorization: `Bearer ${token}` } : further;
}

// Sends a request. A response with an error status becomes an error with the server's message.
async function send(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: headers(options.headers) });
  if (answer.ok) return answer;
  let text = `${answer.status} ${answer.statusText}`;
  try {
    const problem = await answer.json();
    const places = (problem.errors || []).slice(0, 10);
    const line = (place) => `${place.pointer}: ${place.detail} ${place.remedy || ""}`;
    text = [problem.title, places.length ? "" : problem.detail, ...places.map(line)].filter(Boolean).join("\n");
  } catch { /* The answer has no problem details. */ }
  throw new Error(text);
}

const post = (path, body) =>
  send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: json(body) });

// Waits for the answer. If the request became a job, `show` gets its progress.
async function answered(path, body, show) {
  const answer = await post(path, { ...body, wait_s: 1 });
  if (answer.status !== 202) return answer;
  const job = await answer.json();
  await follow(job.id, show);
  return send(`/v1/jobs/${job.id}/result`);
}

// Follows the events of a job to its end. `fetch` is used because an EventSource cannot send a token.
async function follow(id, show) {
  const answer = await send(`/v1/jobs/${id}/events`);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the server ended the events of a job early");
    text += value.replaceAll("\r", "");
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const block = text.slice(0, end);
      const name = /^event: ?(.*)$/m.exec(block)?.[1];
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (name === "progress") show(JSON.parse(data));
      if (name === "end") return JSON.parse(data);
    }
  }
}

function complain(error) {
  by("message").textContent = error.message;
  by("message").hidden = false;
}

const quiet = () => { by("message").hidden = true; };
function download(name, blob) {
  return make("a", { textContent: name, href: URL.createObjectURL(blob), download: name });
}

// The tabs: the path of the analysis, the body of its request, and what is shown above its picture.
const tabs = {
  summary: { title: "Summary", path: "/v1/inspect", show: contents },
  fit: { title: "Fit", path: "/v1/fit", plot: true, show: fitted, label: "Pulls and constraints" },
  correlation: { title: "Correlations", path: "/v1/fit", body: { picture: "correlation" }, plot: true, only: true, label: "Correlations" },
  ranking: { title: "Ranking", path: "/v1/ranking", plot: true, show: ranked, joint: jointlyRanked, label: "Ranking of nuisance parameters" },
  yields: { title: "Yields", path: "/v1/yields", plot: true, show: counted, label: "Expected and observed events" },
  scan: { title: "Scan", path: "/v1/scan", plot: true, each: true, show: scanned, label: "Profile likelihood" },
  limit: { title: "Limit", path: "/v1/upper-limit", plot: true, each: true, show: limited, label: "CLs upper limit" },
  significance: { title: "Significance", path: "/v1/significance", show: discovered },
  goodness: { title: "Goodness of fit", path: "/v1/gof", show: good },
};

function request(further = {}) {
  const device = by("device").value;
  return { model: state.model, ...(device ? { device } : {}), ...further };
}

function meter(parent) {
  const bar = make("progress");
  const text = make("span", { className: "quiet" });
  parent.replaceChildren(make("p", {}, bar, " ", text));
  return ({ done, total }) => {
    Object.assign(bar, { max: Math.max(total, 1), value: done });
    text.textContent = `${done} of ${count(total, "fit")}`;
  };
}

async function open(key) {
  state.tab = key;
  for (const tab of by("tabs").children) tab.setAttribute("aria-selected", String(tab.dataset.key === key));
  const panel = by("panel");
  const known = state.results.get(key);
  if (known) return panel.replaceChildren(...known);
  quiet();
  const { path, body, plot, each, show, joint, label, only, title } = tabs[key];
  const progress = meter(panel);
  const generation = state.generation;
  try {
    const parts = [];
    const links = make("p", {});
    const whole = path === "/v1/inspect" ? { model: state.model } : request(body);
    if (!only) {
      const answer = path === "/v1/inspect" ? await post(path, whole) : await answered(path, whole, progress);
      const text = await answer.text();
      links.append(download(`${state.name}-${key}.json`, new Blob([text], { type: "application/json" })), " ");
      const result = JSON.parse(text);
      // With several parameters of interest there is a list of results.
      const results = result.results && result.pois ? result.results : [result];
      const texts = [...new Set(results.flatMap((one) => one.warnings || []))];
      const warnings = texts.map((warning) => make("li", { textContent: forPeople(warning) }));
      parts.push(...(joint && results.length > 1 ? joint(results) : results.flatMap(show)), ...(warnings.length ? [make("ul", { className: "warnings" }, ...warnings)] : []));
    }
    if (plot) {
      // A picture of a scan or limit shows one parameter of interest.
      for (const poi of each && state.pois.length > 1 ? state.pois : [null]) {
        const asked = poi === null ? whole : { ...whole, model: { ...state.model, poi } };
        const answer = await answered(`${path}?plot=svg`, asked, progress);
        const blob = await answer.blob();
        const picture = make("img", { src: URL.createObjectURL(blob), alt: poi === null ? label : `${label}, ${poi}` });
        await picture.decode();
        parts.push(make("figure", {}, picture));
        links.append(download(`${state.name}-${key}${poi === null ? "" : `-${poi}`}.svg`, blob), " ");
      }
    }
    parts.push(links);
    if (generation !== state.generation) return;
    state.results.set(key, parts);
    if (state.tab === key) panel.replaceChildren(...parts);
  } catch (error) {
    if (generation !== state.generation || state.tab !== key) return;
    panel.replaceChildren(make("p", { className: "quiet", textContent: `${title}: no result` }));
    complain(error);
  }
}

// The patches of the chosen model, as the server takes them.
function patches() {
  if (!state.patch) return {};
  if (state.patch.kind === "patch") return { patches: [{ patch: state.patch.text }] };
  return { patches: [{ patchset: state.patch.text, name: by("patch").value }] };
}

// Sends the model once. Later requests refer to it by its digests.
async function load(measurement) {
  quiet();
  state.generation += 1;
  state.results.clear();
  const file = by("member").value.trim();
  const model = { ...state.source, ...(file ? { file } : {}), ...patches(), ...(measurement ? { measurement } : {}) };
  const kept = await (await post("/v1/models", { model })).json();
  state.model = { model_digest: kept.model_digest, data_digest: kept.data_digest };
  state.pois = kept.pois;
  const names = kept.measurements.map((name) => make("option", { textContent: name, selected: name === kept.measurement }));
  by("measurement").replaceChildren(...names);
  by("summary").textContent =
    `${count(kept.n_parameters, "parameter")}, ${count(kept.n_bins, "bin")}, parameter of interest ${kept.pois.join(", ") || "none"}`;
  by("work").hidden = by("jobs").hidden = false;
  await open(state.tab);
}

// Takes a model, and patches that belong to it. Patches alone are for the model that is there.
async function read(files, tab = "summary") {
  quiet();
  try {
    const all = await Promise.all([...files].map(async (file) => ({ file, ...(await readFile(file)) })));
    const packed = all.filter(({ kind }) => kind === "archive" || kind === "part");
    const model = packed.find(({ kind, isText }) => kind === "archive" || isText) ?? packed[0] ?? all.find(({ kind }) => kind === "model");
    const patch = all.find(({ kind }) => kind.startsWith("patch"));
    if (model) {
      state.source = packed.length ? await together(packed) : { workspace: model.text };
      state.name = model.file.name.replace(/(\.json|\.tar)?(\.gz|\.tgz|\.zip)?$/, "");
      state.tab = tab;
      by("member").value = "";
      by("inside").hidden = packed.length === 0;
    } else if (!state.source) {
      throw new Error(`${patch.file.name} is a ${patch.kind}. Drop the workspace that it changes first, or both together.`);
    }
    state.patch = patch ?? null;
    const names = patch?.kind === "patchset" ? patch.value.patches.map(({ metadata }) => metadata.name) : [];
    by("patch").replaceChildren(...names.map((name) => make("option", { textContent: name })));
    by("patches").hidden = names.length === 0;
    by("name").textContent = [state.name, patch?.file.name].filter(Boolean).join(" with ");
    await load();
  } catch (error) {
    complain(error);
  }
}

async function example(tab) {
  const text = await (await fetch("/page/example.json")).text();
  await read([new File([text], "example.json")], tab in tabs ? tab : "summary");
}

async function toys(form) {
  const value = (name) => Number(new FormData(form).get(name));
  // A test with toys is about one parameter of interest, the first one.
  const model = state.pois.length > 1 ? { ...state.model, poi: state.pois[0] } : state.model;
  const body = request({ model, mu: value("mu"), wait_s: 0, options: { n_toys: value("n_toys"), seed: value("seed") } });
  const answer = await post("/v1/hypotest-toys", body);
  const item = make("li", {});
  by("list").prepend(item);
  if (answer.status !== 202) return finished(item, await answer.text(), "done");
  const job = await answer.json();
  const bar = make("span");
  const stop = make("button", { textContent: "Cancel", type: "button" });
  stop.onclick = () => { stop.disabled = true; send(`/v1/jobs/${job.id}`, { method: "DELETE" }).catch(complain); };
  item.append(make("span", { textContent: `${value("n_toys")} toys at ${value("mu")}` }), bar, stop);
  const status = await follow(job.id, meter(bar));
  stop.remove();
  bar.remove();
  if (!status.has_result) return item.append(make("strong", { textContent: status.state }));
  finished(item, await (await send(`/v1/jobs/${job.id}/result`)).text(), status.state);
}

function finished(item, text, word) {
  const result = JSON.parse(text);
  item.dataset.state = word;
  item.append(
    make("strong", { textContent: word }),
    make("span", { textContent: `CLs = ${number(result.cls)} from ${result.n_toys.sb} + ${result.n_toys.b} toys` }),
    download(`${state.name}-toys.json`, new Blob([text], { type: "application/json" })),
  );
}

async function devices() {
  const { devices } = await (await send("/v1/devices")).json();
  const options = devices.filter((d) => d.available).map((d) => make("option", { textContent: d.name, value: d.name }));
  by("device").replaceChildren(make("option", { textContent: "as the server chooses", value: "" }), ...options);
}

for (const [key, { title }] of Object.entries(tabs)) {
  const tab = make("button", { textContent: title, type: "button", onclick: () => open(key) });
  tab.setAttribute("role", "tab");
  tab.dataset.key = key;
  by("tabs").append(tab);
}
// A file that is dropped beside the frame must not replace the page.
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
const drop = by("drop");
drop.ondragover = (event) => { event.preventDefault(); drop.classList.add("over"); };
drop.ondragleave = () => drop.classList.remove("over");
drop.ondrop = (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  if (event.dataTransfer.files.length) read(event.dataTransfer.files);
};
by("file").onchange = (event) => { if (event.target.files.length) read(event.target.files); };
by("example").onclick = () => example().catch(complain);
by("measurement").onchange = (event) => load(event.target.value).catch(complain);
by("member").onchange = () => load().catch(complain);
by("patch").onchange = () => load().catch(complain);
by("device").onchange = () => { state.generation += 1; state.results.clear(); open(state.tab); };
by("toys").onsubmit = (event) => { event.preventDefault(); quiet(); toys(event.target).catch(complain); };
by("token").onchange = () => devices().catch(complain);
// `/#example` shows the example, `/#example/limit` one of its tabs.
const [first, second] = location.hash.slice(1).split("/");
if (first === "example") example(second).catch(complain);
devices().catch(() => { /* The server asks for a token first. */ });
