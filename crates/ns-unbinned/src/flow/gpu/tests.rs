//! Tests that the real TensorRT provider accepts or rejects its options.
//!
//! The provider comes from the package `onnxruntime-gpu`. `NEXTSTAT_ORT_GPU` is the path of the package's library.
//! The provider is linked with NVIDIA libraries that need a licence. A C compiler therefore builds replacements for
//! these libraries, in which almost all functions fail. With the replacements, the provider can be loaded and checks
//! its options. It cannot open a graph.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::config::{FlowGpuConfig, FlowGpuEpKind};
use super::hardware;
use super::register::{Options, cuda_options, register, shortened, tensorrt_options};
use crate::flow::runtime::{builder, environment};

/// NVIDIA libraries whose symbols have no versions, and the functions of these libraries that the providers need.
const PLAIN: [(&str, &[&str]); 4] = [
    ("libcuda.so.1", &["cuTensorMapEncodeTiled"]),
    ("libcurand.so.10", &[]),
    (
        "libnvinfer.so.10",
        &[
            "createInferBuilder_INTERNAL",
            "createInferRefitter_INTERNAL",
            "createInferRuntime_INTERNAL",
            "getPluginRegistry",
        ],
    ),
    ("libnvonnxparser.so.10", &["createNvOnnxParser_INTERNAL", "createNvOnnxParserRefitter_INTERNAL"]),
];

/// Returns the NVIDIA libraries whose symbols have versions. For each library, the result has the functions that the
/// provider libraries in the folder `providers` call. The version of a symbol contains the name of the library.
fn versioned(providers: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for provider in ["cuda", "tensorrt"] {
        let library = providers.join(format!("libonnxruntime_providers_{provider}.so"));
        let output = Command::new("nm").args(["-D", "--undefined-only"]).arg(&library).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let symbol = line.split_whitespace().last().unwrap_or_default();
            if let Some((function, library)) = symbol.split_once("@lib") {
                found.entry(format!("lib{library}")).or_default().insert(function.to_owned());
            }
        }
    }
    assert!(found.contains_key("libcudart.so.13"), "{found:?}");
    found
}

/// Builds the replacement libraries in a folder. Most of their functions return the error code 999. Functions that
/// return text return some text. Functions of TensorRT that create objects return a null pointer.
fn build_stand_ins(providers: &Path, folder: &Path) {
    let plain = PLAIN.iter().map(|(name, functions)| {
        (name.to_string(), functions.iter().map(|f| f.to_string()).collect::<BTreeSet<_>>(), false)
    });
    let versioned = versioned(providers).into_iter().map(|(name, functions)| (name, functions, true));
    for (name, functions, has_versions) in plain.chain(versioned) {
        let mut source = "/* A stand-in for tests only. */\n".to_owned();
        for function in functions {
            let text = ["ErrorString", "ErrorName", "StatusString", "StatusName"];
            source += &if text.iter().any(|end| function.ends_with(end)) {
                format!("const char *{function}(void) {{ return \"stand-in\"; }}\n")
            } else if function == "cudaGetDeviceCount" {
                // The count is 1, so the provider rejects device indices other than 0.
                format!("int {function}(int *count) {{ *count = 1; return 0; }}\n")
            } else if function.ends_with("_INTERNAL") || function == "getPluginRegistry" {
                format!("void *{function}(void) {{ return 0; }}\n")
            } else {
                format!("int {function}(void) {{ return 999; }}\n")
            };
        }
        if name.starts_with("libnvinfer") {
            source += "int getInferLibVersion(void) { return 101303; }\n";
        }
        let (file, script) = (folder.join("stand_in.c"), folder.join("versions"));
        std::fs::write(&file, source).unwrap();
        std::fs::write(&script, format!("{name} {{ global: *; }};\n")).unwrap();
        let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        command.args(["-shared", "-fPIC", "-w", &format!("-Wl,-soname,{name}"), "-o"]);
        command.arg(folder.join(&name)).arg(&file);
        if has_versions {
            command.arg(format!("-Wl,--version-script={}", script.display()));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Registers a provider with the given options for a session that is never opened. Returns the error message.
fn tried(kind: FlowGpuEpKind, options: &Options) -> Result<(), String> {
    register(&mut builder(environment().unwrap()).unwrap(), kind, options)
}

#[test]
fn every_option_of_tensorrt_is_accepted_and_a_wrong_one_is_refused() {
    const CHILD: &str = "NEXTSTAT_TEST_STAND_INS";
    let Some(library) = std::env::var_os("NEXTSTAT_ORT_GPU") else {
        eprintln!(
            "SKIPPED: NEXTSTAT_ORT_GPU is not set: the options of TensorRT were NOT shown to its provider. Let it name \
             libonnxruntime.so of the package onnxruntime-gpu"
        );
        return;
    };
    if std::env::var_os(CHILD).is_none() {
        let folder = tempfile::tempdir().unwrap();
        build_stand_ins(Path::new(&library).parent().unwrap(), folder.path());
        let test = "flow::gpu::tests::every_option_of_tensorrt_is_accepted_and_a_wrong_one_is_refused";
        let output = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(CHILD, "1")
            .env("ORT_DYLIB_PATH", library)
            .env("LD_LIBRARY_PATH", folder.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
        return;
    }
    assert_eq!(hardware::tensorrt_version().as_deref(), Ok("10.13.3"));
    let config = FlowGpuConfig::default();
    let cache = PathBuf::from("/tmp");
    let inputs = [("x", 2), ("context", 3)];
    let options = tensorrt_options(0, true, &config, Some(&cache), &inputs);
    assert_eq!(options.len(), 9);
    assert!(options.contains(&("trt_profile_max_shapes", "x:65536x2,context:65536x3".to_owned())));
    // With the replacement libraries, registration always fails. Each option is therefore tested together with an
    // unknown option, in both orders. In one of the orders, the provider reads the tested option first.
    let blamed = |option: &(&'static str, String)| {
        let unknown = ("no_such_option", "1".to_owned());
        let of = |pair: Options| {
            let refused = tried(FlowGpuEpKind::TensorRtEp, &pair).unwrap_err();
            usize::from(refused.contains(&format!("\"{}\"", option.0)))
        };
        of(vec![option.clone(), unknown.clone()]) + of(vec![unknown, option.clone()])
    };
    for option in &options {
        assert_eq!(blamed(option), 0, "{option:?}");
        assert!(blamed(&(Box::leak(format!("{}_2", option.0).into_boxed_str()), "1".to_owned())) > 0);
    }
    assert!(blamed(&("trt_fp16_enable", "perhaps".to_owned())) > 0);
}

#[test]
fn cuda_is_told_the_device_and_whether_to_use_fewer_bits() {
    assert_eq!(cuda_options(3, false), [("device_id", "3".to_owned()), ("use_tf32", "0".to_owned())]);
    assert_eq!(cuda_options(0, true)[1], ("use_tf32", "1".to_owned()));
}

#[test]
fn messages_lose_the_place_in_the_sources_of_onnx_runtime() {
    let long = "/onnxruntime_src/onnxruntime/core/session/a.cc:1 void f(int) Failed to load\n library";
    assert_eq!(shortened(long), "Failed to load library");
    let coded = "[ONNXRuntimeError] : 1 : FAIL : Failed to load library a.so with error: b.so: none";
    assert_eq!(shortened(coded), "Failed to load library a.so with error: b.so: none");
    assert_eq!(shortened("It is not there. "), "It is not there");
}
