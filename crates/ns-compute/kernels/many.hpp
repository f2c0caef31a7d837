// A thread block with many threads on the CPU. The threads are coroutines of one thread of the operating system. Each
// of them runs until it has to wait for the others.
//
// Indices, barriers, teams and warps are the same as on a GPU. This finds two kinds of errors that a block of one
// thread cannot show. One kind is threads that do not reach a barrier. The other kind needs a race detector
// (`-fsanitize=thread`): data in shared or device memory that one thread writes and another thread accesses without a
// barrier in between.
//
// For the detector every coroutine is a thread. A barrier orders the memory accesses of the threads. A change of
// coroutine does not, and neither does a sum over a team or a warp, because such a sum gives no guarantee about
// memory on a GPU.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "stack.hpp"

// Calls that inform the race detector.
#ifdef __SANITIZE_THREAD__
extern "C" {
void* __tsan_create_fiber(unsigned flags);
void* __tsan_get_current_fiber();
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* tag);
void __tsan_release(void* tag);
}
#define NS_FIBER __tsan_create_fiber(0)
#define NS_THIS_FIBER __tsan_get_current_fiber()
// The flag 1 tells the detector that the switch does not order memory accesses.
#define NS_SWITCH_TO(fiber) __tsan_switch_to_fiber(fiber, 1)
#define NS_ACQUIRE(tag) __tsan_acquire(tag)
#define NS_RELEASE(tag) __tsan_release(tag)
#else
#define NS_FIBER nullptr
#define NS_THIS_FIBER nullptr
#define NS_SWITCH_TO(fiber) (void)(fiber)
#define NS_ACQUIRE(tag) (void)(tag)
#define NS_RELEASE(tag) (void)(tag)
#endif

namespace ns {

constexpr int MEMBERS = 8;
// If a team or a warp has not met after this number of turns, this is reported as an error.
constexpr int MOST_TURNS = 10000000;

// Threads that wait for each other, and the numbers that they exchange in this turn and the last one.
struct ThreadGroup {
    int arrived = 0;
    unsigned turn = 0;
    double shown[2][WARP] = {};
    char tags[2] = {};
};

struct Coroutine {
    Stack stack;
    void* fiber = NS_FIBER;
    bool ended = false;
};

struct Block {
    int n, current = 0, alive = 0;
    ThreadGroup all;
    std::vector<ThreadGroup> warps, teams;
    std::vector<Coroutine> threads;
    Stack caller;
    void* caller_fiber = nullptr;
    const std::function<void()>* body = nullptr;
    char started = 0, ended = 0;

