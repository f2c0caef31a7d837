// Operations of a workgroup, whose threads make one descent together.
//
// Names with `$` are arrays of the descent. The host replaces each by an array in workgroup memory, or by a part of the
// slab of the descent in global memory (see any_gpu/arrays.rs). Names in capitals that are not declared here are
// constants that the host writes (see any_gpu/program.rs).

@group(0) @binding(0) var<storage, read> indices: array<u32>;
@group(0) @binding(1) var<storage, read> numbers: array<real>;
// Data, bounds and starting point of every descent.
@group(0) @binding(2) var<storage, read> jobs: array<real>;
@group(0) @binding(3) var<storage, read_write> slabs: array<real>;
// Results of every descent.
@group(0) @binding(4) var<storage, read_write> ends: array<real>;

// Index of the thread in its workgroup.
var<private> thread: u32;
// Where the inputs, the slab and the results of this descent begin.
var<private> job: u32;
var<private> slab: u32;
var<private> end: u32;

var<workgroup> partial: array<vec4<real>, THREADS>;
var<workgroup> partial_of_eight: array<vec4<real>, 8>;
var<workgroup> verdict: u32;

fn barrier() {
    storageBarrier();
    workgroupBarrier();
}

// Returns the sum of `x` over all threads, in a fixed order.
fn sum(x: vec4<real>) -> vec4<real> {
    partial[thread] = x;
    workgroupBarrier();
    if thread < 8u {
        var some = vec4<real>(0.0);
        for (var i = thread; i < THREADS; i += 8u) {
            some += partial[i];
        }
        partial_of_eight[thread] = some;
    }
    workgroupBarrier();
    var all = vec4<real>(0.0);
    for (var i = 0u; i < 8u; i++) {
        all += partial_of_eight[i];
    }
    return all;
}

fn sum_one(x: real) -> real {
    return sum(vec4<real>(x, 0.0, 0.0, 0.0)).x;
}

// Returns what thread 0 says. Branches with barriers inside need a condition that is the same in all threads.
fn agreed(says: bool) -> bool {
    if thread == 0u {
        verdict = select(0u, 1u, says);
    }
    return workgroupUniformLoad(&verdict) != 0u;
}
