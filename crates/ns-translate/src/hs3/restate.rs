//! Rewrites an HS3 file in the notation of version 0.2.9 of the HS3 standard. Parts that version 0.2.9 cannot
//! express are written in the notation of its next version. Keys that only ROOT uses are replaced, and events from
//! other files are written into the result. Parts of unknown types are not changed. The models of the result have
//! the same digests as those of the file.

use std::collections::{BTreeMap, HashSet};

use ns_core::DecaySides;
use serde_json::{Map, Value, json};

use super::document::{
    Arg, Argument, Axis, Data, Distribution, Document, Function, Likelihood, Named, Placed, PointValue,
    Region,
};
use super::model::{Hs3, entries};
use super::restate_histfactory::histfactory;

impl Hs3 {
    /// Returns the file as JSON in the notation of the HS3 standard, with all its analyses.
    ///
    /// # Errors
    /// If the text cannot be written.
    pub fn restated(&self) -> Result<Value, serde_json::Error> {
        let tree: Value = serde_json::from_slice(self.text())?;
        let document = self.document();
        let words = Words::of(document);
        let part = |name: &str, path: &str, value: Option<Value>| match value {
            Some(Value::Object(mut map)) => {
                map.insert("name".to_owned(), json!(name));
                Value::Object(map)
            }
            // A part of an unknown type is not changed.
            _ => tree.pointer(path).cloned().unwrap_or_default(),
        };
        let distributions =
            document.distributions.iter().map(|d| part(&d.name, &d.path, words.distribution(&d.content)));
        let functions = document.functions.iter().map(|f| part(&f.name, &f.path, words.function(&f.content)));
        let data = document.data.iter().map(|d| part(&d.name, &d.path, data(&d.content)));
        let likelihoods: Vec<Value> =
            document.likelihoods.iter().map(|l| part(&l.name, &l.path, Some(words.likelihood(l)))).collect();
        let mut result = Map::new();
        let packages = json!([{"name": "NextStat", "version": env!("CARGO_PKG_VERSION")}]);
        result.insert("metadata".to_owned(), json!({"hs3_version": "0.2.9", "packages": packages}));
        let mut section = |key: &str, parts: Vec<Value>| {
            if !parts.is_empty() {
                result.insert(key.to_owned(), Value::Array(parts));
            }
        };
        section("distributions", distributions.collect());
        section("functions", functions.collect());
        section("data", data.collect());
        section("likelihoods", likelihoods);
        section("domains", words.domains());
        section("parameter_points", words.points());
        section("analyses", analyses(document));
        // Only ROOT's format can declare a parameter without a value as constant.
        let valued = |name: &String| words.names.contains(name.as_str());
        let marks: Map<String, Value> = document
            .constants
            .iter()
            .filter(|name| !valued(name))
            .map(|name| (name.clone(), json!({"tags": ["Constant"]})))
            .collect();
        let mut misc = Map::new();
        if !marks.is_empty() {
            misc.insert("ROOT_internal".to_owned(), json!({"attributes": marks}));
        }
        if let Some(first) = &document.first {
            misc.insert("nextstat".to_owned(), json!({"analysis": first}));
        }
        if !misc.is_empty() {
            result.insert("misc".to_owned(), Value::Object(misc));
        }
        Ok(Value::Object(result))
    }
}

/// Returns the analyses of the document, each as a JSON object.
fn analyses(document: &Document) -> Vec<Value> {
    let written = document.analyses.iter().map(|analysis| {
        let content = &analysis.content;
        let names = |names: &[super::document::Placed<String>]| {
            names.iter().map(|name| name.value.clone()).collect::<Vec<_>>()
        };
        let mut map = object(json!({
            "name": analysis.name,
            "likelihood": content.likelihood.value,
            "parameters_of_interest": names(&content.interest),
        }));
        match names(&content.domains).as_slice() {
            [] => {}
            [only] => drop(map.insert("domain".to_owned(), json!(only))),
            several => drop(map.insert("domains".to_owned(), json!(several))),
        }
        if let Some(init) = &content.init {
            map.insert("init".to_owned(), json!(init.value));
        }
        if !content.auxiliary.is_empty() {
            map.insert("aux_likelihood_terms".to_owned(), json!(names(&content.auxiliary)));
        }
        Value::Object(map)
    });
    written.collect()
}

