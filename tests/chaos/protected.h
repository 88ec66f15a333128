/* SPDX-License-Identifier: Apache-2.0 */
/* The register that the locks protect, as a client sees it: register.c. */
#ifndef HF_TESTS_PROTECTED_H
#define HF_TESTS_PROTECTED_H

#include <stdint.h>

/* Ends the program if the register is not there. */
void register_open(const char *path, const char *id);

/* `kind`: 'g', the guarded one, or 'u'. Fence 0: none.
 * @return the value; -1: refused. */
int64_t register_read(char kind, const char *name, uint64_t fence);

void register_write(char kind, const char *name, uint64_t fence, int64_t base);

#endif
