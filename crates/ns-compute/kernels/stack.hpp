// Changes from one coroutine to another on the CPU.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <memory>

// Functions that change the coroutine are not looked into by a race detector: they are entered as one and left as another.
#ifdef __SANITIZE_THREAD__
#define NS_UNSEEN __attribute__((noinline, no_sanitize_thread)) inline
#else
#define NS_UNSEEN __attribute__((noinline)) inline
#endif

namespace ns {
constexpr size_t STACK_BYTES = 256 << 10;
}

#if defined(__x86_64__) && defined(__ELF__)
// The context functions of the C library ask the system for the signal mask each time, which takes twenty times as long. Keeps
// what the System V ABI has a function keep, but for the modes of the floating-point unit, which are the same everywhere.
extern "C" void ns_change_stack(void** from, void* to);
asm(R"(
    .text
    .local ns_change_stack
    .type ns_change_stack, @function
ns_change_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size ns_change_stack, .-ns_change_stack
)");

namespace ns {

// A coroutine that waits, or that which called the first one.
class Stack {
  public:
    // Will begin with `entry`, which does not return.
    void prepare(void (*entry)()) {
        if (!bytes) bytes.reset(new char[STACK_BYTES]);
        uintptr_t end = ((uintptr_t)bytes.get() + STACK_BYTES) & ~(uintptr_t)15;
        // What `ns_change_stack` takes back: six registers, where to go on; then a return address for `entry`.
        void** top = (void**)(end - 64);
        for (int i = 0; i < 8; i++) top[i] = nullptr;
        top[6] = (void*)entry;
        at = top;
    }
    // Goes on with `other`; returns when something goes on with this one.
    NS_UNSEEN void change_to(Stack& other) { ns_change_stack(&at, other.at); }

  private:
    std::unique_ptr<char[]> bytes;
    void* at = nullptr;
};

}  // namespace ns

#else
#include <ucontext.h>

namespace ns {

class Stack {
  public:
    void prepare(void (*entry)()) {
        if (!bytes) bytes.reset(new char[STACK_BYTES]);
        getcontext(&context);
        context.uc_stack.ss_sp = bytes.get();
        context.uc_stack.ss_size = STACK_BYTES;
        context.uc_link = nullptr;
        makecontext(&context, entry, 0);
    }
    NS_UNSEEN void change_to(Stack& other) { swapcontext(&context, &other.context); }

  private:
    std::unique_ptr<char[]> bytes;
    ucontext_t context;
};

}  // namespace ns
#endif