    explicit Block(int n) : n(n), warps(n / WARP), teams(n / MEMBERS), threads(n) {}
};

static thread_local Block* here;

[[noreturn]] inline void broken(const char* what) {
    fprintf(stderr, "a block of %d threads on the CPU: %s (thread %d)\n", here->n, what, here->current);
    abort();
}

// Switches to the next thread of the block. Returns when it is this thread's turn again.
NS_UNSEEN void yield() {
    Block& block = *here;
    int from = block.current, to = from;
    do {
        to = to + 1 == block.n ? 0 : to + 1;
    } while (block.threads[to].ended && to != from);
    if (to == from) return;
    block.current = to;
    NS_SWITCH_TO(block.threads[to].fiber);
    block.threads[from].stack.change_to(block.threads[to].stack);
}

// Waits until `size` threads have called this function.
NS_UNSEEN void meet(ThreadGroup& group, int size) {
    if (size == here->n && here->alive < size) broken("a thread waits for one that has ended");
    unsigned turn = group.turn;
    if (++group.arrived == size) {
        group.arrived = 0;
        group.turn++;
        return;
    }
    for (int turns = 0; group.turn == turn; turns++) {
        // Threads of a whole block may wait long for other blocks, so there is no limit for them.
        if (turns > MOST_TURNS && size < here->n) broken("a team or a warp does not meet");
        yield();
    }
}

// Waits until `size` threads have called this function. After it, each thread sees what the others wrote before.
NS_UNSEEN void meet_in_step(ThreadGroup& group, int size) {
    // Two tags are used alternately. A thread that has left early may already be at the next barrier.
    char* tag = &group.tags[group.turn & 1];
    NS_RELEASE(tag);
    meet(group, size);
    NS_ACQUIRE(tag);
}

// Combines the numbers of all threads of a team or warp in pairs. The order is that of a GPU's shuffles, so the bits
// are the same.
template <class Both>
NS_UNSEEN double together(ThreadGroup& group, int size, int place, double x, Both both) {
    double* shown = group.shown[group.turn & 1];
    shown[place] = x;
    meet(group, size);
    double all[WARP];
    for (int i = 0; i < size; i++) all[i] = shown[i];
    for (int distance = size / 2; distance > 0; distance /= 2) {
        for (int i = 0; i < distance; i++) all[i] = both(all[i], all[i + distance]);
    }
    return all[0];
}

NS_UNSEEN void begin() {
    Block& block = *here;
    NS_ACQUIRE(&block.started);
    (*block.body)();
    block.threads[block.current].ended = true;
    if (block.all.arrived > 0) broken("it ends while others wait for it");
    NS_RELEASE(&block.ended);
    if (--block.alive > 0) yield();
    NS_SWITCH_TO(block.caller_fiber);
    block.threads[block.current].stack.change_to(block.caller);
}

NS_UNSEEN void resume(Block& block) {
    here = &block;
    block.current = 0;
    NS_SWITCH_TO(block.threads[0].fiber);
    block.caller.change_to(block.threads[0].stack);
    here = nullptr;
}

// Runs `body` in a block of `n` threads.
inline void run_block(int n, const std::function<void()>& body) {
    // Blocks are kept for reuse until the program ends, because the detector supports few threads and creating one is
    // slow.
    static std::mutex& guard = *new std::mutex;
    static auto& spare = *new std::vector<std::unique_ptr<Block>>;
    std::unique_ptr<Block> block;
    {
        std::lock_guard<std::mutex> locked(guard);
        for (auto& one : spare) {
            if (!one || one->n != n) continue;
            block = std::move(one);
            one = std::move(spare.back());
            spare.pop_back();
            break;
        }
    }
    if (!block) block = std::make_unique<Block>(n);
    for (Coroutine& one : block->threads) {
        one.stack.prepare(begin);
        one.ended = false;
    }
    block->alive = n;
    block->body = &body;
    block->caller_fiber = NS_THIS_FIBER;
    NS_RELEASE(&block->started);
    resume(*block);
    NS_ACQUIRE(&block->ended);
    std::lock_guard<std::mutex> locked(guard);
    spare.push_back(std::move(block));
}

NS_DEVICE int thread() { return here->current; }
NS_DEVICE int threads() { return here->n; }
NS_DEVICE void barrier() { meet_in_step(here->all, here->n); }
NS_DEVICE int lane() { return thread() % WARP; }
NS_DEVICE int lanes() { return WARP; }
NS_DEVICE int warp() { return thread() / WARP; }
NS_DEVICE int warps() { return threads() / WARP; }
NS_DEVICE int member() { return thread() % MEMBERS; }
NS_DEVICE int members() { return MEMBERS; }
NS_DEVICE int team() { return thread() / MEMBERS; }
NS_DEVICE int teams() { return threads() / MEMBERS; }

template <class Both>
NS_DEVICE double of_team(double x, Both both) {
    return together(here->teams[team()], MEMBERS, member(), x, both);
}
template <class Both>
NS_DEVICE double of_warp(double x, Both both) {
    return together(here->warps[warp()], WARP, lane(), x, both);
}
NS_DEVICE double team_sum(double x) {
    return of_team(x, [](double a, double b) { return a + b; });
}
NS_DEVICE double team_product(double x) {
    return of_team(x, [](double a, double b) { return a * b; });
}
NS_DEVICE void team_barrier() { meet_in_step(here->teams[team()], MEMBERS); }
NS_DEVICE double warp_sum(double x) {
    return of_warp(x, [](double a, double b) { return a + b; });
}
NS_DEVICE double warp_min(double x) {
    return of_warp(x, [](double a, double b) { return fmin(a, b); });
}
NS_DEVICE int warp_max(int x) {
    return (int)of_warp(x, [](double a, double b) { return fmax(a, b); });
}
NS_DEVICE void pause() {
    sched_yield();
    yield();
}

}  // namespace ns
