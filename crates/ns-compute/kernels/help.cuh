// Starts of a round that any block may take, once the queue is empty.
//
// The last fits of a launch decide how long it takes, and most of their time goes into further starts, which do not
// depend on each other. So a block that finds the queue empty offers its starts, and one that has nothing left to do
// takes some of them. What comes out is the lowest minimum, of equals that of the first start, whoever descends.
#pragma once
#include "descend.cuh"

namespace ns {

// Signs that a fit has several minima, and that the CPU is to finish it.
constexpr int SEVERAL = 1;
constexpr int OPEN = 2;

template <bool SHARED>
NS_DEVICE BlockProgress* progress_of(const State<SHARED>& state) {
    return (BlockProgress*)(state[BLOCK_DATA] + PROGRESS_AT);
}

// Counters behind that of the queue: items that are done, rounds with starts to take.
NS_DEVICE int* done_of(const FitLaunch& launch) { return launch.queue + DONE_AT; }
NS_DEVICE int* open_of(const FitLaunch& launch) { return launch.queue + OPEN_AT; }

// Takes a start of a round, -1 if all are taken. One thread calls it.
NS_DEVICE int take(const FitLaunch& launch, Round& round) {
    uint64_t word = peek(&round.word);
    for (;;) {
        int next = (int)(word >> 32), count = (int)(uint32_t)word;
        if (next >= count) return -1;
        uint64_t seen = replace(&round.word, word, word + (1ull << 32));
        if (seen == word) {
            if (next + 1 == count) add(open_of(launch), -1);
            // What the owner wrote before it offered the round.
            fence();
            return next;
        }
        word = seen;
    }
}

// Offers all starts of a round but the first, which the caller takes, unless others still have work of their own.
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
        // Nobody takes from the round before any more.
        replace(&round.word, peek(&round.word), (1ull << 32) | (uint64_t)count);
        add(open_of(launch), 1);
    }
}

// Takes a start that some block offers, and waits for one if this block is among those that wait. False if there is nothing
// left to do.
NS_DEVICE bool look_for(const FitLaunch& launch, int block, BlockProgress* progress) {
    bool waits = block < launch.n_waiting;
    for (;;) {
        barrier();
        if (warp() == 0) {
            // One thread looks, so that all of the warp agree.
            int there = 0;
            if (lane() == 0) {
                there = peek(open_of(launch)) > 0 ? 1 : 0;
                if (there == 0 && (!waits || peek(done_of(launch)) >= launch.n_items)) there = 2;
            }
            there = warp_max(there);
            // Nearest behind this block: not everybody to the same.
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

// Copies what a helper needs of the owner's fit.
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

// Hands the descent from a start to the owner, if it is a minimum that is the lowest so far.
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

// What `Round::several` has for a descent that is open: more than there are starts in a round.
constexpr int ONE_OPEN = 1 << 16;

// Counts a descent as done and takes the next start, -1 if there is none. One thread calls it. The next one is taken first: as
// long as a start that was taken is not done, the round is the same, and what was copied of it holds.
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

// Waits for the starts that others took, and puts what came out in `BlockProgress`.
NS_DEVICE void gather(const Round& round, BlockProgress* progress) {
    // Others may not have read it yet.
    barrier();
    if (thread() == 0) {
        while (peek(&round.finished) < progress->count) pause();
        fence();
        if (round.start >= 0) {
            progress->value = round.value;
            progress->edm = round.edm;
        }
        progress->iterations += round.iterations;
        progress->evaluations += round.evaluations;
        if (round.several > 0) progress->several |= round.several >= ONE_OPEN ? SEVERAL | OPEN : SEVERAL;
        progress->start = progress->count;
    }
    barrier();
}

}  // namespace ns
