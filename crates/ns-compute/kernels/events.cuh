// Sums over the events of a channel: `-sum w ln f` and its first and second derivatives with respect to the
// coordinates of the channel (see src/events/sums.rs and block.rs). A thread computes one event at a time. In the
// working memory of a block, the numbers with index `i` of all threads are contiguous.
#pragma once
#include "event_functions.cuh"
#include "events/kernels/exponential.cuh"
#include "events/kernels/gaussian.cuh"

namespace ns {

// Number of sums that are not derivatives: the value, the sum of absolute terms, and the first event with a bad
// density.
constexpr int PLAIN_SUMS = 3;

NS_DEVICE int n_sums(const EventChannel& channel) {
    int n = channel.n_coordinates;
    return PLAIN_SUMS + n + n * (n + 1);
}

// Working memory of one thread.
struct EventRoom {
    double* start;
    int stride;

    NS_DEVICE double& operator[](int i) const { return start[(size_t)i * stride]; }
};

// Returns component `c` of the operand `a`.
NS_DEVICE double component(const Events& events, const EventRoom& room, int a, int c) {
    return a >= 0 ? room[a + c] : events.numbers[-1 - a + c];
}

// Computes the result of one operation for an event. The function is not inlined, because its code is long.
NS_CALL void run_step(const Events& events, const EventRoom& room, const EventStep& step, int d, uint64_t event) {
    const EventChannel& channel = events.channel;
    int to = step.to;
    EventCode code = (EventCode)step.code;
    switch (code) {
        case EventCode::OBSERVABLE: room[to] = events.columns[step.source * events.n_events + event]; return;
        case EventCode::TABLE: room[to] = table_at(events, channel.tables[step.source], step.row, event); return;
        default: break;
    }
    Differentiated by = {
        channel.singles + step.first[0], channel.singles + step.first[1], channel.pairs + step.second[0],
        channel.pairs + step.second[1]
    };
    auto of = [&](int operand, int i) { return component(events, room, operand, i); };
    apply(code, step.number, step.operands, d, by, of, [&](int i) -> double& { return room[to + i]; });
}

// Computes one leaf of an event, with its derivatives.
NS_DEVICE void run_leaf(const Events& events, const EventRoom& room, const EventLeaf& leaf, uint64_t event) {
    const EventChannel& channel = events.channel;
    const double* variables = events.numbers + leaf.numbers;
    auto x = [&] { return events.columns[leaf.observable * events.n_events + event]; };
    auto to = [&](int i) -> double& { return room[leaf.result + i]; };
    switch ((LeafKind)leaf.kind) {
        case LeafKind::PROGRAM:
            for (int i = leaf.steps[0]; i < leaf.steps[1]; i++) {
                run_step(events, room, channel.steps[i], leaf.n_variables, event);
            }
            return;
        case LeafKind::GAUSSIAN: gaussian_leaf(variables[0], variables[1], x(), to); return;
        case LeafKind::EXPONENTIAL: exponential_leaf(variables[0], leaf.axis, x(), to); return;
    }
}

// Returns the density of an event, and writes its derivatives with respect to the amplitudes. The leaves of the event
// must be computed already.
NS_DEVICE double density_of_event(const Events& events, const EventRoom& room, int slopes) {
    const EventChannel& channel = events.channel;
    double density = 0.0;
    for (int t = 0; t < channel.n_terms; t++) {
        int2 range = channel.terms[t];
        double product = 1.0;
        for (int j = range.x; j < range.y; j++) {
            product *= component(events, room, channel.leaves[channel.term_leaves[j]].result, 0);
        }
        room[slopes + t] = product;
        density = fma(events.numbers[t], product, density);
    }
    return density;
}

// Divides the slopes of an event by its density; `inverse` is 1 divided by the density. Subtracts the second
// derivatives, divided by the density, from `bend(i)`. `i` is the index of a pair of coordinates in a lower triangle.
template <class Bend>
NS_DEVICE void add_derivatives(const Events& events, const EventRoom& room, int slopes, double inverse, double weight,
                               Bend bend) {
    const EventChannel& channel = events.channel;
    for (int t = 0; t < channel.n_terms; t++) room[slopes + t] *= inverse;
    for (int l = 0; l < channel.n_leaves; l++) {
        const EventLeaf& leaf = channel.leaves[l];
        for (int v = 0; v < leaf.n_variables; v++) room[slopes + leaf.first + v] = 0.0;
        for (int t = 0; t < channel.n_terms; t++) {
            int2 range = channel.terms[t];
            int j = range.x;
            while (j < range.y && channel.term_leaves[j] != l) j++;
            if (j == range.y) continue;
            double share = inverse, amplitude = events.numbers[t];
            for (int k = range.x; k < range.y; k++) {
                if (k != j) share *= component(events, room, channel.leaves[channel.term_leaves[k]].result, 0);
            }
            for (int i = leaf.singles[0]; i < leaf.singles[1]; i++) {
                int v = channel.singles[i];
                double own = component(events, room, leaf.result, 1 + v) * share;
                // The slope divided by its amplitude is the mixed derivative with respect to the amplitude and the
                // variable.
                bend(triangle(leaf.first + v, t)) -= own * weight;
                room[slopes + leaf.first + v] += amplitude * own;
            }
            for (int i = leaf.pairs[0]; i < leaf.pairs[1]; i++) {
                int2 v = channel.pairs[i];
                double own = component(events, room, leaf.result, pair_at(leaf.n_variables, v.x, v.y)) * share;
                bend(triangle(leaf.first + v.x, leaf.first + v.y)) -= amplitude * own * weight;
            }
            // Mixed derivatives with respect to one variable each of two leaves of the term.
            for (int k = j + 1; k < range.y; k++) {
                const EventLeaf& partner = channel.leaves[channel.term_leaves[k]];
                double rest = inverse * weight;
                for (int i = range.x; i < range.y; i++) {
                    if (i != j && i != k) {
                        rest *= component(events, room, channel.leaves[channel.term_leaves[i]].result, 0);
                    }
                }
                for (int i = leaf.singles[0]; i < leaf.singles[1]; i++) {
                    int v = channel.singles[i];
                    double own = rest * component(events, room, leaf.result, 1 + v);
                    for (int m = partner.singles[0]; m < partner.singles[1]; m++) {
                        int w = channel.singles[m];
                        double mixed = own * component(events, room, partner.result, 1 + w);
                        bend(triangle(leaf.first + v, partner.first + w)) -= amplitude * mixed;
                    }
                }
            }
        }
    }
}

// Adds one event to the sums of this thread. The leaves of the event must be computed.
NS_DEVICE void add_event(const Events& events, const EventRoom& room, int slopes, int sums, uint64_t event) {
    int n = events.channel.n_coordinates;
    int gradient = sums + PLAIN_SUMS, squares = gradient + n, bends = squares + n * (n + 1) / 2;
    double density = density_of_event(events, room, slopes);
    if (!(density > 0.0 && density < infinity())) {
        room[sums + 2] = fmin(room[sums + 2], (double)event);
        return;
    }
    double weight = events.weights ? events.weights[event] : 1.0, inverse = 1.0 / density;
    double term = weight * log(density);
    room[sums] -= term;
    room[sums + 1] += fabs(term);
    add_derivatives(events, room, slopes, inverse, weight, [&](int i) -> double& { return room[bends + i]; });
    for (int a = 0, at = 0; a < n; a++) {
        double own = weight * room[slopes + a];
        room[gradient + a] -= own;
        for (int b = 0; b <= a; b++, at++) room[squares + at] = fma(own, room[slopes + b], room[squares + at]);
    }
}

// Computes the sums over the events of one thread block.
NS_DEVICE void sum_events(const EventLaunch& launch, int block, int blocks) {
    const EventChannel& channel = launch.channel;
    int n = n_sums(channel), slopes = channel.n_components, sums = slopes + channel.n_coordinates;
    double* start = launch.room + (size_t)block * launch.room_stride;
    EventRoom room = {start + thread(), threads()};
    Events events = {channel, launch.columns, launch.n_events, launch.numbers, launch.weights};
    // Components that no operation writes must be zero.
    for (int i = 0; i < sums + n; i++) room[i] = 0.0;
    room[sums + 2] = infinity();
    for (uint64_t event = (uint64_t)block * threads() + thread(); event < launch.n_events; event += (uint64_t)blocks * threads()) {
        for (int l = 0; l < channel.n_leaves; l++) run_leaf(events, room, channel.leaves[l], event);
        add_event(events, room, slopes, sums, event);
    }
    barrier();
    NS_EACH(i, n) {
        const double* of_threads = start + (size_t)(sums + i) * threads();
        double total = of_threads[0];
        for (int t = 1; t < threads(); t++) total = i == 2 ? fmin(total, of_threads[t]) : total + of_threads[t];
        launch.partials[(size_t)block * n + i] = total;
    }
}

// Adds the sums of all thread blocks. One team adds one sum.
NS_DEVICE void total_events(const EventLaunch& launch) {
    int n = n_sums(launch.channel);
    NS_EACH_TEAM(i, n) {
        // The index of the first bad event is a minimum, not a sum. Every thread of the team computes it alone.
        bool least = i == 2;
        double total = least ? infinity() : 0.0;
        for (int b = least ? 0 : member(); b < launch.n_blocks; b += least ? 1 : members()) {
            double x = launch.partials[(size_t)b * n + i];
            total = least ? fmin(total, x) : total + x;
        }
        if (!least) total = team_sum(total);
        if (member() == 0) launch.totals[i] = total;
    }
}

}  // namespace ns
