/* SPDX-License-Identifier: Apache-2.0 */
#include "run/interrupt.h"

#include "base/assert.h"
#include "run/term.h"
#include "signals.h"

#include <signal.h>
#include <unistd.h>

/* Elsewhere the signal came from a program, which may rely on the exit code. */
static bool is_in_foreground(void)
{
    struct cli_term term = {.fd = -1};
    cli_term_open(&term);
    bool is_ours = cli_term_group(&term) == getpgrp();
    cli_term_close(&term);
    return is_ours;
}

void cli_interrupt_pass_on(const struct cli_interrupt *interrupt)
{
    int number = interrupt->number;
    HF_ASSERT(number >= 0);
    if ((number == SIGINT || number == SIGQUIT) && is_in_foreground()) {
        cli_signals_die(interrupt->is_for_group ? 0 : getpid(), number);
    }
}