/// Returns the keys and values of a JSON object. The result is empty if the value is not an object.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Returns an axis as JSON. `binned` says whether to write the bins of the axis.
pub(super) fn axis(axis: &Axis, binned: bool) -> Value {
    let mut map = object(json!({"name": axis.name}));
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(key.to_owned(), value);
        }
    };
    let ends = axis.edges.as_ref().filter(|_| !binned);
    let end = |edge: Option<&f64>, other: Option<f64>| edge.copied().or(other).map(|x| json!(x));
    set("min", end(ends.and_then(|edges| edges.first()), axis.min));
    set("max", end(ends.and_then(|edges| edges.last()), axis.max));
    if binned {
        set("nbins", axis.bins.map(|n| json!(n)));
        set("edges", axis.edges.as_ref().map(|edges| json!(edges)));
    }
    Value::Object(map)
}

fn data(data: &Data) -> Option<Value> {
    let axes = |axes: &[Axis], binned: bool| axes.iter().map(|a| axis(a, binned)).collect::<Vec<_>>();
    Some(match data {
        Data::Unbinned { axes: all, columns, weights, .. } => {
            let mut map =
                object(json!({"type": "unbinned", "axes": axes(all, false), "entries": entries(columns)}));
            if let Some(weights) = weights {
                map.insert("weights".to_owned(), json!(weights[..]));
            }
            Value::Object(map)
        }
        Data::Binned { axes: all, contents } => {
            json!({"type": "binned", "axes": axes(all, true), "contents": contents})
        }
        Data::Point { axes: all, value } if all.is_empty() => json!({"type": "point", "value": value}),
        Data::Point { axes: all, value } => {
            json!({"type": "point", "axes": axes(all, true), "value": value})
        }
        Data::Unsupported { .. } => return None,
    })
}

/// Lower and upper end of the range of a parameter; `None` for an open end.
type Range = (Option<f64>, Option<f64>);

/// Names and ranges in the document that decide how its parts are written.
pub(super) struct Words<'a> {
    document: &'a Document,
    /// Names of distributions, of functions, of the axes of data, and of parameters with a value.
    names: HashSet<&'a str>,
    /// Ranges that the file gives together with the values of parameters, by the name of the parameter. The
    /// rewritten file has these ranges in its default domain.
    moved: BTreeMap<&'a str, Range>,
}

impl<'a> Words<'a> {
    fn of(document: &'a Document) -> Self {
        let values = || document.points.iter().flat_map(|point| &point.content);
        let mut names: HashSet<&str> = document.distributions.iter().map(|d| d.name.as_str()).collect();
        names.extend(document.functions.iter().map(|f| f.name.as_str()));
        names.extend(values().map(|value| value.name.as_str()));
        let axes = document.data.iter().flat_map(|data| match &data.content {
            Data::Unbinned { axes, .. } | Data::Binned { axes, .. } | Data::Point { axes, .. } => {
                axes.as_slice()
            }
            Data::Unsupported { .. } => &[],
        });
        names.extend(axes.map(|axis| axis.name.as_str()));
        let in_domain: HashSet<&str> = document
            .domains
            .iter()
            .flat_map(|domain| &domain.content)
            .map(|axis| axis.name.as_str())
            .collect();
        let mut ranges: BTreeMap<&str, Vec<Range>> = BTreeMap::new();
        for value in values().filter(|value| !in_domain.contains(value.name.as_str())) {
            ranges.entry(&value.name).or_default().push((value.min, value.max));
        }
        let one = |(name, ranges): (&'a str, Vec<Range>)| {
            let first = *ranges.first()?;
            (first != (None, None) && ranges.iter().all(|range| *range == first)).then_some((name, first))
        };
        Self { document, names, moved: ranges.into_iter().filter_map(one).collect() }
    }

