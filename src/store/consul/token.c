/* SPDX-License-Identifier: Apache-2.0 */
/* WHERE THE TOKEN COMES FROM
 *
 * In this order: the program (hf_login_set(), asked at each connection), the
 * password of its options, the URL, token_file, CONSUL_HTTP_TOKEN,
 * CONSUL_HTTP_TOKEN_FILE. As `consul` does, an empty one is none.
 *
 * It becomes a header of each request. The file is read when the store opens.
 */
#include "base/fail.h"
#include "base/secret.h"
#include "io/secret_file.h"
#include "store/consul/consul.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes: a token is a UUID, or a text that an operator chose. */
#define TOKEN_MAX 4096

#define HEADER "X-Consul-Token: "

/* It becomes a header: nothing in it may end that. */
static bool is_token(const char *text)
{
    size_t len = 0;
    while (text[len] > ' ' && text[len] < 0x7f) {
        len++;
    }
    return len > 0 && len <= TOKEN_MAX && text[len] == '\0';
}

/* ---- Finding ------------------------------------------------------------- */

static enum hf_status keep(struct hf_consul *consul, const char *token,
                           const char *from, struct hf_error *error)
{
    if (!is_token(token)) {
        return hf_fail(error, HF_CONFIG, "%.200s: it is no token of Consul",
                       from);
    }
    consul->token = strdup(token);
    return consul->token == NULL ? hf_fail_memory(error) : HF_OK;
}

static bool is_exposed(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && hf_secret_file_is_exposed(&about);
}

/* The first line; `setting` names the file in errors. */
static enum hf_status read_file(struct hf_consul *consul, const char *setting,
                                const char *path, struct hf_error *error)
{
    char line[TOKEN_MAX + 2] = "";
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return hf_fail(error, HF_CONFIG, "%s %.200s: %s", setting, path,
                       hf_errno_text(errno));
    }
    if (is_exposed(fileno(file))) {
        fclose(file);
        return hf_fail(error, HF_CONFIG,
                       "%s %.200s: holds a token and " HF_SECRET_FILE_EXPOSED,
                       setting, path);
    }
    setvbuf(file, NULL, _IONBF, 0); /* a buffer would keep it */
    bool has_line = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    line[has_line ? strcspn(line, "\r\n") : 0] = '\0';
    enum hf_status status = keep(consul, line, path, error);
    explicit_bzero(line, sizeof(line));
    return status;
}

static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

enum hf_status hf_consul_token_find(struct hf_consul *consul,
                                    const struct hf_url *url,
                                    const char *of_url, const char *file,
                                    struct hf_error *error)
{
    const char *token = url->password != NULL ? url->password : of_url;
    if (consul->node.ordered.env.login != NULL) {
        return HF_OK;
    }
    if (token != NULL) {
        return keep(consul, token, "the URL", error);
    }
    if (file != NULL) {
        return read_file(consul, "token_file", file, error);
    }
    token = variable("CONSUL_HTTP_TOKEN");
    if (token != NULL) {
        return keep(consul, token, "CONSUL_HTTP_TOKEN", error);
    }
    file = variable("CONSUL_HTTP_TOKEN_FILE");
    return file != NULL
               ? read_file(consul, "CONSUL_HTTP_TOKEN_FILE", file, error)
               : HF_OK;
}

/* ---- Using --------------------------------------------------------------- */

static bool make_header(struct hf_consul *consul, const char *token)
{
    size_t size = sizeof(HEADER) + strlen(token) + 2;
    hf_secret_free(consul->headers);
    consul->headers = malloc(size);
    if (consul->headers != NULL) {
        snprintf(consul->headers, size, HEADER "%s\r\n", token);
    }
    return consul->headers != NULL;
}

static bool use_supplied(struct hf_consul *consul, const struct hf_login *login,
                         enum hf_status *fault)
{
    *fault = HF_DENIED;
    if (login->password == NULL && !login->has_failed) {
        snprintf(consul->node.why, sizeof(consul->node.why),
                 "the program supplied no token (hf_login_set())");
        return false;
    }
    if (!login->has_failed && !is_token(login->password)) {
        snprintf(consul->node.why, sizeof(consul->node.why),
                 "what the program supplied is no token of Consul");
        return false;
    }
    if (login->has_failed || !make_header(consul, login->password)) {
        *fault = HF_NO_MEMORY;
        snprintf(consul->node.why, sizeof(consul->node.why), "out of memory");
        return false;
    }
    return true;
}

bool hf_consul_token_use(struct hf_consul *consul, enum hf_status *fault)
{
    const struct hf_store_env *env = &consul->node.ordered.env;
    struct hf_login login = {.address = hf_endpoints_shown(&consul->node)};
    bool is_usable;
    if (env->login == NULL) {
        *fault = HF_NO_MEMORY;
        snprintf(consul->node.why, sizeof(consul->node.why), "out of memory");
        return consul->token == NULL || consul->headers != NULL ||
               make_header(consul, consul->token);
    }
    env->login(env->client, &login);
    is_usable = use_supplied(consul, &login, fault);
    hf_secret_free(login.user);
    hf_secret_free(login.password);
    return is_usable;
}
