/* SPDX-License-Identifier: Apache-2.0 */
/* AUTH, for both connections of a node: with the credentials of the URL, or
 * with those that the program's callback returns now. */
#include "base/secret.h"
#include "store/redis/node.h"

static void push(struct hf_redis_connection *connection, uint8_t verb,
                 const char *user, const char *password, struct hf_instant now)
{
    const char *argv[3] = {"AUTH"};
    int argc = 1;
    if (user != NULL) {
        argv[argc++] = user;
    }
    argv[argc++] = password;
    hf_redis_connection_ask_text(connection, verb, argc, argv, now);
}

static bool ask_program(struct hf_redis_node *node,
                        struct hf_redis_connection *connection, uint8_t verb,
                        struct hf_instant now)
{
    const struct hf_store_env *env = &node->store->env;
    struct hf_login login = {.node = node->index, .address = node->address};
    env->login(env->client, &login);
    bool is_supplied = login.has_failed || login.password != NULL;
    if (login.has_failed) {
        hf_redis_connection_starve(connection);
    } else if (is_supplied) {
        const char *user = node->endpoint->user;
        push(connection, verb, login.user != NULL ? login.user : user,
             login.password, now);
    } else {
        hf_redis_connection_break(
            connection, "the program supplied no password (hf_login_set())");
    }
    hf_secret_free(login.user);
    hf_secret_free(login.password);
    return is_supplied;
}

bool hf_redis_log_in(struct hf_redis_node *node,
                     struct hf_redis_connection *connection, uint8_t verb,
                     struct hf_instant now)
{
    const struct hf_endpoint *to = node->endpoint;
    if (node->store->env.login != NULL) {
        return ask_program(node, connection, verb, now);
    }
    if (to->password != NULL) {
        push(connection, verb, to->user, to->password, now);
    }
    return true;
}
