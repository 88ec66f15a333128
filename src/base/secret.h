/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that must be wiped from memory: passwords. */
#ifndef HF_BASE_SECRET_H
#define HF_BASE_SECRET_H

#include <stdlib.h>
#include <string.h>

/* Wipe and free. NULL is fine. */
static inline void hf_secret_free(char *secret)
{
    if (secret != NULL) {
        explicit_bzero(secret, strlen(secret));
        free(secret);
    }
}

#endif
