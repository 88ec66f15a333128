/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a wire, and its login, as its URL names them:
 * //[LOGIN@]HOST[:PORT],HOST,…[/PATH]
 *
 *     if (!hf_wire_address_cut(url->address, &address)) { … usage … }
 *     struct hf_wire_login login = {0};
 *     status = hf_wire_login_read(&login, &address, url, supplies, scheme,
 *                                 error);
 *     status = hf_wire_hosts_read(hosts, &n, address.hosts, port, usage,
 *                                 error);
 *     hf_wire_hosts_fini(hosts, n);
 *     hf_wire_login_fini(&login);                  also after a failure
 *
 * Owner: the address borrows the text; login and hosts have copies. Threads:
 * any; nothing is shared. Errors: as returned, with a text in `error` that
 * shows no password. */
#ifndef HF_ORDERED_WIRE_HOSTS_H
#define HF_ORDERED_WIRE_HOSTS_H

#include "base/text_size.h"
#include "store/url.h"
#include "store/url_parts.h"

/* As many as the URL parser allows servers; clusters have three or five. */
#define HF_WIRE_HOSTS_MAX HF_NODES_MAX

struct hf_wire_host {
    char *host;
    uint16_t port;
    char shown[HF_TEXT_ADDRESS]; /* HOST:PORT */
};

/* The message for an address that is none. */
#define HF_WIRE_TEXT_OF(number) #number
#define HF_WIRE_TEXT(number) HF_WIRE_TEXT_OF(number)
#define HF_WIRE_USAGE(url, form, servers)                                      \
    "not " url ": write " form                                                 \
    " with up to " HF_WIRE_TEXT(HF_NODES_MAX) " " servers                      \
                                              " (" HF_URL_ESCAPE_HINT ")"

/* Parts of the URL's text. */
struct hf_wire_address {
    struct hf_piece login; /* before the '@' */
    struct hf_piece hosts;
    struct hf_piece path; /* after the '/' */
    bool has_login;
};

/** @return false: it is none, or an '@' is left, before which a secret would be
 * taken for a host, and shown. */
bool hf_wire_address_cut(const char *text, struct hf_wire_address *out);

/* The login in the URL. */
struct hf_wire_login {
    char *user;     /* NULL: none */
    char *password; /* NULL: none, or the program supplies it */
};

/** USER[:PASSWORD], or the URL's own password. @param supplies  a callback
 * supplies another one at each login, and may supply a user. @param scheme  for
 * the message. @return HF_OK; HF_INVALID; HF_NO_MEMORY. */
enum hf_status hf_wire_login_read(struct hf_wire_login *out,
                                  const struct hf_wire_address *address,
                                  const struct hf_url *url, bool supplies,
                                  const char *scheme, struct hf_error *error);

/* Free the user, and erase the password. */
void hf_wire_login_fini(struct hf_wire_login *login);

/** Read a list. @param port  of a host without one. @param usage  the message
 * if it is malformed, or too long.
 * @return HF_OK; HF_INVALID; HF_NO_MEMORY: also then `*n` hosts are to be
 *         freed. */
enum hf_status hf_wire_hosts_read(struct hf_wire_host hosts[HF_WIRE_HOSTS_MAX],
                                  unsigned *n, struct hf_piece list,
                                  uint16_t port, const char *usage,
                                  struct hf_error *error);

/* Free the names of @p n hosts, not the array. */
void hf_wire_hosts_fini(struct hf_wire_host *hosts, unsigned n);

#endif
