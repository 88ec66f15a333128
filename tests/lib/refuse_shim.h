/* SPDX-License-Identifier: Apache-2.0 */
/* What a test and refuse_shim.so share: a file that both map. */
#ifndef HF_TESTS_REFUSE_SHIM_H
#define HF_TESTS_REFUSE_SHIM_H

#include <stdatomic.h>

enum refusal {
    REFUSAL_ERROR,     /* as if a limit, a right or a disk were at its end */
    REFUSAL_INTERRUPT, /* EINTR, of a call that waits: a signal came */
};

struct refuse_page {
    atomic_long at; /* the number of the call to refuse, from 1; 0: none */
    atomic_long calls;
    atomic_int refusal;
    char name[24]; /* the call that was refused; empty: none was */
};

#endif
