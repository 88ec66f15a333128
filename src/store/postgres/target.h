/* SPDX-License-Identifier: Apache-2.0 */
/* How to reach the server: the URL, the environment and the service file, as
 * keywords of libpq. Host names are looked up by io/resolve.h, since libpq's
 * own look-up blocks. */
#ifndef HF_POSTGRES_TARGET_H
#define HF_POSTGRES_TARGET_H

#include "base/text_size.h"
#include "io/resolve.h"
#include "store/url.h"

#include <stdbool.h>
#include <stdint.h>

struct pg_conn; /* PGconn */

struct hf_pg_keyword {
    char *name;
    char *value; /* may be secret */
};

struct hf_pg_target {
    struct hf_pg_keyword *keywords; /* for libpq */
    unsigned n;
    char *host;     /* name or address; a socket's folder if `is_direct` */
    uint16_t port;  /* of `host` */
    bool is_direct; /* a unix socket, or hostaddr is given: no look-up */
    char shown[HF_TEXT_ADDRESS]; /* for messages */
};

/** Read the URL. Reads the environment, and the service file if one is named.
 * @return HF_OK; HF_INVALID, HF_CONFIG, HF_UNSUPPORTED, HF_NO_MEMORY with a
 *         text in @p error. hf_pg_target_fini() is needed in each case. */
enum hf_status hf_pg_target_init(struct hf_pg_target *target,
                                 const struct hf_url *url,
                                 struct hf_error *error);

/* Wipe and free. */
void hf_pg_target_fini(struct hf_pg_target *target);

/** Begin to connect. @param addresses  of the host; NULL if `is_direct`.
 * @param first  index of the address to try first.
 * @param user  replaces that of the URL, or NULL.
 * @param password  the same.
 * @return NULL: no memory; else the caller's, as of PQconnectStartParams(). */
struct pg_conn *hf_pg_target_connect(const struct hf_pg_target *target,
                                     const struct hf_addresses *addresses,
                                     unsigned first, const char *user,
                                     const char *password);

#endif
