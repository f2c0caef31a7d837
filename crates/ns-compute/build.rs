//! Compiles the CUDA kernels for the processor, for tests (feature `cuda-on-host`). Nothing else is built here.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cuda-on-host")]
    {
        println!("cargo::rerun-if-changed=kernels");
        // Blocks of one thread, and blocks of as many as on a card.
        for (many, name) in [(false, "ns_kernels_on_host"), (true, "ns_kernels_in_blocks")] {
            let mut build = cc::Build::new();
            if many {
                build.define("NS_MANY_THREADS", None);
            }
            build
                .cpp(true)
                .std("c++17")
                .opt_level(2)
                .debug(false)
                // As on the device: nothing is fused unless the sources say so.
                .flag("-ffp-contract=off")
                .flag("-Wno-unknown-pragmas")
                .flag("-Wno-unused-parameter")
                .file("kernels/host.cpp")
                .compile(name);
        }
    }
}
