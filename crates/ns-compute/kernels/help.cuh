// Thread blocks share starting points when the queue is empty.
//
// The last fits of a launch determine how long the launch takes. Most of their time is spent on descents from further
// starting points, which do not depend on each other. When the queue is empty, a thread block therefore offers the
// starting points of its current search round, and blocks without work take some of them. The result of the round is
// the lowest minimum. If there are equal minima, it is the one from the first starting point. The result thus does
// not depend on which block makes which descent.
#pragma once
#include "descend.cuh"

namespace ns {

// Flags of `BlockProgress::several`: SEVERAL if there may be several minima, and OPEN if the CPU must finish the fit.
// After a first descent in which `-ln L` fell without limit: STANDING if it did not do so in a descent of the round
// RESCUE, and FALLEN if it did so in all of them.
constexpr int SEVERAL = 1;
constexpr int OPEN = 2;
constexpr int STANDING = 4;
constexpr int FALLEN = 8;

// Indices of the first descent of a fit and of the round RESCUE. Rounds of the search begin with the index 0.
constexpr int FIRST = -2;
constexpr int RESCUE = -1;

template <bool SHARED>
NS_DEVICE BlockProgress* progress_of(const State<SHARED>& state) {
    return (BlockProgress*)(state[BLOCK_DATA] + PROGRESS_AT);
}

// Counters of the queue: the number of finished items, and the number of rounds that still have starting points to
// take.
NS_DEVICE int* done_of(const FitLaunch& launch) { return launch.queue + DONE_AT; }
NS_DEVICE int* open_of(const FitLaunch& launch) { return launch.queue + OPEN_AT; }

// Takes a starting point of a round and returns its index, or returns -1 if all are taken. Only one thread of a block
// may call this function.
NS_DEVICE int take(const FitLaunch& launch, Round& round) {
    uint64_t word = peek(&round.word);
    for (;;) {
        int next = (int)(word >> 32), count = (int)(uint32_t)word;
        if (next >= count) return -1;
        uint64_t seen = replace(&round.word, word, word + (1ull << 32));
        if (seen == word) {
            if (next + 1 == count) add(open_of(launch), -1);
            // After the fence, this thread sees what the owner of the round wrote before it offered the round.
            fence();
            return next;
        }
        word = seen;
    }
}

// Offers all starting points of a round to other blocks, except the first one, which the caller takes. Nothing is
// offered if the queue still has items, if there is only one starting point, or if blocks do not help each other.
// Sets `offered` accordingly.
template <bool SHARED>
NS_DEVICE void offer(
    const FitLaunch& launch, const State<SHARED>& state, int block, int request, int number, int count, double known
) {
    const Plan& plan = launch.plan;
    BlockProgress* progress = progress_of(state);
    if (thread() == 0) progress->offered = launch.rounds && count > 1 && peek(launch.queue) >= launch.n_items;
    barrier();
    if (!progress->offered) return;
    NS_EACH(i, plan.n_bins) state[DATA][i] = state[MAIN][i];
    NS_EACH(i, plan.n_aux) state[DATA][plan.n_bins + i] = state[AUX][i];
    barrier();
    if (thread() == 0) {
        Round& round = launch.rounds[block];
        round.request = request;
        round.number = number;
        round.known = known;
        round.value = known;
        round.start = -1;
        round.several = 0;
        round.iterations = 0;
        round.evaluations = 0;
        round.finished = 0;
        fence();
        // All descents of the previous round are finished, so no block takes one of its starting points any more.
        replace(&round.word, peek(&round.word), (1ull << 32) | (uint64_t)count);
        add(open_of(launch), 1);
    }
}

// Takes a starting point that another block offers. If no block offers one, blocks with an index below `n_waiting`
// wait until a block offers one or all items are finished. Returns false if there is no more work for this block.
NS_DEVICE bool look_for(const FitLaunch& launch, int block, BlockProgress* progress) {
    bool waits = block < launch.n_waiting;
    for (;;) {
        barrier();
        if (warp() == 0) {
            // Only one thread reads the counters. All threads of the warp thus agree.
            int there = 0;
            if (lane() == 0) {
                there = peek(open_of(launch)) > 0 ? 1 : 0;
                if (there == 0 && (!waits || peek(done_of(launch)) >= launch.n_items)) there = 2;
            }
            there = warp_max(there);
            // The search begins at the next block. Otherwise all idle blocks would choose the same round.
            int nearest = 0;
            if (there == 1) {
                for (int i = 1 + lane(); i < launch.n_blocks && nearest == 0; i += lanes()) {
                    int other = block + i < launch.n_blocks ? block + i : block + i - launch.n_blocks;
                    uint64_t word = peek(&launch.rounds[other].word);
                    if ((word >> 32) < (uint64_t)(uint32_t)word) nearest = launch.n_blocks - i;
                }
                nearest = warp_max(nearest);
            }
            if (lane() == 0) {
                int owner = block + launch.n_blocks - nearest;
                owner = owner < launch.n_blocks ? owner : owner - launch.n_blocks;
                progress->owner = owner;
                progress->start = nearest > 0 ? take(launch, launch.rounds[owner]) : -1;
                progress->over = there == 2;
                if (there != 2 && progress->start < 0) pause();
            }
        }
        barrier();
        if (progress->over) return false;
        if (progress->start >= 0) return true;
    }
}

// Copies the data, bounds and known minimum of a fit from the block that makes the fit to a block that helps.
template <bool SHARED>
NS_DEVICE void copy(const Plan& plan, const State<SHARED>& from, const State<SHARED>& to) {
    barrier();
    NS_EACH(i, plan.n_bins) to[MAIN][i] = from[DATA][i];
    NS_EACH(i, plan.n_aux) to[AUX][i] = from[DATA][plan.n_bins + i];
    NS_EACH(p, plan.n_params) {
        to[LOWER][p] = from[LOWER][p];
        to[UPPER][p] = from[UPPER][p];
        to[SNAPSHOT][p] = from[SNAPSHOT][p];
    }
    barrier();
}

// Copies the end of a descent to the owner of the round, if the descent converged to the lowest minimum of the round
// so far.
template <bool SHARED>
NS_DEVICE void report(
    const Plan& plan, const State<SHARED>& state, const State<SHARED>& owner, Round& round, int start, const Descent& end
) {
    BlockProgress* progress = progress_of(state);
    if (end.converged && end.value < round.known) {
        barrier();
        if (thread() == 0) {
            while (!lock(&round.lock)) pause();
            fence();
            double value = peek(&round.value);
            progress->lowest = end.value < value || (end.value == value && start < peek(&round.start));
        }
        barrier();
        if (progress->lowest) keep(plan, state, owner);
        barrier();
        if (thread() == 0) {
            if (progress->lowest) {
                round.value = end.value;
                round.edm = end.edm;
                round.start = start;
            }
            fence();
            unlock(&round.lock);
        }
    }
}

// For each descent that was given up below the known minimum, this number is added to `Round::several`. It is larger
// than the number of starting points of a round.
constexpr int ONE_OPEN = 1 << 16;

// Counts a descent as finished, takes the next starting point of the round, and returns its index, or -1 if there is
// none. `distinct` is true if the descent indicates another minimum; in the round RESCUE, if `-ln L` did not fall
// without limit. Only one thread of a block may call this function.
//
// The next starting point is taken before this descent is counted. As long as a starting point that was taken is not
// finished, the owner cannot begin another round, and the copied data stay valid.
NS_DEVICE int finish(const FitLaunch& launch, Round& round, const Descent& end, bool distinct, bool open) {
    int next = take(launch, round);
    add(&round.iterations, end.iterations);
    add(&round.evaluations, end.evaluations);
    int told = (distinct ? 1 : 0) + (open ? ONE_OPEN : 0);
    if (told > 0) add(&round.several, told);
    fence();
    add(&round.finished, 1);
    return next;
}

// Waits for the descents that other blocks make in the round. Writes the result of the round to `BlockProgress`.
NS_DEVICE void gather(const Round& round, BlockProgress* progress) {
    // Thread 0 changes `BlockProgress` only after all threads have read it.
    barrier();
    if (thread() == 0) {
        while (peek(&round.finished) < progress->count) pause();
        fence();
        if (round.start >= 0) {
            progress->value = round.value;
            progress->edm = round.edm;
            progress->converged = 1;
        }
        progress->iterations += round.iterations;
        progress->evaluations += round.evaluations;
        if (round.several > 0) {
            int told = round.several >= ONE_OPEN ? SEVERAL | OPEN : SEVERAL;
            progress->several |= progress->round == RESCUE ? STANDING : told;
        }
        progress->start = progress->count;
    }
    barrier();
}

}  // namespace ns
