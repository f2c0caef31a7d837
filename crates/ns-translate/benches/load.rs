//! Measures the time to read a workspace and to build its model, and for comparison the time of the JSON parser
//! alone.
//!
//! `cargo bench -p ns-translate --bench load`
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::{Value, json};

/// Makes a workspace of about 10 MB: 40 channels of 50 bins with 10 samples each, and 25 histosys per sample.
fn large() -> Vec<u8> {
    let numbers = |seed: usize| -> Vec<f64> {
        (0..50).map(|i| ((seed * 31 + i * 17) % 9973) as f64 * 0.013_37 + 1.0).collect()
    };
    let channels: Vec<Value> = (0..40)
        .map(|c| {
            let samples: Vec<Value> = (0..10)
                .map(|s| {
                    let mut modifiers = vec![json!({"name": "mu", "type": "normfactor", "data": null})];
                    modifiers.extend((0..25).map(|m| {
                        let seed = c * 1000 + s * 100 + m;
                        let data = json!({"lo_data": numbers(seed), "hi_data": numbers(seed + 7)});
                        json!({"name": format!("systematic_{m}"), "type": "histosys", "data": data})
                    }));
                    json!({"name": format!("sample_{s}"), "data": numbers(c + s), "modifiers": modifiers})
                })
                .collect();
            json!({"name": format!("channel_{c}"), "samples": samples})
        })
        .collect();
    let observations: Vec<Value> =
        (0..40).map(|c| json!({"name": format!("channel_{c}"), "data": numbers(c)})).collect();
    let measurements = json!([{"name": "fit", "config": {"poi": "mu", "parameters": []}}]);
    let document = json!({
        "channels": channels, "observations": observations, "measurements": measurements, "version": "1.0.0",
    });
    serde_json::to_vec(&document).unwrap()
}

fn load(c: &mut Criterion) {
    let small = include_bytes!("../../../tests/fixtures/many_bins.json").to_vec();
    for (name, text) in [("many_bins", small), ("large", large())] {
        let mut group = c.benchmark_group(name);
        group.sample_size(20).throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("json_tree", |b| {
            b.iter(|| serde_json::from_slice::<Value>(black_box(&text)).unwrap());
        });
        group.bench_function("workspace", |b| {
            b.iter(|| Workspace::from_slice(black_box(&text)).unwrap());
        });
        let workspace = Workspace::from_slice(&text).unwrap();
        group.bench_function("model", |b| {
            b.iter(|| black_box(&workspace).model(&ModelOptions::default()).unwrap());
        });
        group.finish();
    }
}

criterion_group!(benches, load);
criterion_main!(benches);
