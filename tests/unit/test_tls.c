/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_tls_static */
/* A server that refuses our certificate under TLS 1.3 does so after the
 * handshake, when requests are under way already: it resets the connection. */
#include "io/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

extern const struct hf_tls_ops hf_tls_module;

/* Until a peer in this process must have sent: for hangs. */
#define DEADLINE_MS 20000

struct world {
    char dir[32];
    char cert[64]; /* of 127.0.0.1, signed by itself: the client trusts it */
    SSL_CTX *server_context;
    SSL *server;
    int server_fd;
    void *context;
    void *client;
    int client_fd;
    char reason[200];
};

static X509 *certify(EVP_PKEY *key)
{
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    X509_EXTENSION *hosts =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC,
                               (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    X509_add_ext(cert, hosts, -1);
    X509_EXTENSION_free(hosts);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    return cert;
}

static void write_authority(const char *path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = certify(key);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, cert), 1);
    fclose(file);
    X509_free(cert);
    EVP_PKEY_free(key);
}

/* A server that trusts no authority at all. */
static void make_server(struct world *world)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = certify(key);
    FILE *file = fopen(world->cert, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, cert), 1);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL),
                     1);
    fclose(file);
    world->server_context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_min_proto_version(world->server_context, TLS1_3_VERSION);
    SSL_CTX_set_verify(world->server_context,
                       SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    assert_int_equal(SSL_CTX_use_certificate(world->server_context, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(world->server_context, key), 1);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void join(struct world *world)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    world->client_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(world->client_fd, (struct sockaddr *)&at, len), 0);
    world->server_fd = accept(listener, NULL, NULL);
    assert_true(world->server_fd >= 0);
    close(listener);
    assert_int_equal(fcntl(world->client_fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(fcntl(world->server_fd, F_SETFL, O_NONBLOCK), 0);
}

static void await(int fd, short events)
{
    struct pollfd wait = {.fd = fd, .events = events};
    assert_int_equal(poll(&wait, 1, DEADLINE_MS), 1);
}

/* Until the client's handshake is done: the server has yet to look at its
 * certificate. */
static void finish_handshake(struct world *world)
{
    assert_non_null(world->client);
    hf_tls_module.turn(world->client, 1U << 20);
    assert_int_equal(hf_tls_module.handshake(world->client, world->reason,
                                             sizeof(world->reason)),
                     0);
    world->server = SSL_new(world->server_context);
    SSL_set_fd(world->server, world->server_fd);
    await(world->server_fd, POLLIN);
    assert_int_equal(SSL_accept(world->server), -1);
    int done = 0;
    while (done == 0) {
        await(world->client_fd, POLLIN);
        done = hf_tls_module.handshake(world->client, world->reason,
                                       sizeof(world->reason));
    }
    assert_int_equal(done, 1);
}

static void shake_hands(struct world *world, const char *cert)
{
    struct hf_tls_settings settings = {
        .ca = world->cert, .cert = cert, .scheme = "redis"};
    world->context = hf_tls_module.context_new(&settings, world->reason,
                                               sizeof(world->reason));
    assert_non_null(world->context);
    world->client =
        hf_tls_module.open(world->context, world->client_fd, "127.0.0.1",
                           world->reason, sizeof(world->reason));
    finish_handshake(world);
}

static ssize_t send_request(struct world *world)
{
    return hf_tls_module.write(world->client, "ask", 3, world->reason,
                               sizeof(world->reason));
}

/* It has not read a request: the kernel resets the connection. */
static void server_closes(struct world *world)
{
    SSL_free(world->server);
    close(world->server_fd);
    await(world->client_fd, POLLHUP);
}

static void client_fails(struct world *world, const char *reason)
{
    char byte;
    assert_int_equal(hf_tls_module.read(world->client, &byte, 1, world->reason,
                                        sizeof(world->reason)),
                     -1);
    assert_string_equal(world->reason, reason);
}

/* ---- Tests ------------------------------------------------------------- */

static void an_alert_is_read_before_a_failed_write_counts(void **state)
{
    struct world *world = *state;
    shake_hands(world, world->cert);
    assert_int_equal(send_request(world), 3);
    await(world->server_fd, POLLIN);
    assert_true(SSL_accept(world->server) <= 0); /* sends the alert */
    server_closes(world);
    assert_int_equal(send_request(world), 0);
    client_fails(world, "TLS: the server refuses the certificate of tls_cert: "
                        "tlsv1 alert unknown ca");
}

static void the_end_names_the_certificate(void **state)
{
    struct world *world = *state;
    shake_hands(world, world->cert);
    assert_int_equal(send_request(world), 3);
    server_closes(world); /* without an alert */
    assert_int_equal(send_request(world), 0);
    client_fails(world, "the server closed the connection: Connection reset by "
                        "peer; it asked for a client certificate: does it "
                        "accept that of tls_cert?");
}

static void the_end_names_what_is_missing(void **state)
{
    struct world *world = *state;
    shake_hands(world, NULL);
    assert_int_equal(send_request(world), 3);
    server_closes(world);
    client_fails(world, "the server closed the connection: Connection reset by "
                        "peer; it asked for a client certificate: name "
                        "tls_cert and tls_key");
}

static void a_second_write_fails(void **state)
{
    struct world *world = *state;
    shake_hands(world, world->cert);
    assert_int_equal(send_request(world), 3);
    server_closes(world);
    assert_int_equal(send_request(world), 0);
    assert_int_equal(send_request(world), -1);
    assert_non_null(
        strstr(world->reason, "the server closed the connection: "));
}

static void a_connection_outlives_its_context(void **state)
{
    struct world *world = *state;
    shake_hands(world, world->cert);
    hf_tls_module.context_free(world->context);
    world->context = NULL;
    assert_int_equal(send_request(world), 3);
    server_closes(world);
    assert_int_equal(send_request(world), 0);
}

/* The other folder has a file of that name, with another authority. */
static void a_relative_name_is_of_the_first_folder(void **state)
{
    struct world *world = *state;
    char other[48], file[64];
    struct hf_tls_settings settings = {.ca = "cert.pem", .scheme = "redis"};
    assert_int_equal(chdir(world->dir), 0);
    struct hf_tls *tls =
        hf_tls_new(&settings, world->reason, sizeof(world->reason));
    assert_non_null(tls);
    snprintf(other, sizeof(other), "%s/other", world->dir);
    snprintf(file, sizeof(file), "%s/cert.pem", other);
    assert_int_equal(mkdir(other, 0700), 0);
    write_authority(file);
    assert_int_equal(chdir(other), 0);
    world->client = hf_tls_open(tls, world->client_fd, "127.0.0.1",
                                world->reason, sizeof(world->reason));
    finish_handshake(world);
    server_closes(world);
    hf_tls_free(tls);
    assert_int_equal(chdir("/"), 0);
    unlink(file);
    rmdir(other);
}

/* The server is not of the authority that is there at first. */
static void a_replaced_authority_is_read_again(void **state)
{
    struct world *world = *state;
    char authority[64];
    snprintf(authority, sizeof(authority), "%s/ca.pem", world->dir);
    struct hf_tls_settings settings = {.ca = authority, .scheme = "redis"};
    write_authority(authority);
    struct hf_tls *tls =
        hf_tls_new(&settings, world->reason, sizeof(world->reason));
    assert_non_null(tls);
    unlink(authority);
    assert_int_equal(link(world->cert, authority), 0);
    world->client = hf_tls_open(tls, world->client_fd, "127.0.0.1",
                                world->reason, sizeof(world->reason));
    finish_handshake(world);
    server_closes(world);
    hf_tls_free(tls);
    unlink(authority);
}

/* The authority is replaced by one that the server is not of, so that the
 * handshake succeeds with what was read before. */
static void an_exposed_key_is_not_read_again(void **state)
{
    struct world *world = *state;
    char key[64];
    snprintf(key, sizeof(key), "%s/key.pem", world->dir);
    struct hf_tls_settings settings = {
        .ca = world->cert, .cert = key, .key = key, .scheme = "redis"};
    assert_int_equal(link(world->cert, key), 0);
    struct hf_tls *tls =
        hf_tls_new(&settings, world->reason, sizeof(world->reason));
    assert_non_null(tls);
    unlink(world->cert);
    write_authority(world->cert);
    assert_int_equal(chmod(key, 0604), 0);
    world->client = hf_tls_open(tls, world->client_fd, "127.0.0.1",
                                world->reason, sizeof(world->reason));
    finish_handshake(world);
    server_closes(world);
    hf_tls_free(tls);
    unlink(key);
}

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    snprintf(world->dir, sizeof(world->dir), "/tmp/hf.XXXXXX");
    assert_non_null(mkdtemp(world->dir));
    snprintf(world->cert, sizeof(world->cert), "%s/cert.pem", world->dir);
    make_server(world);
    join(world);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    hf_tls_module.close(world->client, true);
    if (world->context != NULL) {
        hf_tls_module.context_free(world->context);
    }
    SSL_CTX_free(world->server_context);
    close(world->client_fd);
    unlink(world->cert);
    rmdir(world->dir);
    free(world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_alert_is_read_before_a_failed_write_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_names_the_certificate, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_end_names_what_is_missing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_second_write_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(a_connection_outlives_its_context,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_relative_name_is_of_the_first_folder,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_replaced_authority_is_read_again,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_exposed_key_is_not_read_again, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
