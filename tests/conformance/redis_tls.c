/* SPDX-License-Identifier: Apache-2.0 */
/* TLS to a real server: which certificates are trusted, and the messages for
 * those that are not. */
#include "redis_world.h"

static char dir[96];

static const char *in(const char *file)
{
    static char paths[8][160];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", dir, file);
    return path;
}

/* Two authorities; a server's certificate for localhost and 127.0.0.1 from the
 * first, and a client's from the same. */
static void make_certificates(void)
{
    static const char script[] =
        "cd '%s' && exec 2>openssl.log && "
        "key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes' && "
        "for a in ca other; do openssl req -x509 $key -days 2 -subj /CN=$a "
        "-keyout $a.key -out $a.crt || exit; done && "
        "printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' >san && "
        "for c in server client; do openssl req $key -subj /CN=$c "
        "-keyout $c.key -out $c.csr && openssl x509 -req -in $c.csr -CA ca.crt "
        "-CAkey ca.key -CAcreateserial -days 2 -extfile san -out $c.crt || "
        "exit; done";
    char command[1200];
    snprintf(command, sizeof(command), script, dir);
    if (system(command) != 0) {
        printf("Bail out! no certificates\n");
        exit(1);
    }
}

static uint16_t tls_server(struct server *server, const char *clients)
{
    char port[8];
    uint16_t number = free_port();
    snprintf(port, sizeof(port), "%u", (unsigned)number);
    server_start(server, "--tls-port", port, "--bind", "127.0.0.1",
                 "--tls-cert-file", in("server.crt"), "--tls-key-file",
                 in("server.key"), "--tls-ca-cert-file", in("ca.crt"),
                 "--tls-auth-clients", clients, NULL);
    return number;
}

static void rig_tls_init(struct rig *rig, const char *host, uint16_t port,
                         const char *ca, const char *cert)
{
    struct server nowhere = {.pid = 0};
    rig_init(rig, 1, &nowhere);
    rig->url.endpoints[0].is_unix = false;
    rig->url.endpoints[0].is_tls = true;
    rig->url.endpoints[0].host = (char *)(uintptr_t)host;
    rig->url.endpoints[0].port = port;
    rig->url.tls_ca = ca == NULL ? NULL : (char *)(uintptr_t)in(ca);
    if (cert != NULL) {
        rig->url.tls_cert = (char *)(uintptr_t)in(cert);
        rig->url.tls_key = (char *)(uintptr_t)in("client.key");
    }
}

static enum hf_status rig_tls(struct rig *rig, const char *host, uint16_t port,
                              const char *ca, const char *cert,
                              struct hf_error *error)
{
    rig_tls_init(rig, host, port, ca, cert);
    return rig_start(rig, error);
}

#define until_down(rig)                                                        \
    rig_until((rig), (rig)->status[0] == HF_NODE_STATUS_DOWN, PATIENCE_MS)

static void test_trusted(uint16_t port)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    for (unsigned i = 0; i < 2; i++) {
        struct rig rig;
        rig_tls(&rig, hosts[i], port, "ca.crt", NULL, NULL);
        bool votes = rig_votes(&rig, 0);
        ok(votes && acquire(&rig, "t", "o", 0).verdict == HF_VERDICT_OK &&
               release(&rig, "t", "o", 0).verdict == HF_VERDICT_OK,
           "over TLS to %s: %s", hosts[i], rig.reason[0]);
        rig.n_said = 0;
        for (int n = 0; n < 2000; n++) {
            rig_send(&rig, ask_of(HF_VERB_INSPECT, "t", NULL));
        }
        rig_flush(&rig);
        rig_until(&rig, rig.n_said == 2000, PATIENCE_MS);
        ok(rig.n_said == 2000, "two thousand requests at once");
        rig_close(&rig);
    }
}

/* All bytes of a reply have arrived before the first event, and are more than
 * one event reads: no further edge of the descriptor reports the rest. */
static void test_more_than_a_turn(struct server *server, uint16_t port)
{
    static const char script[] =
        "for i = 1, 300 do redis.call('SET', KEYS[1] .. i, 'x') end";
    struct rig rig;
    char stem[401] = "lock:";
    memset(stem + 5, 'n', sizeof(stem) - 6);
    freeReplyObject(
        redisCommand(server->control, "EVAL %s 1 %s", script, stem));
    rig_tls(&rig, "127.0.0.1", port, "ca.crt", NULL, NULL);
    rig_votes(&rig, 0);
    rig.n_said = 0;
    uint64_t cookie = rig_send(&rig, (struct hf_ask){.verb = HF_VERB_SCAN});
    rig_flush(&rig);
    /* Each reply arrives in a later round of the server. */
    for (int i = 0; i < 50; i++) {
        told(server, "PING");
    }
    struct said said = rig_await(&rig, cookie);
    ok(said.verdict == HF_VERDICT_OK && said.n_names >= 300,
       "a reply of 120 kB over TLS: %zu names; %s", said.n_names, said.reason);
    rig_close(&rig);
}

