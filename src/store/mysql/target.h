/* SPDX-License-Identifier: Apache-2.0 */
/* How to reach a MySQL or MariaDB server: the URL's address and login, for
 * libmariadb. Without TLS: its handshake in libmariadb blocks, and
 * may raise SIGPIPE. */
#ifndef HF_MYSQL_TARGET_H
#define HF_MYSQL_TARGET_H

#include "io/resolve.h"
#include "store/url.h"

#include <stdbool.h>
#include <stdint.h>

struct st_mysql; /* MYSQL */

struct hf_mysql_target {
    char *host; /* NULL: a unix socket */
    uint16_t port;
    char *socket; /* NULL: libmariadb's own default */
    char *user;   /* NULL: of the option file, else of the process */
    char *password;
    char *database;
    char *defaults_file; /* NULL: none is read */
    char shown[128];     /* for messages */
};

/** Read the URL. @return HF_OK; HF_INVALID, HF_UNSUPPORTED, HF_NO_MEMORY with a
 * text in @p error. hf_mysql_target_fini() is needed in each case. */
enum hf_status hf_mysql_target_init(struct hf_mysql_target *target,
                                    const struct hf_url *url,
                                    struct hf_error *error);

/* Wipe and free. */
void hf_mysql_target_fini(struct hf_mysql_target *target);

/** A connection that is not begun, with its options.
 * @return NULL: no memory; else the caller's, as of mysql_init(). */
struct st_mysql *hf_mysql_target_new(const struct hf_mysql_target *target);

/* The settings of a connection, which libmariadb reads until it is made or has
 * failed. */
struct hf_mysql_login {
    char host[80];  /* an address */
    char *user;     /* replaces that of the URL, or NULL */
    char *password; /* the same */
};

/* Wipe and free. */
void hf_mysql_login_fini(struct hf_mysql_login *login);

/** Begin to connect. @param at  of the host; NULL for a unix socket.
 * @return as mysql_real_connect_start(): 0, it has ended, and @p out is NULL if
 * it failed; else the events to wait for. */
int hf_mysql_target_connect(const struct hf_mysql_target *target,
                            struct st_mysql *sql, const struct hf_address *at,
                            struct hf_mysql_login *login,
                            struct st_mysql **out);

/* Whether TLS would be used: an option file may demand it. Known when
 * libmariadb waits for the first time. */
bool hf_mysql_target_wants_tls(struct st_mysql *sql);

#endif