    /// Returns an argument as JSON. A number that ROOT writes as a string is written as a number.
    pub(super) fn arg(&self, argument: &Arg) -> Value {
        match &argument.value {
            Argument::Number(number) => json!(number),
            Argument::Name(name) => match name.parse::<f64>() {
                Ok(number) if number.is_finite() && !self.names.contains(name.as_str()) => json!(number),
                _ => json!(name),
            },
            Argument::Broken => Value::Null,
        }
    }

    pub(super) fn args(&self, arguments: &[Arg]) -> Vec<Value> {
        arguments.iter().map(|argument| self.arg(argument)).collect()
    }

    fn distribution(&self, distribution: &Distribution) -> Option<Value> {
        use Distribution as D;
        let a = |argument: &Arg| self.arg(argument);
        Some(match distribution {
            D::Gaussian { x, mean, sigma } => {
                json!({"type": "gaussian_dist", "x": a(x), "mean": a(mean), "sigma": a(sigma)})
            }
            D::Landau { x, mean, sigma } => {
                json!({"type": "landau_dist", "x": a(x), "mean": a(mean), "sigma": a(sigma)})
            }
            D::BifurcatedGaussian { x, mean, left, right } => json!({
                "type": "bifurkated_gaussian_dist", "x": a(x), "mean": a(mean), "sigmaL": a(left), "sigmaR": a(right),
            }),
            D::Exponential { x, c } => json!({"type": "exponential_dist", "x": a(x), "c": a(c)}),
            D::Argus { mass, resonance, slope, power } => json!({
                "type": "argus_dist", "mass": a(mass), "resonance": a(resonance), "slope": a(slope), "power": a(power),
            }),
            D::CrystalBall { x, mean, left, right, tails } => {
                let both = tails.left.is_some() && tails.right.is_some();
                let kind = if both { "crystalball_doublesided_dist" } else { "nextstat.crystalball_dist" };
                let mut map = object(json!({
                    "type": kind, "m": a(x), "m0": a(mean), "sigma_L": a(left), "sigma_R": a(right),
                }));
                for (tail, alpha, n) in [(&tails.left, "alpha_L", "n_L"), (&tails.right, "alpha_R", "n_R")] {
                    if let Some(tail) = tail {
                        map.insert(alpha.to_owned(), a(&tail.0));
                        map.insert(n.to_owned(), a(&tail.1));
                    }
                }
                Value::Object(map)
            }
            D::Chebychev { x, coefficients } => {
                json!({"type": "chebychev_dist", "x": a(x), "coefficients": self.args(coefficients)})
            }
            D::Polynomial { x, coefficients } => {
                json!({"type": "polynomial_dist", "x": a(x), "coefficients": self.args(coefficients)})
            }
            D::Bernstein { x, coefficients } => {
                json!({"type": "bernstein_poly_dist", "x": a(x), "coefficients": self.args(coefficients)})
            }
            D::Projected { density, hidden } => {
                let names: Vec<&str> = hidden.iter().map(|x| x.value.as_str()).collect();
                json!({"type": "projected_dist", "input_pdf": a(density), "observables": names})
            }
            D::Uniform { x } => match x.as_slice() {
                [only] => json!({"type": "uniform_dist", "x": a(only)}),
                several => json!({"type": "uniform_dist", "x": self.args(several)}),
            },
            D::Lognormal { x, mu, sigma } => {
                json!({"type": "lognormal_dist", "x": a(x), "mu": a(mu), "sigma": a(sigma)})
            }
            D::Poisson { x, mean } => json!({"type": "poisson_dist", "x": a(x), "mean": a(mean)}),
            D::Gamma { x, gamma, beta, mu } => {
                json!({"type": "gamma_dist", "x": a(x), "gamma": a(gamma), "beta": a(beta), "mu": a(mu)})
            }
            D::GeneralizedNormal { x, mean, alpha, beta } => json!({
                "type": "generalized_normal_dist", "x": a(x), "mean": a(mean), "alpha": a(alpha), "beta": a(beta),
            }),
            D::MultivariateNormal { x, mean, covariances } => json!({
                "type": "multivariate_normal_dist", "x": self.args(x), "mean": self.args(mean),
                "covariances": covariances,
            }),
            D::BreitWigner { x, mean, width } => {
                json!({"type": "nextstat.breit_wigner_dist", "x": a(x), "mean": a(mean), "width": a(width)})
            }
            D::Voigt { x, mean, width, sigma } => json!({
                "type": "nextstat.voigt_dist", "x": a(x), "mean": a(mean), "width": a(width), "sigma": a(sigma),
            }),
            D::JohnsonSu { x, mu, lambda, gamma, delta } => json!({
                "type": "nextstat.johnson_su_dist", "x": a(x), "mu": a(mu), "lambda": a(lambda), "gamma": a(gamma),
                "delta": a(delta),
            }),
            D::Convolution { x, first, second } => json!({
                "type": "fft_conv_pdf", "conv_var": a(x), "pdf1": a(first), "pdf2": a(second), "ipOrder": 2,
            }),
            D::WeightedSum { samples, coefficients } => json!({
                "type": "weighted_sum_dist", "samples": self.args(samples), "coefficients": self.args(coefficients),
                "extended": false,
            }),
            D::Decay { t, tau, sides, oscillation, resolution } => {
                let kind = match sides {
                    DecaySides::After => 0,
                    DecaySides::Both => 1,
                    DecaySides::Before => 2,
                };
                let mut map = object(json!({
                    "type": "decay_dist", "t": a(t), "tau": a(tau), "decayType": kind, "resolutionModel": a(resolution),
                }));
                if let Some(w) = oscillation {
                    map.insert("type".to_owned(), json!("nextstat.b_decay_dist"));
                    let waves = [
                        ("delta_gamma", &w.delta_gamma),
                        ("delta_m", &w.delta_m),
                        ("cosh", &w.cosh),
                        ("sinh", &w.sinh),
                        ("cos", &w.cos),
                        ("sin", &w.sin),
                    ];
                    map.extend(waves.map(|(key, value)| (key.to_owned(), a(value))));
                }
                Value::Object(map)
            }
            D::Truth { x } => json!({"type": "truth_model_function", "x": a(x)}),
            D::GaussModel { x, mean, sigma } => {
                json!({"type": "gauss_model_function", "x": a(x), "mean": a(mean), "sigma": a(sigma)})
            }
            D::MixtureModel { summands, coefficients } => json!({
                "type": "mixture_model", "summands": self.args(summands), "coefficients": self.args(coefficients),
                "extended": false,
            }),
            D::Given { inner, observables } => {
                let mut map = object(self.distribution(inner)?);
                let names: Vec<&str> = observables.iter().map(|x| x.value.as_str()).collect();
                map.insert("nextstat.given".to_owned(), json!(names));
                Value::Object(map)
            }
            D::Spline { x, knots, values, kind } => json!({
                "type": "nextstat.spline_dist", "x": a(x), "knots": knots, "values": values, "kind": kind.value,
            }),
            D::Flow { x, context, manifest, sha256, .. } => {
                let mut map = object(json!({
                    "type": "nextstat.flow_dist", "x": self.args(x), "manifest": manifest.value,
                }));
                if !context.is_empty() {
                    map.insert("context".to_owned(), json!(self.args(context)));
                }
                if let Some(hash) = sha256 {
                    map.insert("sha256".to_owned(), json!(hash.value));
                }
                Value::Object(map)
            }
            D::Histogram { axes, contents } => {
                let axes: Vec<Value> = axes.iter().map(|a| axis(a, true)).collect();
                json!({"type": "histogram_dist", "data": {"axes": axes, "contents": contents}})
            }
            D::Template(template) => self.template(template),
            D::Generic { expression, variables } => formula("generic_dist", expression, variables),
            D::DensityFunction { function, logarithmic } => {
                let kind = if *logarithmic { "log_density_function_dist" } else { "density_function_dist" };
                json!({"type": kind, "function": a(function)})
            }
            D::EfficiencyProduct { pdf, efficiency } => {
                json!({"type": "efficiency_product_pdf_dist", "pdf": a(pdf), "eff": a(efficiency)})
            }
            D::HistFactory(channel) => histfactory(channel),
            D::Mixture { summands, coefficients, extended } => {
                let extended = extended.unwrap_or(summands.len() == coefficients.len());
                json!({
                    "type": "mixture_dist", "summands": self.args(summands),
                    "coefficients": self.args(coefficients), "extended": extended,
                })
            }
            D::Product { factors } => json!({"type": "product_dist", "factors": self.args(factors)}),
            D::RateExtended { rate, distribution, range } => {
                let mut map =
                    object(json!({"type": "rate_extended_dist", "rate": a(rate), "dist": a(distribution)}));
                if let Some(range) = range {
                    map.insert("nextstat.range".to_owned(), json!(range.value));
                }
                Value::Object(map)
            }
            D::PowerSum { x, coefficients, exponents } => json!({
                "type": "power_sum_dist", "x": a(x), "coefficients": self.args(coefficients),
                "exponents": self.args(exponents),
            }),
            D::Unsupported { .. } => return None,
        })
    }

