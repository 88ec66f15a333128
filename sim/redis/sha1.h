/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1 (FIPS 180-4), by which Redis names scripts. */
#ifndef SIM_REDIS_SHA1_H
#define SIM_REDIS_SHA1_H

#include <stddef.h>

/* 40 lower case digits and a NUL. */
void sim_sha1_hex(char out[41], const void *data, size_t len);

#endif
