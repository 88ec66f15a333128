/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials from the program (hf_login_fn): a real server changes passwords
 * and closes its connections, and the client reconnects with the new ones. */
#include "redis_world.h"

#include <pthread.h>
#include <stdatomic.h>

/* Until a condition must hold: a deadline for hangs. */
#define PATIENCE_MS 20000
#define LEASE_MS 60000 /* longer than a test: no lease ends by itself */

/* ---- Credentials of the program ----------------------------------------- */

struct vault {
    pthread_mutex_t mutex;
    const char *user;     /* NULL: the user of the URL */
    const char *password; /* NULL: the program has none */
    atomic_int n_asked;
    int node;
    char address[128];
};

static void on_login(void *user, struct hf_login *login)
{
    struct vault *vault = user;
    char copy[5000];
    pthread_mutex_lock(&vault->mutex);
    vault->node = hf_login_node(login);
    snprintf(vault->address, sizeof(vault->address), "%s",
             hf_login_address(login));
    if (vault->password != NULL) {
        snprintf(copy, sizeof(copy), "%s", vault->password);
        hf_login_set(login, "unused", "overwritten");
        hf_login_set(login, vault->user, copy);
        memset(copy, 'x', sizeof(copy) - 1); /* it was copied */
    }
    atomic_fetch_add(&vault->n_asked, 1);
    pthread_mutex_unlock(&vault->mutex);
}

static void keep(struct vault *vault, const char *user, const char *password)
{
    pthread_mutex_lock(&vault->mutex);
    vault->user = user;
    vault->password = password;
    pthread_mutex_unlock(&vault->mutex);
}

/* ---- Clients ------------------------------------------------------------- */

static struct hf_client *open_as(const struct server *server,
                                 const char *login_of_url, struct vault *vault)
{
    char url[300];
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error = {0};
    snprintf(url, sizeof(url),
             "redis+unix://%s%s?quarantine=off&node_timeout=1s", login_of_url,
             server->path);
    hf_client_options_init(&options);
    options.login = on_login;
    options.login_user = vault;
    options.password = "not this one";
    if (hf_client_open(url, &options, &client, &error) != HF_OK) {
        printf("Bail out! %s\n", error.text);
        exit(1);
    }
    return client;
}

static struct hf_lock *take(struct hf_client *client, const char *name)
{
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    hf_request_init(&request, name);
    request.ttl_ms = LEASE_MS;
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        printf("# %s: %s\n", name, error.text);
    }
    return lock;
}

/* Extend until that returns this status. */
static bool extends(struct hf_lock *lock, enum hf_status wanted,
                    struct hf_error *error)
{
    struct hf_instant until =
        hf_instant_add(hf_clock_now(), hf_span_ms(PATIENCE_MS));
    do {
        if (hf_lock_extend(lock, LEASE_MS, error) == wanted) {
            return true;
        }
        usleep(2000);
    } while (hf_instant_before(hf_clock_now(), until));
    printf("# %s\n", error->text);
    return false;
}

static void cut(struct server *server)
{
    told(server, "CLIENT KILL TYPE normal SKIPME yes");
}

/* ---- Tests --------------------------------------------------------------- */

static void test_requirepass(struct server *server, struct vault *vault)
{
    struct hf_error error = {0};
    told(server, "CONFIG SET requirepass one");
    keep(vault, NULL, "one");
    struct hf_client *client = open_as(server, ":of-the-url@", vault);
    struct hf_lock *lock = take(client, "a");
    ok(lock != NULL, "the callback's password, not the URL's or the options'");
    ok(vault->node == 0 && strcmp(vault->address, server->path) == 0,
       "it knows for which node: %s", vault->address);
    int n_asked = atomic_load(&vault->n_asked);
    ok(extends(lock, HF_OK, &error) && atomic_load(&vault->n_asked) == n_asked,
       "it is asked by connections only");

    told(server, "CONFIG SET requirepass two");
    keep(vault, NULL, "two");
    cut(server);
    ok(extends(lock, HF_OK, &error) && hf_lock_state(lock) == HF_STATE_HELD,
       "cut after a change: back with the new password");
    ok(atomic_load(&vault->n_asked) > n_asked, "which it was asked for");

    told(server, "CONFIG SET requirepass three");
    cut(server);
    ok(extends(lock, HF_DENIED, &error) &&
           strstr(error.text, "WRONGPASS") != NULL,
       "an old password: %s", error.text);
    keep(vault, NULL, NULL);
    bool is_denied = false;
    for (int i = 0; !is_denied && i < 2000; i++) {
        is_denied = extends(lock, HF_DENIED, &error) &&
                    strstr(error.text, "supplied no password") != NULL;
        usleep(5000);
    }
    ok(is_denied, "none at all: %s", error.text);
    keep(vault, NULL, "three");
    ok(extends(lock, HF_OK, &error), "it is asked again until one is right");
    ok(hf_lock_release(lock) == HF_OK, "and the lock was held all the while");
    hf_client_close(client);
    told(server, "CONFIG SET requirepass ''");
}

