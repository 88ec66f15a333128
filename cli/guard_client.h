/* SPDX-License-Identifier: Apache-2.0 */
/* A database's own client program, run as a child with a text on its stdin.
 *
 *     struct cli_guard_client *client = &it;
 *     cli_guard_client_init(client, guard, "postgres://app:secret@host/db");
 *     if (cli_guard_client_run(client, text, len)) … client->child.out …
 *     cli_guard_client_fini(client);
 *
 * A password goes to it in the variable that it reads, never in its words. */
#ifndef CLI_GUARD_CLIENT_H
#define CLI_GUARD_CLIENT_H

#include "guard.h"
#include "guard_relay.h"
#include "pipe_child.h"

/* Options that are fixed (12 at most), those of an address, the program itself,
 * and some to spare. */
#define CLI_GUARD_WORDS_MAX 40

/* Bytes of an address, and of the command line made from it: room for two paths
 * of PATH_MAX. */
#define CLI_GUARD_WORDS_ROOM 8192

/* Bytes of a state, or of the triggers of a table, each with its whole text:
 * some tens of triggers. */
#define CLI_GUARD_OUT_ROOM 262144

/* The statement that failed, which mariadb repeats, and the error. */
#define CLI_GUARD_ERR_ROOM 16384

struct cli_guard_client {
    const struct cli_guard *guard;
    char *words[CLI_GUARD_WORDS_MAX + 1];
    size_t n_words;
    size_t used; /* of `text`, to which the words point */
    char text[CLI_GUARD_WORDS_ROOM];
    struct cli_pipe_child child;
    char out[CLI_GUARD_OUT_ROOM + 1]; /* terminated */
    char err[CLI_GUARD_ERR_ROOM + 1];
    char error[CLI_GUARD_ERR_ROOM]; /* the first line of an error */
    int code;                       /* its exit code */
    const char *remedy;             /* of this error; NULL: none is known */
    struct cli_guard_relay relay;   /* to its server; or not started */
};

/* The exit code for a line of an error. */
struct cli_guard_error {
    const char *part; /* of the line; NULL: any */
    int code;
};

/* What to do about a line of an error. */
struct cli_guard_remedy {
    const char *part; /* of the line; NULL: the end */
    const char *text;
};

/* A database's client program: how it is found, called, and read. */
struct cli_guard_program {
    const char *names[3]; /* the first that is found; ended by NULL */
    const char *package;  /* of Debian */
    const char *options[12];
    const char *file_options; /* the first option, if an address is given */
    /* Add the words of an address, and export its password. */
    int (*address)(struct cli_guard_client *client, char *target);
    const struct cli_guard_error *errors;    /* the first that fits */
    const struct cli_guard_remedy *remedies; /* or NULL */
    bool has_replies; /* errors are on stdout, and its status is 0 */
};

/* One for each database that has a guard; cli_guard.client is one of these. */
extern const struct cli_guard_program cli_guard_psql;
extern const struct cli_guard_program cli_guard_mariadb;
extern const struct cli_guard_program cli_guard_sqlite3;
extern const struct cli_guard_program cli_guard_redis_cli;

/* `target` may be NULL: the program's own default. A password in it is
 * overwritten. @return 0, or the exit code after a line on stderr. */
int cli_guard_client_init(struct cli_guard_client *client,
                          const struct cli_guard *guard, char *target);

/* Also after an init that failed. */
void cli_guard_client_fini(struct cli_guard_client *client);

/* Add a word that stays where it is. */
void cli_guard_client_add(struct cli_guard_client *client, const char *word);

/* Run it. @return false: client->error and client->code say why. */
bool cli_guard_client_run(struct cli_guard_client *client, const char *text,
                          size_t len);

#endif
