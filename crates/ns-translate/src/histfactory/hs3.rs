//! Writes a description as an HS3 model, which has constraints that workspaces of pyhf lack.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::describe::{Channel, Combination, Effect, Modifier, Sample, Term, TermKind};
use super::settle::{Constraint, Group, Groups, Kind};
use super::view::View;
use crate::pyhf::Problem;

/// Width of the range of a log-normal parameter, in standard deviations.
const RANGE: f64 = 5.0;

struct Writer<'a> {
    groups: &'a Groups,
    /// Names of the groups in the file.
    names: Vec<String>,
    taken: HashSet<String>,
    distributions: Vec<Value>,
    functions: Vec<Value>,
    /// Names of constraint terms by what they say.
    known: BTreeMap<String, String>,
}

/// The model, with one analysis per measurement. Without a choice the first one is meant.
pub(super) fn write(
    combination: &Combination,
    lumi: bool,
    groups: &Groups,
    views: &[View<'_>],
    data: &[Vec<f64>],
) -> Value {
    let mut w = Writer::new(combination, groups);
    let mut channels = Vec::new();
    let mut sets = Vec::new();
    for (channel, counts) in combination.channels.iter().zip(data) {
        let name = w.free(&channel.name);
        let axis = w.free(&format!("obs_{name}"));
        let edges = channel.axis.as_ref().and_then(|axis| axis.edges.as_ref());
        let axes = match edges.filter(|edges| edges.len() == channel.bins + 1) {
            Some(edges) => json!([{"name": axis, "edges": edges}]),
            None => json!([{"name": axis, "min": 0, "max": channel.bins, "nbins": channel.bins}]),
        };
        let samples: Vec<Value> = channel.samples.iter().map(|s| w.sample(channel, s, lumi)).collect();
        w.distributions
            .push(json!({"name": name, "type": "histfactory_dist", "axes": axes, "samples": samples}));
        let set = w.free(&format!("data_{name}"));
        sets.push(json!({"name": set, "type": "binned", "axes": axes, "contents": counts}));
        channels.push(name);
    }
    let data_names: Vec<Value> = sets.iter().filter_map(|set| set.get("name").cloned()).collect();
    let (mut likelihoods, mut domains, mut points, mut analyses) = (vec![], vec![], vec![], vec![]);
    for view in views {
        let name = &view.measurement.name;
        let terms = w.constraints(view);
        likelihoods.push(
            json!({"name": name, "distributions": channels, "data": data_names, "aux_distributions": terms}),
        );
        let (domain, point) = (format!("{name}_domain"), format!("{name}_init"));
        domains.push(json!({"name": domain, "type": "product_domain", "axes": w.axes(view)}));
        points.push(json!({"name": point, "parameters": w.values(view)}));
        analyses.push(json!({"name": name, "likelihood": name, "parameters_of_interest": w.interest(&view.measurement.interest),
                             "domain": domain, "init": point}));
    }
    json!({
        "metadata": {"hs3_version": "0.2.9", "packages": [{"name": "NextStat", "version": env!("CARGO_PKG_VERSION")}]},
        "distributions": w.distributions, "functions": w.functions, "data": sets, "likelihoods": likelihoods,
        "domains": domains, "parameter_points": points, "analyses": analyses,
        "misc": {"nextstat": {"analysis": views.first().map(|view| &view.measurement.name), "warnings": warnings(&combination.notes)}},
    })
}

fn warnings(notes: &[Problem]) -> Vec<Value> {
    let entry = |p: &Problem| json!({"path": p.path, "message": p.message, "remedy": p.remedy});
    notes.iter().map(entry).collect()
}

impl<'a> Writer<'a> {
    fn new(combination: &Combination, groups: &'a Groups) -> Self {
        let mut out = Self {
            groups,
            names: Vec::new(),
            taken: HashSet::new(),
            distributions: Vec::new(),
            functions: Vec::new(),
            known: BTreeMap::new(),
        };
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        for group in &groups.all {
            *count.entry(group.name()).or_default() += 1;
        }
        for function in &combination.functions {
            out.taken.insert(function.name.clone());
            out.functions.push(
                json!({"name": function.name, "type": "generic_function", "expression": function.expression}),
            );
        }
        // Expressions have the names of factors, which therefore come first.
        out.names = vec![String::new(); groups.all.len()];
        for factors in [true, false] {
            for (i, group) in groups.all.iter().enumerate().filter(|(_, g)| (g.kind == Kind::Norm) == factors)
            {
                // Where names collide, those of RooFit tell the parameters apart.
                let shared = count.get(&group.name()).is_some_and(|n| *n > 1);
                let name = out.free(&if shared { group.roofit() } else { group.name() });
                if let Some(own) = out.names.get_mut(i) {
                    *own = name;
                }
            }
        }
        for (group, name) in groups.all.iter().zip(out.names.clone()) {
            if !group.is_scalar() {
                out.taken.extend((0..group.start.len()).map(|bin| format!("{name}[{bin}]")));
            }
        }
        out
    }

    /// A name that nothing else has.
    fn free(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        while !self.taken.insert(free.clone()) {
            free.push('_');
        }
        free
    }

    fn group(&self, kind: Kind, source: &str) -> Option<(&'a Group, &str)> {
        let i = self.groups.find(kind, source)?;
        Some((self.groups.all.get(i)?, self.names.get(i)?))
    }

    fn sample(&self, channel: &Channel, sample: &Sample, lumi: bool) -> Value {
        let mut modifiers = Vec::new();
        if sample.lumi.unwrap_or(lumi) {
            let name = self.names.first();
            modifiers.push(json!({"name": "lumi", "type": "normfactor", "parameter": name}));
        }
        modifiers.extend(sample.modifiers.iter().filter_map(|modifier| self.modifier(modifier)));
        if sample.errors.is_some()
            && let Some((group, name)) = self.group(Kind::Stat, &channel.name)
        {
            modifiers.push(bins(group, name));
        }
        json!({"name": sample.name, "data": {"contents": sample.contents}, "modifiers": modifiers})
    }

    fn modifier(&self, modifier: &Modifier) -> Option<Value> {
        let name = &modifier.name;
        Some(match &modifier.effect {
            Effect::NormFactor { .. } => {
                let (_, parameter) = self.group(Kind::Norm, name)?;
                json!({"name": name, "type": "normfactor", "parameter": parameter})
            }
            Effect::Function { .. } => json!({"name": name, "type": "normfactor", "parameter": name}),
            Effect::OverallSys { low, high } => {
                let (_, parameter) = self.group(Kind::Alpha, name)?;
                json!({"name": name, "type": "normsys", "parameter": parameter, "data": {"lo": low, "hi": high},
                       "interpolation": {"type": "mult", "in": "poly6", "out": "exp"}})
            }
            Effect::HistoSys { low, high } => {
                let (_, parameter) = self.group(Kind::Alpha, name)?;
                json!({"name": name, "type": "histosys", "parameter": parameter,
                       "data": {"lo": {"contents": low}, "hi": {"contents": high}},
                       "interpolation": {"type": "add", "in": "poly6", "out": "poly1"}})
            }
            Effect::ShapeSys { .. } => {
                let (group, parameter) = self.group(Kind::Shape, name)?;
                bins(group, parameter)
            }
            Effect::ShapeFactor { .. } => {
                let (group, parameter) = self.group(Kind::Free, name)?;
                bins(group, parameter)
            }
        })
    }

    /// Adds the constraint terms of a measurement, and returns their names.
    fn constraints(&mut self, view: &View<'_>) -> Vec<String> {
        let mut terms = Vec::new();
        for (i, (group, base)) in self.groups.all.iter().zip(self.names.clone()).enumerate() {
            if let Some((_, term)) = view.terms.iter().find(|(known, _)| *known == i) {
                terms.extend(self.term(term, &base));
            }
            for (bin, constraint) in view.constraint.get(i).into_iter().flatten().enumerate() {
                let parameter = name_of(group, &base, bin);
                let content = match constraint {
                    Constraint::None => continue,
                    Constraint::Gaussian(sigma) => {
                        let nominal = match group.kind {
                            Kind::Lumi => view.measurement.lumi,
                            Kind::Alpha => 0.0,
                            _ => 1.0,
                        };
                        json!({"type": "gaussian_dist", "x": parameter, "mean": nominal, "sigma": sigma})
                    }
                    Constraint::Poisson(tau) => {
                        let mean = self.function(
                            &format!("{parameter}_expected"),
                            json!({"type": "product", "factors": [tau, parameter]}),
                        );
                        json!({"type": "poisson_dist", "x": tau, "mean": mean})
                    }
                };
                terms.push(self.distribution(&format!("{parameter}_constraint"), content));
            }
        }
        terms
    }

    /// Another constraint of the parameter of an `OverallSys`. The parameter keeps its meaning: at 1 it has the factor `High`.
    fn term(&mut self, term: &Term, parameter: &str) -> Option<String> {
        let r = term.relative;
        let scaled = json!({"type": "polynomial", "x": parameter, "coefficients": [1.0, r]});
        let content = match term.kind {
            TermKind::Uniform | TermKind::Unconstrained => return None,
            TermKind::Gamma => {
                let beta = self.function("nextstat_beta", scaled);
                json!({"type": "gamma_dist", "x": beta, "gamma": 1.0 / (r * r) + 1.0, "beta": r * r, "mu": 0.0})
            }
            TermKind::LogNormal => {
                let beta = self.function("nextstat_beta", scaled);
                let expression = format!("log({beta})/log(1+{r:e})");
                let x = self
                    .function("nextstat_log", json!({"type": "generic_function", "expression": expression}));
                json!({"type": "gaussian_dist", "x": x, "mean": 0.0, "sigma": 1.0})
            }
        };
        Some(self.distribution(&format!("{parameter}_constraint"), content))
    }

    fn function(&mut self, name: &str, content: Value) -> String {
        let (name, fresh) = self.once(name, &content);
        if fresh {
            self.functions.push(named(&name, content));
        }
        name
    }

    fn distribution(&mut self, name: &str, content: Value) -> String {
        let (name, fresh) = self.once(name, &content);
        if fresh {
            self.distributions.push(named(&name, content));
        }
        name
    }

    /// The name of a part, and whether it is new. Measurements share parts that say the same.
    fn once(&mut self, name: &str, content: &Value) -> (String, bool) {
        let key = content.to_string();
        if let Some(known) = self.known.get(&key) {
            return (known.clone(), false);
        }
        let name = self.free(name);
        self.known.insert(key, name.clone());
        (name, true)
    }

    fn axes(&self, view: &View<'_>) -> Vec<Value> {
        let mut out = Vec::new();
        for (i, (group, base)) in self.groups.all.iter().zip(&self.names).enumerate() {
            let term = view.terms.iter().find(|(known, _)| *known == i).map(|(_, term)| *term);
            let (low, high) = match (group.kind, term) {
                (Kind::Lumi, _) => {
                    let nominal = view.measurement.lumi;
                    match view.constraint.first().and_then(|c| c.first()) {
                        Some(Constraint::Gaussian(sigma)) => (nominal - 5.0 * sigma, nominal + 5.0 * sigma),
                        _ => (0.0, 10.0 * nominal),
                    }
                }
                (_, Some(term)) => range(term, group.bounds),
                _ => group.bounds,
            };
            for bin in 0..group.start.len() {
                out.push(json!({"name": name_of(group, base, bin), "min": low, "max": high}));
            }
        }
        out
    }

    fn values(&self, view: &View<'_>) -> Vec<Value> {
        let mut out = Vec::new();
        let starts = view.start.iter().zip(&view.fixed);
        for ((group, base), (start, fixed)) in self.groups.all.iter().zip(&self.names).zip(starts) {
            for (bin, (value, fixed)) in start.iter().zip(fixed).enumerate() {
                let mut entry = Map::from_iter([
                    ("name".to_owned(), json!(name_of(group, base, bin))),
                    ("value".to_owned(), json!(value)),
                ]);
                if *fixed {
                    entry.insert("const".to_owned(), json!(true));
                }
                out.push(Value::Object(entry));
            }
        }
        out
    }

    /// The parameters of interest as the file calls them.
    fn interest(&self, pois: &[String]) -> Vec<String> {
        let called = |poi: &String| {
            let own = self.group(Kind::Norm, poi).map(|(_, name)| name.to_owned());
            let alpha = || {
                let (_, name) = self.group(Kind::Alpha, poi.strip_prefix("alpha_").unwrap_or(poi))?;
                Some(name.to_owned())
            };
            own.or_else(alpha).unwrap_or_else(|| poi.clone())
        };
        pois.iter().map(called).collect()
    }
}

/// Bounds of a parameter with another constraint: those of RooFit, expressed by the parameter.
fn range(term: &Term, usual: (f64, f64)) -> (f64, f64) {
    let r = term.relative;
    match term.kind {
        TermKind::Uniform | TermKind::Unconstrained => usual,
        TermKind::Gamma => (-1.0 / r, 9.0 / r),
        TermKind::LogNormal => {
            let end = |t: f64| ((1.0 + r).powf(t) - 1.0) / r;
            (end(-RANGE), end(RANGE))
        }
    }
}

/// A modifier with a factor per bin.
fn bins(group: &Group, name: &str) -> Value {
    let parameters: Vec<String> = (0..group.start.len()).map(|bin| name_of(group, name, bin)).collect();
    json!({"name": name, "type": "shapesys", "parameters": parameters})
}

fn name_of(group: &Group, base: &str, bin: usize) -> String {
    if group.is_scalar() { base.to_owned() } else { format!("{base}[{bin}]") }
}

fn named(name: &str, content: Value) -> Value {
    let mut out = Map::from_iter([("name".to_owned(), json!(name))]);
    if let Value::Object(content) = content {
        out.extend(content);
    }
    Value::Object(out)
}