    fn function(&self, function: &Function) -> Option<Value> {
        Some(match function {
            Function::Sum { summands } => json!({"type": "sum", "summands": self.args(summands)}),
            Function::Product { factors } => json!({"type": "product", "factors": self.args(factors)}),
            Function::Polynomial { x, coefficients } => {
                json!({"type": "polynomial", "x": self.arg(x), "coefficients": self.args(coefficients)})
            }
            Function::Generic { expression, variables } => formula("generic_function", expression, variables),
            Function::Interpolation { parameters, nominal, low, high, codes } => json!({
                "type": "interpolation0d", "vars": self.args(parameters), "nom": nominal, "low": low, "high": high,
                "interpolationCodes": codes,
            }),
            Function::ProcessNormalization { nominal, symmetric, asymmetric, factors } => {
                let names =
                    |pairs: Vec<&Arg>| pairs.into_iter().map(|theta| self.arg(theta)).collect::<Vec<_>>();
                json!({
                    "type": "CMS::process_normalization", "nominalValue": self.arg(nominal),
                    "thetaList": names(symmetric.iter().map(|pair| &pair.0).collect()),
                    "logKappa": symmetric.iter().map(|pair| pair.1).collect::<Vec<_>>(),
                    "asymmThetaList": names(asymmetric.iter().map(|pair| &pair.0).collect()),
                    "logAsymmKappa": asymmetric.iter().map(|pair| pair.1).collect::<Vec<_>>(),
                    "otherFactorList": self.args(factors),
                })
            }
            Function::Unsupported { .. } => return None,
        })
    }

