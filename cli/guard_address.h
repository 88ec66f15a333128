/* SPDX-License-Identifier: Apache-2.0 */
/* A database's URL in pieces, and these as words of its client program.
 *
 * ps shows words, so a password is exported in the variable that the program
 * reads, and overwritten where it was typed. */
#ifndef CLI_GUARD_ADDRESS_H
#define CLI_GUARD_ADDRESS_H

#include "guard_client.h"

#define CLI_GUARD_BAD_URL                                                      \
    "a URL has at most 8000 bytes, and behind each % two hex digits, not 00"

/* A part of the URL, in place: not ended by a NUL. */
struct cli_guard_piece {
    char *at; /* NULL: not there */
    size_t len;
};

/* SCHEME://USER:PASSWORD@HOST:PORT/PATH?QUERY */
struct cli_guard_address {
    struct cli_guard_piece scheme, user, password, host, port, path, query;
};

/* `url` has a "://", and is not changed. */
void cli_guard_split(struct cli_guard_address *address, char *url);

/* Cut the next NAME=VALUE off the query. @return false: there is none. */
bool cli_guard_next(struct cli_guard_piece *query, struct cli_guard_piece *name,
                    struct cli_guard_piece *value);

/* Whether it is `text`, which is not empty; a piece that is not there is not.
 */
bool cli_guard_piece_is(const struct cli_guard_piece *piece, const char *text);

/* Refuse a URL (with a "://") with an @ behind its host: what is taken for the
 * host may be a password with a / or a ? in it, and would be a word that ps
 * shows. @return 0, or the exit code after a line. */
int cli_guard_check(char *url);

/* Overwrite the passwords in a URL: none must be in a message. */
void cli_guard_hide(char *url);

/* One line on stderr, without a password. @return the exit code. */
int cli_guard_refuse(char *target, const char *reason);

/* Append BEFORE and the bytes to client->text. @return NULL: no room. */
char *cli_guard_keep(struct cli_guard_client *client, const char *before,
                     const char *bytes, size_t len);

/* Add a word: BEFORE and the decoded piece; none if that is empty.
 * @return false: CLI_GUARD_BAD_URL. */
bool cli_guard_add(struct cli_guard_client *client, const char *before,
                   const struct cli_guard_piece *piece);

/* The same, with the option as a word of its own. */
bool cli_guard_add_two(struct cli_guard_client *client, const char *option,
                       const struct cli_guard_piece *piece);

/* Export the password as `name`, and overwrite it. @return the same. */
bool cli_guard_take_password(struct cli_guard_client *client, const char *name,
                             struct cli_guard_piece *password);

/* The decoded piece. @return NULL: CLI_GUARD_BAD_URL. */
char *cli_guard_decode(struct cli_guard_client *client,
                       const struct cli_guard_piece *piece);

#define CLI_GUARD_TLS_NAMES "its parameters may be tls_ca, tls_cert and tls_key"

/* What a URL says of TLS, as those of stores do. */
struct cli_guard_tls {
    const char *ca, *cert, *key; /* files; NULL: none */
};

/* Read it. @return 0, or the exit code after a line. */
int cli_guard_read_tls(struct cli_guard_client *client, char *target,
                       struct cli_guard_piece *query,
                       struct cli_guard_tls *out);

#endif
