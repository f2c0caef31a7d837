// Sums over the events of many toys. Each toy has its own parameters (see src/device/events/toys.rs). A thread block
// adds the events of one piece of a toy, tile by tile. Each thread computes one event of the tile. Then each warp
// adds some of the sums over the tile. The sums depend only on the events of the toy.
#pragma once
#include "events.cuh"
#include "random.cuh"
#include "state.cuh"

namespace ns {

#ifdef __CUDACC__
constexpr int OUTPUTS_PER_WARP = EVENT_OUTPUTS / (EVENT_THREADS / WARP);
#else
constexpr int OUTPUTS_PER_WARP = EVENT_OUTPUTS;
#endif

// Computes those rows of one event that come after its leaves: slopes, value, magnitude, and second derivatives.
// Returns whether the density of the event is positive and finite.
NS_DEVICE bool rows_of_event(const Events& events, const EventRoom& room, uint64_t event) {
    const EventChannel& channel = events.channel;
    int slopes = channel.n_components, value = slopes + channel.n_coordinates, bends = value + 2;
    for (int l = 0; l < channel.n_leaves; l++) run_leaf(events, room, channel.leaves[l], event);
    double density = density_of_event(events, room, slopes);
    if (!(density > 0.0 && density < infinity())) return false;
    double term = log(density);
    room[value] = -term;
    room[value + 1] = fabs(term);
    for (int i = 0; i < channel.n_bends; i++) room[bends + i] = 0.0;
    add_derivatives(events, room, slopes, 1.0 / density, 1.0,
                    [&](int i) -> double& { return room[bends + channel.bends[i]]; });
    return true;
}

NS_DEVICE void sum_piece(const EventToyLaunch& launch, double* start, int which) {
    const EventChannel& channel = launch.channel;
    const EventPiece piece = launch.pieces[which];
    int slopes = channel.n_components, rows = slopes + channel.n_coordinates + 2 + channel.n_bends;
    EventRoom room = {start + thread(), threads()};
    const double* numbers = launch.numbers + piece.point * launch.n_numbers;
    Events events = {channel, launch.columns + piece.start, piece.n_events, numbers, nullptr};
    double* partials = launch.partials + (size_t)which * (channel.n_outputs + 1);
    uint64_t end = piece.first + (uint64_t)piece.count;
    double bad = infinity();
    // Components that no operation writes must be zero.
    for (int i = 0; i < rows; i++) room[i] = 0.0;
    for (int from = 0; from < channel.n_outputs; from += EVENT_OUTPUTS) {
        int to = from + EVENT_OUTPUTS < channel.n_outputs ? from + EVENT_OUTPUTS : channel.n_outputs;
        double sums[OUTPUTS_PER_WARP] = {};
        for (uint64_t tile = piece.first; tile < end; tile += threads()) {
            uint64_t event = tile + thread();
            bool is_good = event < end && rows_of_event(events, room, event);
            if (!is_good) {
                if (event < end) bad = fmin(bad, (double)event);
                for (int i = slopes; i < rows; i++) room[i] = 0.0;
            }
            barrier();
#pragma unroll
            for (int j = 0; j < OUTPUTS_PER_WARP; j++) {
                int k = from + warp() + j * warps();
                if (k < to) {
                    int2 of = channel.outputs[k];
                    const double *a = start + (size_t)of.x * threads(), *b = start + (size_t)of.y * threads();
                    if (of.y < 0) {
                        NS_ONE_BY_ONE for (int e = lane(); e < threads(); e += lanes()) sums[j] += a[e];
                    } else {
                        NS_ONE_BY_ONE for (int e = lane(); e < threads(); e += lanes()) sums[j] = fma(a[e], b[e], sums[j]);
                    }
                }
            }
            barrier();
        }
#pragma unroll
        for (int j = 0; j < OUTPUTS_PER_WARP; j++) {
            int k = from + warp() + j * warps();
            if (k < to) {
                double sum = warp_sum(sums[j]);
                if (lane() == 0) partials[k] = sum;
            }
        }
    }
    room[slopes] = bad;
    barrier();
    if (thread() == 0) {
        for (int t = 1; t < threads(); t++) bad = fmin(bad, start[(size_t)slopes * threads() + t]);
        partials[channel.n_outputs] = bad;
    }
    barrier();
}

template <bool SHARED>
NS_DEVICE void sum_toy_events(const EventToyLaunch& launch, int block, int blocks) {
    double* start = SHARED ? ns_shared : launch.room + (size_t)block * launch.room_stride;
    for (int piece = block; piece < launch.n_pieces; piece += blocks) sum_piece(launch, start, piece);
}

// Makes the first attempt to draw each event of some toys (see draw_column in src/events/sample/draw.rs). Lists the
// events for which the bounds of the density do not decide on acceptance.
NS_DEVICE void draw_events(const EventDrawLaunch& launch, int block) {
    const EventDraw piece = launch.draws[block];
    const Stream stream = {launch.seed, piece.toy, launch.hypothesis};
    NS_EACH(i, (int)piece.count) {
        uint32_t event = piece.first + (uint32_t)i;
        RandomBlock words = random_block(stream, piece.slot + event, 0);
        Exact decision = open_uniform(words.words[0], words.words[1]), u = open_uniform(words.words[2], words.words[3]);
        int at = (int)launch.guide[(uint32_t)(u * (double)launch.n_guide).value];
        while (launch.cells[at + 1].begin <= u.value) at++;
        const EventCell& cell = launch.cells[at];
        double x = (cell.low + (u - cell.begin) * cell.slope).value;
        launch.columns[piece.start + event] = x < cell.last ? x : cell.last;
        if (!(decision.value < cell.sure)) {
            int place = add(launch.n_open, 1);
            if ((uint32_t)place < launch.most_open) launch.open[place] = int2{block, (int)event};
        }
    }
}

// Copies events that the host has drawn to their places.
NS_DEVICE void place_events(const EventPlaceLaunch& launch, int block, int blocks) {
    for (uint64_t i = (uint64_t)block * threads() + thread(); i < launch.count; i += (uint64_t)blocks * threads()) {
        launch.columns[launch.places[i]] = launch.values[i];
    }
}

}  // namespace ns