    fn likelihood(&self, likelihood: &Named<Likelihood>) -> Value {
        let content = &likelihood.content;
        let names = |names: &[super::document::Placed<String>]| {
            names.iter().map(|name| json!(name.value)).collect::<Vec<_>>()
        };
        let mut map = object(json!({
            "distributions": names(&content.distributions),
            "data": self.args(&content.data),
        }));
        if !content.auxiliary.is_empty() {
            map.insert("aux_distributions".to_owned(), json!(names(&content.auxiliary)));
        }
        if !content.auxiliary_data.is_empty() {
            map.insert("aux_data".to_owned(), json!(self.args(&content.auxiliary_data)));
        }
        match &content.bins {
            Some(rule) => drop(map.insert("nextstat.bins".to_owned(), json!(rule.value))),
            // By default, bins are compared with the density at their centres.
            None if self.compares_bins(content) => {
                map.insert("nextstat.bins".to_owned(), json!("center"));
            }
            None => {}
        }
        if let Some(word) = &content.coefficients {
            map.insert("nextstat.coefficients".to_owned(), json!(word.value));
        }
        if !content.regions.is_empty() {
            let region = |region: &Placed<Region>| {
                Value::Object(region.value.iter().map(|(name, pair)| (name.clone(), json!(pair))).collect())
            };
            let regions: Vec<Value> = content.regions.iter().map(region).collect();
            map.insert("nextstat.ranges".to_owned(), Value::Array(regions));
        }
        for (key, ranges) in [("nextstat.ranges", &content.ranges), ("nextstat.blind", &content.blind)] {
            if !ranges.is_empty() {
                let ranges: Map<String, Value> =
                    ranges.iter().map(|(name, ranges)| (name.clone(), json!(ranges.value))).collect();
                map.insert(key.to_owned(), Value::Object(ranges));
            }
        }
        Value::Object(map)
    }

