/* SPDX-License-Identifier: Apache-2.0 */
/* swapcontext() starts a fiber. From then on _longjmp() switches, since
 * swapcontext() makes two system calls for the signal mask, a tenth of the time
 * of a run. Under a sanitizer swapcontext() is always used: sanitizers replace
 * longjmp(), and assume that it stays on one stack. So does the fortified
 * longjmp() of glibc, which is why _FORTIFY_SOURCE is off here. */
#undef _FORTIFY_SOURCE
#include "world/fiber.h"

#include "base/assert.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN
#elif defined(__SANITIZE_THREAD__)
#define FIBER_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN
#elif __has_feature(thread_sanitizer)
#define FIBER_TSAN
#endif
#endif

#if !defined(FIBER_ASAN) && !defined(FIBER_TSAN)
#define FIBER_JUMPS
#endif

#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

/* Room for the deepest call with a sanitizer's larger frames. The kernel gives
 * memory only to the pages that are touched. */
#define STACK_BYTES (512 * 1024)

struct sim_fiber {
    ucontext_t inside;
    ucontext_t outside;
    void (*body)(void *user); /* the fiber ends when it returns */
    void *user;
    void *stack;
    bool is_over;
#ifdef FIBER_JUMPS
    bool has_begun;
    jmp_buf at_inside;
    jmp_buf at_outside;
#endif
#ifdef FIBER_ASAN
    void *fake_inside, *fake_outside;
    const void *outer_stack;
    size_t outer_size;
#endif
};

/* ---- Report the current stack to a sanitizer --------------------------- */

static void leave_for_inside(struct sim_fiber *fiber)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&fiber->fake_outside, fiber->stack,
                                   STACK_BYTES);
#else
    (void)fiber;
#endif
}

static void arrived_outside(struct sim_fiber *fiber)
{
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake_outside, NULL, NULL);
#else
    (void)fiber;
#endif
}

static void arrived_inside(struct sim_fiber *fiber)
{
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake_inside, &fiber->outer_stack,
                                    &fiber->outer_size);
#else
    (void)fiber;
#endif
}

static void leave_for_outside(struct sim_fiber *fiber)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(fiber->is_over ? NULL : &fiber->fake_inside,
                                   fiber->outer_stack, fiber->outer_size);
#else
    (void)fiber;
#endif
}

/* ---- Switching --------------------------------------------------------- */

#ifdef FIBER_JUMPS
static void switch_to_inside(struct sim_fiber *fiber)
{
    if (_setjmp(fiber->at_outside) != 0) {
        return;
    }
    if (fiber->has_begun) {
        _longjmp(fiber->at_inside, 1);
    }
    fiber->has_begun = true;
    /* cppcheck-suppress swapcontextCalled; the world has one thread */
    swapcontext(&fiber->outside, &fiber->inside);
}

static void switch_to_outside(struct sim_fiber *fiber)
{
    if (_setjmp(fiber->at_inside) == 0) {
        _longjmp(fiber->at_outside, 1);
    }
}
#else
static void switch_to_inside(struct sim_fiber *fiber)
{
    swapcontext(&fiber->outside, &fiber->inside);
}

static void switch_to_outside(struct sim_fiber *fiber)
{
    swapcontext(&fiber->inside, &fiber->outside);
}
#endif

/* ---- Stacks ------------------------------------------------------------ */

/* Stacks of fibers that have ended are used again: the kernel need not clear
 * their pages anew. Sanitizers have marked parts of a used stack, so under them
 * each fiber gets a new one. */
#define SPARE_MAX 16

static struct {
    void *stacks[SPARE_MAX];
    unsigned n;
} spare;

static void *take_stack(void)
{
    if (spare.n > 0) {
        return spare.stacks[--spare.n];
    }
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       /* cppcheck-suppress invalidFunctionArg; no file */
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    HF_ASSERT(stack != MAP_FAILED);
    return stack;
}

static void put_stack(void *stack)
{
#ifdef FIBER_JUMPS
    if (spare.n < SPARE_MAX) {
        spare.stacks[spare.n++] = stack;
        return;
    }
#endif
    munmap(stack, STACK_BYTES);
}

/* ---- The fiber --------------------------------------------------------- */

/* makecontext() passes only ints. */
static void begin(unsigned high, unsigned low)
{
    struct sim_fiber *fiber =
        (struct sim_fiber *)((uintptr_t)high << 32 | (uintptr_t)low);
    arrived_inside(fiber);
    fiber->body(fiber->user);
    fiber->is_over = true;
    sim_fiber_yield(fiber);
}

struct sim_fiber *sim_fiber_new(void (*body)(void *user), void *user)
{
    struct sim_fiber *fiber = calloc(1, sizeof(*fiber));
    HF_ASSERT(fiber != NULL);
    fiber->stack = take_stack();
    fiber->body = body;
    fiber->user = user;
    /* cppcheck-suppress getcontextCalled; the world has one thread */
    getcontext(&fiber->inside);
    fiber->inside.uc_stack.ss_sp = fiber->stack;
    fiber->inside.uc_stack.ss_size = STACK_BYTES;
    fiber->inside.uc_link = NULL;
    uintptr_t self = (uintptr_t)fiber;
    makecontext(&fiber->inside, (void (*)(void))begin, 2,
                (unsigned)(self >> 32), (unsigned)(self & 0xffffffff));
    return fiber;
}

void sim_fiber_free(struct sim_fiber *fiber)
{
    if (fiber != NULL) {
        put_stack(fiber->stack);
        free(fiber);
    }
}

bool sim_fiber_enter(struct sim_fiber *fiber)
{
    HF_ASSERT(!fiber->is_over);
    leave_for_inside(fiber);
    switch_to_inside(fiber);
    arrived_outside(fiber);
    return !fiber->is_over;
}

void sim_fiber_yield(struct sim_fiber *fiber)
{
    leave_for_outside(fiber);
    switch_to_outside(fiber);
    arrived_inside(fiber);
}
