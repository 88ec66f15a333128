/* SPDX-License-Identifier: Apache-2.0 */
/* A way over TLS for a client program that does not check the host of a
 * certificate.
 *
 *     program ──▶ unix socket in a folder of ours ──▶ relay ──TLS──▶ server
 *
 * The relay is a child of this process. It checks each connection as the
 * library does (io/tls.h), before it passes on the first byte: a check by an
 * earlier connection proves nothing of the program's own. It serves one
 * connection at a time, and ends after the first that fails.
 *
 * The folder is entered by this user only. It is removed when this process has
 * called stop, or ended in any way.
 *
 * Cost: a process while the relay runs; for each connection of the program
 * another one, with a TLS handshake; each byte is copied once on its way.
 *
 *     struct cli_guard_relay relay = {.tls = NULL};
 *     code = cli_guard_relay_start(&relay, &settings, host, port);
 *     … run the program, which connects to relay.path …
 *     if (cli_guard_relay_reason(&relay)[0] != '\0') …    why it failed
 *     cli_guard_relay_stop(&relay); */
#ifndef CLI_GUARD_RELAY_H
#define CLI_GUARD_RELAY_H

#include <sys/types.h>

struct hf_tls_settings;

/* Bytes of a path of mkdtemp() in /tmp, or in a short TMPDIR; a socket's path
 * has 108 at the most. */
#define CLI_RELAY_FOLDER_MAX 64

struct cli_guard_relay {
    const char *host, *port;              /* the caller's, until stop */
    const char *scheme;                   /* of URLs without TLS */
    char folder[CLI_RELAY_FOLDER_MAX];    /* "": it was not started */
    char path[CLI_RELAY_FOLDER_MAX + 16]; /* of the socket */
    struct hf_tls *tls;
    int listener;
    int alive[2]; /* a pipe that ends with this process */
    char *reason; /* shared with the child */
    pid_t pid;
};

/* @return 0, or the exit code after a line on stderr. */
int cli_guard_relay_start(struct cli_guard_relay *relay,
                          const struct hf_tls_settings *settings,
                          const char *host, const char *port);

/* Why a connection has failed. "": none has, or it was not started. */
const char *cli_guard_relay_reason(const struct cli_guard_relay *relay);

/* Nothing if it was not started. */
void cli_guard_relay_stop(struct cli_guard_relay *relay);

#endif