    /// Returns true if a likelihood compares binned data with a density, i.e. with a distribution that is no
    /// HistFactory channel and has no HistFactory channel as a factor.
    fn compares_bins(&self, likelihood: &Likelihood) -> bool {
        let find =
            |name: &str| self.document.distributions.iter().find(|d| d.name == name).map(|d| &d.content);
        let is_histogram = |name: &str| match find(name) {
            Some(Distribution::HistFactory(_)) => true,
            Some(Distribution::Product { factors }) => factors.iter().any(|factor| match &factor.value {
                Argument::Name(name) => matches!(find(name), Some(Distribution::HistFactory(_))),
                _ => false,
            }),
            _ => false,
        };
        likelihood.distributions.iter().zip(&likelihood.data).any(|(name, data)| match &data.value {
            Argument::Name(of) => {
                let data = self.document.data.iter().find(|data| data.name == *of);
                matches!(data.map(|data| &data.content), Some(Data::Binned { .. }))
                    && !is_histogram(&name.value)
            }
            _ => false,
        })
    }

    fn domains(&self) -> Vec<Value> {
        const DEFAULT: &str = "default_domain";
        let end = |name: &str, min: Option<f64>, max: Option<f64>| {
            let mut map = object(json!({"name": name}));
            for (key, value) in [("min", min), ("max", max)] {
                if let Some(value) = value {
                    map.insert(key.to_owned(), json!(value));
                }
            }
            Value::Object(map)
        };
        let mut domains: Vec<(&str, Vec<Value>)> = self
            .document
            .domains
            .iter()
            .map(|domain| {
                let axes = domain.content.iter().map(|axis| end(&axis.name, axis.min, axis.max));
                (domain.name.as_str(), axes.collect())
            })
            .collect();
        if !self.moved.is_empty() && !domains.iter().any(|(name, _)| *name == DEFAULT) {
            domains.push((DEFAULT, Vec::new()));
        }
        if let Some((_, axes)) = domains.iter_mut().find(|(name, _)| *name == DEFAULT) {
            axes.extend(self.moved.iter().map(|(name, (min, max))| end(name, *min, *max)));
        }
        let domain =
            |(name, axes): (&str, Vec<Value>)| json!({"name": name, "type": "product_domain", "axes": axes});
        domains.into_iter().map(domain).collect()
    }

    fn points(&self) -> Vec<Value> {
        let value = |value: &PointValue| {
            let mut map = object(json!({"name": value.name, "value": value.value}));
            if value.constant || self.document.constants.contains(&value.name) {
                map.insert("const".to_owned(), json!(true));
            }
            if !self.moved.contains_key(value.name.as_str()) {
                for (key, bound) in [("min", value.min), ("max", value.max)] {
                    if let Some(bound) = bound {
                        map.insert(key.to_owned(), json!(bound));
                    }
                }
            }
            Value::Object(map)
        };
        let point = |point: &Named<Vec<PointValue>>| {
            let values: Vec<Value> = point.content.iter().map(value).collect();
            json!({"name": point.name, "parameters": values})
        };
        self.document.points.iter().map(point).collect()
    }
}

/// Returns the object of an expression.
fn formula(kind: &str, expression: &Placed<String>, variables: &[String]) -> Value {
    let mut object = json!({"type": kind, "expression": expression.value});
    if !variables.is_empty() {
        object["arguments"] = json!(variables);
    }
    object
}
