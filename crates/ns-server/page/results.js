"use strict";
// Shows results as tables, with the rounding of the command line.

// Makes an element with properties and children. Text is never read as HTML.
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const is = (x) => typeof x === "number" && Number.isFinite(x);
const number = (x) => (is(x) ? Number(x.toPrecision(6)).toString() : "none");
const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

// A warning about a number that is null in the JSON, with the word that the tables have.
const forPeople = (warning) => warning.replace(/^(.*?) is null: /, (_, what) => `${what.replace("p_value", "p-value")} is none: `);

// A value with its uncertainty, both rounded to the second significant digit of the uncertainty.
function measured(value, uncertainty) {
  if (!is(value) || !is(uncertainty) || uncertainty <= 0) return number(value);
  const digits = 1 - Math.floor(Math.log10(Number(uncertainty.toPrecision(2))));
  if (digits > 8 || Math.abs(value) >= 1e7) return `${value.toExponential(4)} ± ${uncertainty.toExponential(1)}`;
  const text = (x) => x.toFixed(Math.max(digits, 0)).replace(/^-(?=[0.]*$)/, "");
  return `${text(value)} ± ${text(uncertainty)}`;
}

function table(titles, rows, numbers = []) {
  const cell = (tag, text, i) => make(tag, { textContent: text, className: numbers.includes(i) ? "number" : "" });
  const head = make("tr", {}, ...titles.map((title, i) => cell("th", title, i)));
  const body = rows.map((row) => make("tr", {}, ...row.map((text, i) => cell("td", text, i))));
  const box = make("div", { className: "scroll", tabIndex: 0 }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
  const hint = make("p", { className: "hint quiet", textContent: "The table is wider than the page: scroll it to the right.", hidden: true });
  new ResizeObserver(() => { hint.hidden = box.scrollWidth <= box.clientWidth; }).observe(box);
  return make("div", {}, hint, box);
}

const line = (text, id) => make("p", { className: "result", textContent: text, ...(id ? { id } : {}) });
const fold = (title, ...children) => make("details", {}, make("summary", { textContent: title }), ...children);
const ended = (result) => (result.converged === false ? " Not converged." : "");

function contents(result) {
  const parameters = result.parameters.slice(0, 200);
  return [
    table(["channel", "bins", "observed", "nominal"], result.channels.map((c) => [c.name, c.n_bins, number(c.observed), number(c.nominal)]), [1, 2, 3]),
    make("h2", { textContent: "Samples" }),
    table(["sample", "nominal", "channels"], result.samples.map((s) => [s.name, number(s.nominal), s.channels.length]), [1, 2]),
    make("h2", { textContent: `${count(result.parameters.length, "parameter")}${parameters.length < result.parameters.length ? ", the first 200" : ""}` }),
    table(["parameter", "initial", "bounds", "constraint"], parameters.map((p) => [p.name, number(p.init), p.bounds.map(number).join(" to "), p.constraint]), [1]),
  ];
}

function fitted(result) {
  const rows = result.parameter_names.map((name, i) => [name, measured(result.bestfit[i], result.uncertainties[i])]);
  const poi = result.poi_index;
  const best = poi === null ? "" : `${rows[poi][0]} = ${rows[poi][1]}. `;
  return [
    line(`${best}${result.converged ? "Converged" : "Not converged"}, twice_nll ${number(result.twice_nll)}.`, "fitted"),
    fold("All parameters", table(["parameter", "best fit"], rows, [1])),
  ];
}

function ranked(result) {
  const rows = result.ranking.map((r) => [
    r.name, is(r.pull) ? r.pull.toFixed(2) : measured(r.value, r.uncertainty), is(r.constraint) ? r.constraint.toFixed(2) : "",
    `${number(r.delta_mu_up)} / ${number(r.delta_mu_down)}`,
  ]);
  return [
    line(`${result.param} = ${measured(result.mu_hat, result.mu_uncertainty)}.${ended(result)}`),
    fold("All parameters", table(["parameter", "pull", "constraint", `change of ${result.param}, up / down`], rows, [1, 2, 3])),
  ];
}

// One table of several rankings that share their fits, in the order of the largest change in units of the uncertainty.
function jointlyRanked(results) {
  const size = (r, result) => Math.max(...[r.delta_mu_up, r.delta_mu_down].filter(is).map(Math.abs), -1) / (result.mu_uncertainty ?? 1);
  const rows = new Map();
  results.forEach((result, k) => result.ranking.forEach((r) => {
    const row = rows.get(r.name) ?? { r, size: -1, changes: results.map(() => "") };
    row.size = Math.max(row.size, size(r, result));
    row.changes[k] = `${number(r.delta_mu_up)} / ${number(r.delta_mu_down)}`;
    rows.set(r.name, row);
  }));
  const cells = [...rows.values()].sort((a, b) => b.size - a.size).map(({ r, changes }) => [
    r.name, is(r.pull) ? r.pull.toFixed(2) : measured(r.value, r.uncertainty), is(r.constraint) ? r.constraint.toFixed(2) : "", ...changes,
  ]);
  const titles = ["parameter", "pull", "constraint", ...results.map((result) => `change of ${result.param}, up / down`)];
  return [
    ...results.map((result) => line(`${result.param} = ${measured(result.mu_hat, result.mu_uncertainty)}.${ended(result)}`)),
    fold("All parameters", table(titles, cells, titles.map((_, i) => i).slice(1))),
  ];
}

function scanned(result) {
  const rows = result.intervals.map((i) => [
    `${(100 * i.confidence_level).toFixed(1)} %`, is(i.lower) ? number(i.lower) : i.lower_reason, is(i.upper) ? number(i.upper) : i.upper_reason,
  ]);
  return [line(`Best fit ${result.param} = ${number(result.mu_hat)}.`), table(["confidence", "lower end", "upper end"], rows, [1, 2])];
}

function limited(result) {
  const names = result.nsigma_order.map((n) => (n === 0 ? "expected median" : `expected ${n > 0 ? "+" : "−"}${Math.abs(n)} sigma`));
  const rows = [["observed", number(result.observed)], ...names.map((name, i) => [name, number(result.expected[i])])];
  const level = `${number(100 * result.cl)} %`;
  return [line(`Upper limit on ${result.param} at ${level} confidence, CLs with ${result.test_stat}.${ended(result)}`), table(["", "limit"], rows, [1])];
}

function discovered(result) {
  const rows = [["observed", number(result.p0), number(result.z)], ["expected", number(result.p0_expected), number(result.z_expected)]];
  return [
    line(`Discovery test of ${result.param} = 0: ${number(result.z)} standard deviations.${ended(result)}`),
    table(["", "p0", "Z"], rows, [1, 2]),
    line(`q0 ${number(result.q0)}, best fit ${result.param} = ${number(result.mu_hat)}.`),
  ];
}

function good(result) {
  return [
    line(`Goodness of fit against the saturated model: p-value ${number(result.p_value)}.${ended(result)}`),
    line(`chi2 ${number(result.chi2)}, ${count(result.ndof, "degree")} of freedom (${count(result.n_bins, "bin")}, ${count(result.n_unconstrained, "free parameter")} without a constraint).`),
  ];
}

// Samples are rows and channels are columns, as in papers.
function counted(result) {
  const names = [...new Set(result.channels.flatMap((channel) => channel.samples.map((sample) => sample.name)))];
  const of = (channel, name) => channel.samples.find((sample) => sample.name === name);
  const cell = (sample) => (sample ? measured(sample.sum, sample.sum_uncertainty) : "");
  const rows = names.map((name) => [name, ...result.channels.map((channel) => cell(of(channel, name)))]);
  rows.push(["total", ...result.channels.map((c) => measured(c.sum, c.sum_uncertainty))]);
  rows.push(["data", ...result.channels.map((c) => number(c.data_sum))]);
  return [line(`Expected events after the fit.${ended(result)}`), table(["sample", ...result.channels.map((c) => c.name)], rows, result.channels.map((_, i) => i + 1))];
}
