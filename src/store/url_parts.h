/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of URL parsing that url.c puts together. Private to it. */
#ifndef HF_STORE_URL_PARTS_H
#define HF_STORE_URL_PARTS_H

#include "store/url.h"

#include <stddef.h>

/* A stretch of the URL's text. */
struct hf_piece {
    const char *at;
    size_t len;
};

/* Cut @p whole at the first @p c: what is before is returned, what is behind
 * remains in @p whole; has_rest says whether there was one. */
struct hf_piece hf_piece_cut(struct hf_piece *whole, char c, bool *has_rest);

/* Percent-decode into a fresh string.
 * @return HF_OK; HF_INVALID: a bad escape, or an encoded NUL; HF_NO_MEMORY. The
 *         text in @p error names @p what, never the piece: it may be secret. */
enum hf_status hf_piece_decode(struct hf_piece piece, const char *what,
                               char **out, struct hf_error *error);

bool hf_piece_has(struct hf_piece piece, char c);

/* Decimal, 0 .. most. @return false if it is none. */
bool hf_piece_number(struct hf_piece piece, int64_t most, int64_t *out);

/* Which parameters were given, to refuse contradictions between several whole
 * URLs. One bit each, in the order of the table in url_params.c. */
struct hf_params {
    unsigned given;
};

/* Read what stands behind '?'. */
enum hf_status hf_params_read(struct hf_params *params, struct hf_piece query,
                              struct hf_url *url, struct hf_error *error);

/* Wipe and free what hf_params_read() has made of a module's parameters. */
void hf_params_free(struct hf_url *url);

/* Fill in defaults, and check what must fit together. */
enum hf_status hf_params_finish(const struct hf_params *params,
                                struct hf_url *url, struct hf_error *error);

/* One parse under way. */
struct hf_url_parse {
    struct hf_url *url;
    struct hf_params params;
    const char *password; /* replaces every other, or NULL */
    unsigned n_nodes;     /* may exceed HF_NODES_MAX until it is refused */
    struct hf_error *error;
};

/* What to do about a password that was not understood. For "%s". */
#define HF_URL_ESCAPE_HINT                                                     \
    "write / ? # , @ % in a password as %2F %3F %23 %2C %40 %25"

/* Read what stands between "redis://" and '?', and add its endpoints. */
enum hf_status hf_url_read_servers(struct hf_url_parse *parse,
                                   struct hf_piece rest, bool is_tls);

/* Read what stands between "redis+unix://" and '?'. */
enum hf_status hf_url_read_socket(struct hf_url_parse *parse,
                                  struct hf_piece rest);

/* HF_CONFIG: an even number, too many, or the same server twice. */
enum hf_status hf_url_check_servers(const struct hf_url_parse *parse);

#endif