static void test_refused(uint16_t port)
{
    struct rig rig;
    struct hf_error error;
    rig_tls(&rig, "127.0.0.1", port, "other.crt", NULL, NULL);
    until_down(&rig);
    ok(strstr(rig.reason[0], "certificate is refused") != NULL,
       "another authority: %s", rig.reason[0]);
    rig_close(&rig);
    rig_tls(&rig, "127.0.0.1", port, NULL, NULL, NULL);
    until_down(&rig);
    ok(strstr(rig.reason[0], "certificate is refused") != NULL,
       "the system's authorities: %s", rig.reason[0]);
    rig_close(&rig);
    /* A name that leads to the server and is not in its certificate would need
     * an entry in a hosts file, and the server does not listen at 127.1.2.3. So
     * use the short form of the address, which the certificate does not
     * have. */
    rig_tls(&rig, "127.0.1", port, "ca.crt", NULL, NULL);
    until_down(&rig);
    ok(strstr(rig.reason[0], "mismatch") != NULL,
       "a host that the certificate does not name: %s", rig.reason[0]);
    rig_close(&rig);
    ok(rig_tls(&rig, "127.0.0.1", port, "missing.crt", NULL, &error) ==
               HF_CONFIG &&
           strstr(error.text, "missing.crt") != NULL,
       "a tls_ca that is not there: %s", error.text);
    rig_close(&rig);
}

static void test_plain(uint16_t port)
{
    struct server plain;
    struct rig rig;
    char text[8];
    uint16_t number = free_port();
    snprintf(text, sizeof(text), "%u", (unsigned)number);
    server_start(&plain, "--port", text, "--bind", "127.0.0.1", NULL);
    rig_tls(&rig, "127.0.0.1", number, "ca.crt", NULL, NULL);
    until_down(&rig);
    ok(strstr(rig.reason[0], "use redis://") != NULL, "TLS to a plain port: %s",
       rig.reason[0]);
    rig_close(&rig);
    server_remove(&plain);

    struct server nowhere = {.pid = 0};
    rig_init(&rig, 1, &nowhere);
    rig.url.endpoints[0].is_unix = false;
    rig.url.endpoints[0].host = (char *)(uintptr_t) "127.0.0.1";
    rig.url.endpoints[0].port = port;
    rig_start(&rig, NULL);
    until_down(&rig);
    ok(strstr(rig.reason[0], "use rediss://") != NULL,
       "no TLS to a TLS port: %s", rig.reason[0]);
    rig_close(&rig);
}

static void test_mutual(void)
{
    struct server server;
    struct rig rig;
    uint16_t port = tls_server(&server, "yes");
    rig_tls(&rig, "127.0.0.1", port, "ca.crt", NULL, NULL);
    until_down(&rig);
    ok(strstr(rig.reason[0], "name tls_cert and tls_key") != NULL,
       "a server that wants a certificate of ours: %s", rig.reason[0]);
    rig_close(&rig);
    rig_tls(&rig, "127.0.0.1", port, "ca.crt", "client.crt", NULL);
    ok(rig_votes(&rig, 0), "gets it");
    server_kill(&server);
    until_down(&rig);
    ok(strstr(rig.reason[0], "tls_cert") == NULL,
       "one that had it, and dies: %s", rig.reason[0]);
    rig_close(&rig);
}

static void test_exposed(uint16_t port)
{
    struct rig rig;
    struct hf_error error;
    chmod(in("client.key"), 0644);
    ok(rig_tls(&rig, "127.0.0.1", port, "ca.crt", "client.crt", &error) ==
               HF_CONFIG &&
           strstr(error.text, "client.key: all users may read") != NULL,
       "a key that all users may read: %s", error.text);
    rig_close(&rig);
    chmod(in("client.key"), 0640);
    rig_tls(&rig, "127.0.0.1", port, "ca.crt", "client.crt", NULL);
    ok(rig_votes(&rig, 0), "a key that its group may read");
    rig_close(&rig);
}

/* The same for a server that asks for the certificate in the handshake. */
static void test_mutual_12(void)
{
    struct server server;
    struct rig rig;
    char port[8];
    uint16_t number = free_port();
    snprintf(port, sizeof(port), "%u", (unsigned)number);
    server_start(&server, "--tls-port", port, "--bind", "127.0.0.1",
                 "--tls-cert-file", in("server.crt"), "--tls-key-file",
                 in("server.key"), "--tls-ca-cert-file", in("ca.crt"),
                 "--tls-protocols", "TLSv1.2", NULL);
    rig_tls(&rig, "127.0.0.1", number, "ca.crt", NULL, NULL);
    until_down(&rig);
    ok(strstr(rig.reason[0], "name tls_cert and tls_key") != NULL,
       "under TLS 1.2: %s", rig.reason[0]);
    rig_close(&rig);
    server_remove(&server);
}

static void test_stopped(struct server *server, uint16_t port)
{
    struct rig rig;
    rig_tls_init(&rig, "127.0.0.1", port, "ca.crt", NULL);
    rig_hasty(&rig);
    rig_start(&rig, NULL);
    rig_votes(&rig, 0);
    kill(server->pid, SIGSTOP);
    struct said said = acquire(&rig, "s", "o", 0);
    ok(said.verdict == HF_VERDICT_UNKNOWN, "a hung server: %s", said.reason);
    until_down(&rig);
    ok(rig.status[0] == HF_NODE_STATUS_DOWN, "and no handshake: %s",
       rig.reason[0]);
    kill(server->pid, SIGCONT);
    ok(rig_votes(&rig, 0), "back");
    server_kill(server);
    until_down(&rig);
    ok(rig.status[0] == HF_NODE_STATUS_DOWN, "killed: %s", rig.reason[0]);
    rig_close(&rig);
}

int main(void)
{
    struct server holder;
    struct server server;
    signal(SIGPIPE, SIG_DFL);
    server_name(&holder); /* its folder has the certificates */
    snprintf(dir, sizeof(dir), "%s", holder.dir);
    make_certificates();
    uint16_t port = tls_server(&server, "no");
    test_trusted(port);
    test_more_than_a_turn(&server, port);
    test_refused(port);
    test_plain(port);
    test_mutual();
    test_mutual_12();
    test_exposed(port);
    test_stopped(&server, port);
    server_remove(&server);
    server_remove(&holder);
    return tap_done();
}
