/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * For programs that write to a database with `holdfast guard`: the statements
 * that check a fence, and a function that parses the database's error. The
 * library is not linked with a database's client library.
 *
 *     const char *const values[] = {"account-7", fence_text};
 *     result = PQexecParams(conn, HF_GUARD_POSTGRES, 2, NULL, values, NULL,
 *                           NULL, 0);
 *     if (hf_guard_is_stale(PQresultErrorMessage(result), &given, &seen)) {
 *         roll_back();
 *     }
 */
#ifndef HF_GUARD_H
#define HF_GUARD_H

#include <holdfast/holdfast.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The statement by which PostgreSQL checks a fence, for PQexecParams(): name
 * and fence, both as text. `holdfast guard postgres` installs it. */
#define HF_GUARD_POSTGRES "SELECT holdfast.fence($1, $2)"

/** The same for SQLite: bind the name with sqlite3_bind_text(), the fence with
 * sqlite3_bind_int64(). */
#define HF_GUARD_SQLITE                                                        \
    "INSERT INTO holdfast_fence (name, fence) VALUES (?1, ?2)"

/**
 * Test whether @p message is the error with which a guard rejects a stale
 * fence. If so, a later holder has written, and the caller must not retry.
 *
 * @param message  The server's error: PQresultErrorMessage(), mysql_error(),
 *                 sqlite3_errmsg(), the text of a Redis error reply. NULL: no
 *                 error. Borrowed for the call.
 * @param given    Set to the rejected fence, or to 0 if the result is false.
 *                 0 also for the error of SQLite without numbers, which is
 *                 that of a guard for versions before 3.47. May be NULL.
 * @param seen     Set to the larger fence that was presented before, in the
 *                 same way. May be NULL.
 *
 * @return true for a text that contains, for example, "holdfast: fence 41 of
 *         'account-7' is stale: 42 was presented"; sets 41 and 42.
 *
 * Threads: any. Blocks: never.
 */
HF_API bool hf_guard_is_stale(const char *message, uint64_t *given,
                              uint64_t *seen);

#ifdef __cplusplus
}
#endif

#endif
