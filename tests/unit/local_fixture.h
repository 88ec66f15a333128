/* SPDX-License-Identifier: Apache-2.0 */
/* Each case has an embedded store in a folder of its own. Checks that most
 * cases share. */
#ifndef HF_TESTS_LOCAL_FIXTURE_H
#define HF_TESTS_LOCAL_FIXTURE_H

#include "local_clock.h"
#include "local_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
    char folder[64];
    struct driver d;
};

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    jump_to_floor();
    folder_make(f->folder);
    driver_start(&f->d, f->folder);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    driver_close(&f->d);
    folder_drop(f->folder);
    free(f);
    return 0;
}

static inline struct driver *driver_of(void **state)
{
    return &((struct fixture *)*state)->d;
}

/* @return the counter. */
static inline uint64_t granted(const struct hf_answer *answer)
{
    assert_int_equal(answer->verdict, HF_VERDICT_OK);
    assert_true(answer->counter > 0);
    return answer->counter;
}

/* Refused because of `owner`; NULL: the reply names no owner. */
static inline void refused(const struct hf_answer *answer, const char *owner)
{
    assert_int_equal(answer->verdict, HF_VERDICT_REFUSED);
    if (owner == NULL) {
        assert_null(answer->owner);
    } else {
        assert_string_equal(answer->owner, owner);
    }
}

/* Exactly one grant was pushed, to `owner`. @return its counter. */
static inline uint64_t told(struct driver *d, const char *owner)
{
    assert_true(driver_hear(d, 1));
    driver_turn(d);
    assert_int_equal(d->n_pushes, 1);
    assert_int_equal(d->pushes[0].cookie >> 32, owner[0]);
    driver_forget(d);
    return d->pushes[0].counter;
}

#endif