static bool is_user(struct server *server, const char *user)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), " user=%s ", user);
    return strstr(told(server, "CLIENT LIST TYPE normal"), wanted) != NULL;
}

static void test_acl(struct server *server, struct vault *vault)
{
    struct hf_error error = {0};
    char url_login[] = "app@";
    char token[4500];
    memset(token, 't', sizeof(token) - 1); /* as cloud providers issue them */
    token[sizeof(token) - 1] = '\0';
    told(server, "ACL SETUSER app on >first ~* &* +@all");
    told(server, "ACL SETUSER other on >%s ~* &* +@all", token);
    keep(vault, "app", "first");
    struct hf_client *client = open_as(server, "", vault);
    struct hf_lock *lock = take(client, "b");
    ok(lock != NULL && is_user(server, "app"), "an ACL user");
    told(server, "ACL SETUSER app resetpass >second");
    keep(vault, "app", "second");
    cut(server);
    ok(extends(lock, HF_OK, &error), "an ACL user after a change of password");
    keep(vault, "other", token);
    cut(server);
    ok(extends(lock, HF_OK, &error) && is_user(server, "other"),
       "another user, with a long token");
    hf_lock_release(lock);
    hf_client_close(client);

    keep(vault, NULL, "second");
    client = open_as(server, url_login, vault);
    lock = take(client, "b");
    ok(lock != NULL && is_user(server, "app"), "the user that the URL names");
    hf_lock_release(lock);
    hf_client_close(client);
}

static bool listens(struct server *server)
{
    return strstr(told(server, "CLIENT LIST TYPE pubsub"), " user=app ") !=
           NULL;
}

static bool until_listening(struct server *server)
{
    for (int i = 0; i < PATIENCE_MS && !listens(server); i++) {
        usleep(1000);
    }
    return listens(server);
}

static void *wait_for_it(void *client)
{
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    hf_request_init(&request, "c");
    request.wait_ms = PATIENCE_MS;
    enum hf_status status = hf_lock_acquire(client, &request, &lock, &error);
    return status == HF_OK ? lock : NULL;
}

static void test_waiter(struct server *server, struct vault *vault)
{
    pthread_t thread;
    void *got = NULL;
    told(server, "ACL SETUSER app on resetpass >first ~* &* +@all");
    keep(vault, "app", "first");
    struct hf_client *holder = open_as(server, "", vault);
    struct hf_client *waiter = open_as(server, "", vault);
    struct hf_lock *lock = take(holder, "c");
    pthread_create(&thread, NULL, wait_for_it, waiter);
    ok(until_listening(server), "the second connection of a waiter logs in");
    keep(vault, "app", "second");
    told(server, "ACL SETUSER app resetpass >second");
    told(server, "CLIENT KILL TYPE pubsub");
    ok(until_listening(server), "and comes back with the new password");
    hf_lock_release(lock);
    pthread_join(thread, &got);
    ok(got != NULL, "the waiter gets the lock");
    hf_client_close(holder);
    hf_client_close(waiter);
}

static void test_local(const struct server *server, struct vault *vault)
{
    char url[200];
    struct hf_client_options options;
    struct hf_client *client = NULL;
    int n_asked = atomic_load(&vault->n_asked);
    snprintf(url, sizeof(url), "local://%s/store", server->dir);
    hf_client_options_init(&options);
    options.login = on_login;
    options.login_user = vault;
    ok(hf_client_open(url, &options, &client, NULL) == HF_OK, "local: opens");
    struct hf_lock *lock = take(client, "d");
    ok(lock != NULL && atomic_load(&vault->n_asked) == n_asked,
       "the embedded store needs no credentials");
    hf_lock_release(lock);
    hf_client_close(client);
    hf_login_set(NULL, NULL, NULL);
    ok(hf_login_node(NULL) == -1 && hf_login_address(NULL)[0] == '\0',
       "without a login");
}

int main(void)
{
    struct server server;
    struct vault vault = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    server_start(&server, NULL);
    test_requirepass(&server, &vault);
    test_acl(&server, &vault);
    test_waiter(&server, &vault);
    test_local(&server, &vault);
    server_remove(&server);
    return tap_done();
}
