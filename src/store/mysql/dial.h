/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting over TLS, in a thread of its own: the handshake of libmariadb
 * blocks. Once it is over, the connection is used from the loop like any
 * other.
 *
 *     start ──▶ fd is readable ──▶ is_done ──▶ take ──▶ drop
 *
 * The thread outlives a dial that is dropped, but not for long: drop shuts the
 * socket down. Only a look-up of the host cannot be interrupted.
 *
 * Owner: the dial owns the connection and copies of all that libmariadb reads,
 * until they are taken; the last of the thread and the caller frees it.
 * Threads: all functions are for the thread that holds the client. */
#ifndef HF_MYSQL_DIAL_H
#define HF_MYSQL_DIAL_H

#include "store/mysql/target.h"

#include <stdbool.h>

struct hf_mysql_dial;

enum hf_mysql_stage {
    HF_MYSQL_STAGE_CONNECT,  /* looking up the host; no connection yet */
    HF_MYSQL_STAGE_GREETING, /* connected; waits for the server's greeting */
    HF_MYSQL_STAGE_HANDSHAKE /* of TLS, and the login */
};

/** Begin to connect. @param sql    of hf_mysql_target_new(); the dial's if it
 * is made.
 * @param login  the same; wiped by the dial.
 * @param turn  how many attempts have failed: each begins with the next of the
 *        host's addresses.
 * @return NULL with errno set. */
struct hf_mysql_dial *
hf_mysql_dial_start(const struct hf_mysql_target *target, struct st_mysql *sql,
                    struct hf_mysql_login *login, unsigned turn);

/* Readable once it is done. Owned by the dial. */
int hf_mysql_dial_fd(const struct hf_mysql_dial *dial);

/* Whether its thread has ended the attempt. In any thread. */
bool hf_mysql_dial_is_done(const struct hf_mysql_dial *dial);

/* How far the attempt has come, for messages. In any thread. */
enum hf_mysql_stage hf_mysql_dial_stage(const struct hf_mysql_dial *dial);

/** Get the connection, which is the caller's from now on. It must be done.
 * @param is_open  false: it has failed; mysql_error() has the reason.
 * @param has_settings  the option file has TLS settings, and it was not
 *        begun. */
struct st_mysql *hf_mysql_dial_take(struct hf_mysql_dial *dial, bool *is_open,
                                    bool *has_settings);

/* Free it, done or not. NULL is fine. */
void hf_mysql_dial_drop(struct hf_mysql_dial *dial);

/* In a forked child, which has no such thread: give up the child's share of the
 * socket. The memory stays, since the thread may have been changing it. */
void hf_mysql_dial_disown(struct hf_mysql_dial *dial);

#endif
