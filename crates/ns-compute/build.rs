//! Compiles the CUDA kernels for the CPU, for tests (feature `cuda-on-host`). Nothing else is built here.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cuda-on-host")]
    {
        println!("cargo::rerun-if-changed=kernels");
        // Only the CUDA files of these folders, not their Rust files: compiling the kernels takes minutes.
        for file in ["src/terms", "src/events/kernels"].into_iter().flat_map(twins) {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        // Blocks of one thread, and blocks of as many as on a GPU.
        for (many, name) in [(false, "ns_kernels_on_host"), (true, "ns_kernels_in_blocks")] {
            let mut build = cc::Build::new();
            if many {
                build.define("NS_MANY_THREADS", None);
            }
            if cfg!(feature = "find-races") {
                build.flag("-fsanitize=thread");
            }
            build
                .cpp(true)
                .std("c++17")
                .opt_level(2)
                .debug(cfg!(feature = "find-races"))
                // As on the device: nothing is fused unless the sources say so.
                .flag("-ffp-contract=off")
                .flag("-Wno-unknown-pragmas")
                .flag("-Wno-unused-parameter")
                // An interpolation code without its formulas.
                .flag("-Werror=switch")
                .include("kernels")
                .include("src")
                .file("kernels/host.cpp")
                .compile(name);
        }
        if cfg!(feature = "find-races") {
            println!("cargo::rustc-link-lib=tsan");
        }
    }
}

/// Returns the paths of the source files of kernels (`.cuh`) in a folder and its subfolders.
#[cfg(feature = "cuda-on-host")]
fn twins(folder: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |path: std::path::PathBuf| match path.to_str() {
        Some(inner) if path.is_dir() => twins(inner),
        _ if path.extension().is_some_and(|ending| ending == "cuh") => vec![path],
        _ => Vec::new(),
    };
    entries.flat_map(|entry| of(entry.path())).collect()
}
