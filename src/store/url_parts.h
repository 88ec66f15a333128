/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the URL parser. Modules read addresses of their own with pieces;
 * the rest is for url*.c alone. url.c parses a list of whole URLs so:
 *
 *     struct hf_url_parse parse = {.url = url, .error = error};
 *     scheme = hf_piece_cut(&rest, ':', &has_rest);        for each URL
 *     before = hf_piece_cut(&rest, '?', &has_query);
 *     hf_url_read_servers(&parse, before, is_tls);         or _read_socket()
 *     hf_params_read(&parse.params, rest, url, error);
 *     hf_url_check_servers(&parse);                        once, at the end
 *     hf_params_complete(&parse.params, url, error);
 *     hf_params_fini(url);                                 hf_url_free()
 *
 * A module cuts hf_url.address, and decodes each piece last:
 *
 *     login = hf_piece_cut(&address, '@', &has_hosts);
 *     if (!hf_piece_host(item, &host, &port)) { … its usage … }
 *     status = hf_piece_decode(host, "the host", &text, error);
 *
 * Owner: a piece borrows the text of the URL. A decoded string is the caller's,
 * a password to be freed with hf_secret_free(); what is read into hf_url is
 * freed with it, also after a failure. Threads: any; nothing is shared. Errors:
 * as returned, with a text in `error`: HF_INVALID, a form that is not allowed;
 * HF_CONFIG, parts that do not fit together; HF_NO_MEMORY. */
#ifndef HF_STORE_URL_PARTS_H
#define HF_STORE_URL_PARTS_H

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_url; /* url.h */

/* A part of the URL's text. */
struct hf_piece {
    const char *at;
    size_t len;
};

/** Cut @p whole at the first @p c, and keep the rest in @p whole.
 * @param has_rest  set to whether there was a @p c.
 * @return the text before it. */
struct hf_piece hf_piece_cut(struct hf_piece *whole, char c, bool *has_rest);

/** Percent-decode into a new string.
 * @return HF_OK; HF_INVALID: a bad escape, or an encoded NUL; HF_NO_MEMORY. The
 *         text in @p error names @p what, never the piece, which may be secret.
 */
enum hf_status hf_piece_decode(struct hf_piece piece, const char *what,
                               char **out, struct hf_error *error);

/* Whether the piece has the byte. */
bool hf_piece_has(struct hf_piece piece, char c);

/** Parse a decimal number, 0 .. most. @return false: it is not one. */
bool hf_piece_number(struct hf_piece piece, int64_t most, int64_t *out);

/** Split "host", "host:port", "[v6]" or "[v6]:port", without decoding.
 * @param host  may become empty. @param port  kept if there is none.
 * @return false: another form, or a port that is no number from 1 to 65535. */
bool hf_piece_host(struct hf_piece item, struct hf_piece *host, uint16_t *port);

/* The parameters given so far, one bit each in the order of the table in
 * url_params.c: several whole URLs must not contradict each other. */
struct hf_params {
    unsigned given;
};

/* Parse the text after '?'. */
enum hf_status hf_params_read(struct hf_params *params, struct hf_piece query,
                              struct hf_url *url, struct hf_error *error);

/* Wipe and free the parameters of a module. */
void hf_params_fini(struct hf_url *url);

/* Fill in defaults, and check the parameters against each other. */
enum hf_status hf_params_complete(const struct hf_params *params,
                                  struct hf_url *url, struct hf_error *error);

/* The state of one parse. */
struct hf_url_parse {
    struct hf_url *url;
    struct hf_params params;
    const char *password; /* replaces those of the URL, or NULL */
    unsigned n_nodes;     /* may exceed HF_NODES_MAX: an error, found later */
    struct hf_error *error;
};

/* The remedy for characters that a password must not contain. For "%s". */
#define HF_URL_ESCAPE_HINT                                                     \
    "write / ? # , @ % in a password as %2F %3F %23 %2C %40 %25"

/* Parse the text between "redis://" and '?', and add its endpoints. */
enum hf_status hf_url_read_servers(struct hf_url_parse *parse,
                                   struct hf_piece rest, bool is_tls);

/* Parse the text between "redis+unix://" and '?', and add its endpoint. */
enum hf_status hf_url_read_socket(struct hf_url_parse *parse,
                                  struct hf_piece rest);

/* HF_CONFIG: an even number, too many, or the same server twice. */
enum hf_status hf_url_check_servers(const struct hf_url_parse *parse);

#endif
