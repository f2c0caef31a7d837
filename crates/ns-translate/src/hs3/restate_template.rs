//! Writes templates of simulated events with their events and weights.

use serde_json::{Value, json};

use super::document::{Estimator, Template};
use super::model::entries;
use super::restate::{Words, object};
use super::restate_histfactory::interpolation;

impl Words<'_> {
    /// Returns a template as JSON. Events from other files are written into the result.
    pub(super) fn template(&self, template: &Template) -> Value {
        let responses = template.responses.iter().map(|response| {
            let mut map = object(json!({
                "parameter": self.arg(&response.parameter), "up": response.up[..], "down": response.down[..],
            }));
            if let Some(written) = &response.interpolation {
                map.insert("interpolation".to_owned(), interpolation(written, false));
            }
            let both = response.shape && response.rate;
            let word = if response.shape { "shape" } else { "yield" };
            if !both {
                map.insert("acts_on".to_owned(), json!([word]));
            }
            Value::Object(map)
        });
        let estimator = match &template.estimator {
            Estimator::Histogram(edges) => json!({"type": "histogram", "edges": edges}),
            Estimator::Kernels { bandwidth, reflect } => {
                let boundary = if *reflect { "reflect" } else { "none" };
                json!({"type": "kde", "bandwidth": bandwidth, "boundary": boundary})
            }
        };
        let mut map = object(json!({
            "type": "nextstat.template_dist", "x": self.args(&template.x),
            "estimator": estimator,
            "entries": entries(&template.columns), "responses": responses.collect::<Vec<_>>(),
        }));
        if let Some(weights) = &template.weights {
            map.insert("weights".to_owned(), json!(weights[..]));
        }
        Value::Object(map)
    }
}
