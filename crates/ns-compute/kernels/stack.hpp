// Switches from one coroutine to another on the CPU.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <memory>

// A race detector must ignore functions that switch coroutines, because one coroutine enters them and another one
// leaves them.
#ifdef __SANITIZE_THREAD__
#define NS_UNSEEN __attribute__((noinline, no_sanitize_thread)) inline
#else
#define NS_UNSEEN __attribute__((noinline)) inline
#endif

namespace ns {
constexpr size_t STACK_BYTES = 256 << 10;
}

#if defined(__x86_64__) && defined(__ELF__)
// Replaces the context functions of the C library. These make a system call for the signal mask and take twenty times
// as long. The function saves the registers that a function must preserve in the System V ABI. It does not save the
// modes of the floating-point unit, which all coroutines share.
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

// The stack of a suspended coroutine, or of the caller of the first coroutine.
class Stack {
  public:
    // Prepares a coroutine that begins with `entry`, which must not return.
    void prepare(void (*entry)()) {
        if (!bytes) bytes.reset(new char[STACK_BYTES]);
        uintptr_t end = ((uintptr_t)bytes.get() + STACK_BYTES) & ~(uintptr_t)15;
        // `ns_change_stack` pops six registers and the address at which to continue. A return address for `entry`
        // follows.
        void** top = (void**)(end - 64);
        for (int i = 0; i < 8; i++) top[i] = nullptr;
        top[6] = (void*)entry;
        at = top;
    }
    // Switches to `other`. Returns when another coroutine switches back to this one.
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
