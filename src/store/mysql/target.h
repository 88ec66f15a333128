/* SPDX-License-Identifier: Apache-2.0 */
/* How to reach a MySQL or MariaDB server: the URL's address and login, for
 * libmariadb. */
#ifndef HF_MYSQL_TARGET_H
#define HF_MYSQL_TARGET_H

#include "base/text_size.h"
#include "io/resolve.h"
#include "io/tls.h"
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
    char *defaults_file;          /* NULL: none is read */
    const struct hf_tls_ops *tls; /* for tls_scope.h. NULL: no TLS; else over
                                     TCP, and dial.h connects */
    char *tls_ca;                 /* file; NULL: none */
    char *tls_ca_folder;          /* the system's authorities; NULL: tls_ca */
    char *tls_cert, *tls_key;     /* files; NULL: none */
    char shown[HF_TEXT_ADDRESS];  /* for messages */
};

/** Read the URL. @return HF_OK; HF_INVALID, HF_CONFIG, HF_NO_MEMORY with a text
 * in @p error. hf_mysql_target_fini() is needed in each case. */
enum hf_status hf_mysql_target_init(struct hf_mysql_target *target,
                                    const struct hf_url *url,
                                    struct hf_error *error);

/* Wipe and free. */
void hf_mysql_target_fini(struct hf_mysql_target *target);

/** @return false: no memory. hf_mysql_target_fini() is needed in each case. */
bool hf_mysql_target_copy(struct hf_mysql_target *out,
                          const struct hf_mysql_target *target);

/* To follow the server's version in a message: ", over TLS"; empty for a unix
 * socket. A constant. */
const char *hf_mysql_target_tls(const struct hf_mysql_target *target);

/* mysql_close(), which says good-bye. NULL is fine. */
void hf_mysql_target_close(const struct hf_mysql_target *target,
                           struct st_mysql *sql);

/** A connection that is not begun, with its options.
 * @return NULL: no memory; else the caller's, as of mysql_init(). */
struct st_mysql *hf_mysql_target_new(const struct hf_mysql_target *target);

/* The settings of a connection, which libmariadb reads until it is made or has
 * failed. */
struct hf_mysql_login {
    char host[HF_TEXT_PHRASE]; /* an address */
    char *user;                /* replaces that of the URL, or NULL */
    char *password;            /* the same */
};

/* Wipe and free. */
void hf_mysql_login_fini(struct hf_mysql_login *login);

/** Begin to connect. @param at  of the host; NULL for a unix socket, and for
 * TLS, where libmariadb looks up the host, whose name it checks.
 * @return as mysql_real_connect_start(): 0, it has ended, and @p out is NULL if
 * it failed; else the events to wait for. */
int hf_mysql_target_connect(const struct hf_mysql_target *target,
                            struct st_mysql *sql, const struct hf_address *at,
                            struct hf_mysql_login *login,
                            struct st_mysql **out);

/* Whether TLS would be used: an option file may demand it. Known when
 * libmariadb waits for the first time. */
bool hf_mysql_target_wants_tls(struct st_mysql *sql);

/* Whether TLS is as the URL says, and the server verified: an option file may
 * say otherwise. Known at the same time. */
bool hf_mysql_target_secures(const struct hf_mysql_target *target,
                             struct st_mysql *sql);

#endif
