/* SPDX-License-Identifier: Apache-2.0 */
/* The module holdfast-tls.so: OpenSSL, called through io/tls.h.
 *
 * The server's certificate must be signed by a trusted authority and must be
 * valid for the host in the URL; no option disables this. Bytes go through a
 * BIO of our own: OpenSSL's uses write(2), which can raise SIGPIPE in the
 * program. */
#include "io/tls.h"

#include "base/assert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern const struct hf_tls_ops hf_tls_module;

struct context {
    SSL_CTX *ssl;
    BIO_METHOD *stream;
    const char *scheme;
    unsigned users; /* its connections, and its owner */
};

struct connection {
    struct context *context;
    SSL *ssl;
    int fd;
    size_t turn;    /* bytes that may still be read from `fd` */
    bool is_cut;    /* a read was stopped by the end of the turn */
    bool has_none;  /* the server requested a certificate, and we have none */
    bool has_cert;  /* it requested one, and we have one */
    bool has_bytes; /* the server has said anything */
    bool has_heard; /* data has arrived after the handshake */
    int broken;     /* errno of a write that has failed; 0: none has */
};

/* ---- Bytes ------------------------------------------------------------- */

static struct connection *connection_of(BIO *bio)
{
    return BIO_get_data(bio);
}

/* A peer that refuses our certificate sends an alert and closes; then a write
 * may fail while the alert is still unread. So the first failure is "not now":
 * the kernel reports an event, and the read finds the alert, or the end. */
static int stream_write(BIO *bio, const char *data, int len)
{
    struct connection *connection = connection_of(bio);
    ssize_t n;
    HF_ASSERT(len > 0);
    BIO_clear_retry_flags(bio);
    do {
        n = send(connection->fd, data, (size_t)len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n >= 0) {
        return (int)n;
    }
    bool is_first =
        connection->broken == 0 && SSL_is_init_finished(connection->ssl);
    if (errno == EAGAIN || is_first) {
        BIO_set_retry_write(bio);
    }
    if (errno != EAGAIN) {
        connection->broken = errno;
    }
    return -1;
}

/* The turn is counted here, below OpenSSL: one SSL_read() continues as long as
 * records without data arrive, one handshake as long as messages arrive. */
static int stream_read(BIO *bio, char *data, int len)
{
    struct connection *connection = connection_of(bio);
    size_t most =
        (size_t)len < connection->turn ? (size_t)len : connection->turn;
    HF_ASSERT(len > 0); /* else the end of the turn would never be seen */
    ssize_t n;
    BIO_clear_retry_flags(bio);
    if (most == 0) {
        connection->is_cut = true;
        BIO_set_retry_read(bio);
        return -1;
    }
    do {
        n = recv(connection->fd, data, most, 0);
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        HF_ASSERT((size_t)n <= connection->turn);
        connection->turn -= (size_t)n;
        connection->has_bytes = true;
    }
    if (n < 0 && errno == EAGAIN) {
        BIO_set_retry_read(bio);
    }
    if (n == 0) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
    return (int)n;
}

static long stream_control(BIO *bio, int command, long number, void *data)
{
    (void)number;
    (void)data;
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_EOF:
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    default:
        return 0;
    }
}

static int stream_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

/* Without a number of its own: a process has 127 of them, and none is given
 * back, but contexts are made again and again. */
static BIO_METHOD *stream_new(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "holdfast stream");
    if (method != NULL) {
        BIO_meth_set_write(method, stream_write);
        BIO_meth_set_read(method, stream_read);
        BIO_meth_set_ctrl(method, stream_control);
        BIO_meth_set_create(method, stream_create);
    }
    return method;
}

/* ---- Errors ------------------------------------------------------------ */

/* The first error in the queue is the cause. */
static void explain(const char *failure, char *reason, size_t size)
{
    unsigned long code = ERR_get_error();
    const char *text = code == 0 ? NULL : ERR_reason_error_string(code);
    snprintf(reason, size, "TLS: %s%s%s", failure, text == NULL ? "" : ": ",
             text == NULL ? "" : text);
    ERR_clear_error();
}

/* In TLS 1.3 the client's handshake ends before the server checks the client
 * certificate: what it closes before its first data, it may have refused. */
static const char *suspicion(const struct connection *connection)
{
    if (connection->has_heard) {
        return "";
    }
    if (connection->has_none) {
        return "; it asked for a client certificate: name tls_cert and tls_key";
    }
    return connection->has_cert ? "; it asked for a client certificate: does "
                                  "it accept that of tls_cert?"
                                : "";
}

static void explain_end(const struct connection *connection, int error,
                        char *reason, size_t size)
{
    HF_ASSERT(error >= 0); /* an errno, or none */
    if (!connection->has_bytes) {
        snprintf(reason, size,
                 "the server closed the connection at the TLS handshake (a "
                 "plain port? use %s://)",
                 connection->context->scheme);
        return;
    }
    /* The kernel reports a reset once: to the write, if that was first. */
    error = error != 0 ? error : connection->broken;
    snprintf(reason, size, "the server closed the connection%s%s%s",
             error != 0 ? ": " : "", error != 0 ? strerror(error) : "",
             suspicion(connection));
}

/* The server's alert about our certificate, which may come after the handshake.
 */
static bool is_refused(const struct connection *connection)
{
    int reason = ERR_GET_REASON(ERR_peek_error());
    return connection->has_cert && !connection->has_heard &&
           (reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
            reason == SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE ||
            reason == SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED ||
            reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED ||
            reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN ||
            reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA);
}

/* The result of an SSL call that has not succeeded: 0: not yet, -1: failed. */
static int judge(const struct connection *connection, int result,
                 const char *failure, char *reason, size_t size)
{
    int error = errno;
    HF_ASSERT(result <= 0);
    switch (SSL_get_error(connection->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        explain_end(connection, 0, reason, size);
        break;
    case SSL_ERROR_SYSCALL:
        explain_end(connection, error, reason, size);
        break;
    default:
        if (connection->has_none && !connection->has_heard) {
            failure =
                "the server wants a client certificate: name tls_cert and "
                "tls_key";
        } else if (is_refused(connection)) {
            failure = "the server refuses the certificate of tls_cert";
        }
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_WRONG_VERSION_NUMBER) {
            snprintf(reason, size,
                     "answers without TLS (a plain port? use %s://)",
                     connection->context->scheme);
            break;
        }
        explain(failure, reason, size);
        break;
    }
    ERR_clear_error();
    return -1;
}

/* ---- Context ----------------------------------------------------------- */

/* Of each user: the last one frees it. */
static void tls_context_free(void *data)
{
    struct context *context = data;
    HF_ASSERT(context->users > 0);
    context->users--;
    if (context->users > 0) {
        return;
    }
    SSL_CTX_free(context->ssl);
    BIO_meth_free(context->stream);
    free(context);
}

/* The server requests a certificate, which may be optional. 1: continue with
 * the certificate that is set, or without one. */
static int on_request(SSL *ssl, void *user)
{
    struct connection *connection = SSL_get_app_data(ssl);
    (void)user;
    connection->has_cert = SSL_get_certificate(ssl) != NULL;
    connection->has_none = !connection->has_cert;
    HF_ASSERT(connection->ssl == ssl);
    return 1;
}

static bool trust(SSL_CTX *ssl, const char *ca, char *reason, size_t size)
{
    if (ca == NULL) {
        if (SSL_CTX_set_default_verify_paths(ssl) == 1) {
            return true;
        }
        explain("the system's authorities cannot be read", reason, size);
        return false;
    }
    if (SSL_CTX_load_verify_locations(ssl, ca, NULL) == 1) {
        return true;
    }
    char failure[HF_TEXT_ADVICE];
    snprintf(failure, sizeof(failure), "tls_ca %s cannot be read", ca);
    explain(failure, reason, size);
    return false;
}

static bool identify(SSL_CTX *ssl, const char *cert, const char *key,
                     char *reason, size_t size)
{
    char failure[HF_TEXT_ADVICE];
    HF_ASSERT(cert != NULL || key == NULL); /* the key is of the cert */
    if (cert == NULL) {
        return true;
    }
    if (SSL_CTX_use_certificate_chain_file(ssl, cert) != 1) {
        snprintf(failure, sizeof(failure), "tls_cert %s cannot be read", cert);
        explain(failure, reason, size);
        return false;
    }
    const char *file = key != NULL ? key : cert;
    if (SSL_CTX_use_PrivateKey_file(ssl, file, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ssl) != 1) {
        snprintf(failure, sizeof(failure), "tls_key %s cannot be used", file);
        explain(failure, reason, size);
        return false;
    }
    return true;
}

static void *tls_context_new(const struct hf_tls_settings *settings,
                             char *reason, size_t size)
{
    struct context *context = calloc(1, sizeof(*context));
    if (context == NULL) {
        snprintf(reason, size, "out of memory");
        return NULL;
    }
    /* Whether OpenSSL cleans up at exit is for the program to decide. */
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
    context->scheme = settings->scheme;
    context->users = 1;
    context->ssl = SSL_CTX_new(TLS_client_method());
    context->stream = stream_new();
    if (context->ssl == NULL || context->stream == NULL) {
        explain("cannot be set up", reason, size);
        tls_context_free(context);
        return NULL;
    }
    SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION);
    /* Replies contain their length, so a truncated stream is detected anyway.
     */
    SSL_CTX_set_options(context->ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_options(context->ssl, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_cb(context->ssl, on_request, NULL);
    /* A write may be retried from another buffer: the wire's can move. */
    SSL_CTX_set_mode(context->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!trust(context->ssl, settings->ca, reason, size) ||
        !identify(context->ssl, settings->cert, settings->key, reason, size)) {
        tls_context_free(context);
        return NULL;
    }
    return context;
}

/* ---- Connections -------------------------------------------------------- */

/* An address must be among the certificate's addresses, a name among its names.
 * SNI is sent for a name only (RFC 6066, 3). */
static bool expect(SSL *ssl, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, host, address) == 1 ||
        inet_pton(AF_INET6, host, address) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    /* The macro SSL_set_tlsext_host_name() casts const away. */
    return SSL_set1_host(ssl, host) == 1 &&
           SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
                    TLSEXT_NAMETYPE_host_name, (void *)(uintptr_t)host) == 1;
}

static struct connection *connection_new(struct context *context, int fd)
{
    HF_ASSERT(fd >= 0 && context->users > 0);
    struct connection *connection = calloc(1, sizeof(*connection));
    if (connection == NULL) {
        return NULL;
    }
    connection->fd = fd;
    connection->ssl = SSL_new(context->ssl);
    BIO *bio = connection->ssl == NULL ? NULL : BIO_new(context->stream);
    if (bio == NULL) {
        SSL_free(connection->ssl);
        free(connection);
        return NULL;
    }
    connection->context = context;
    context->users++;
    BIO_set_data(bio, connection);
    SSL_set_bio(connection->ssl, bio, bio);
    SSL_set_app_data(connection->ssl, connection);
    SSL_set_connect_state(connection->ssl);
    return connection;
}

static void connection_free(struct connection *connection)
{
    SSL_free(connection->ssl);
    tls_context_free(connection->context);
    free(connection);
}

static void *tls_open(void *data, int fd, const char *host, char *reason,
                      size_t size)
{
    struct connection *connection = connection_new(data, fd);
    if (connection != NULL && expect(connection->ssl, host)) {
        return connection;
    }
    explain("cannot be set up", reason, size);
    if (connection != NULL) {
        connection_free(connection);
    }
    return NULL;
}

static const char *remedy(long check)
{
    switch (check) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        return ": name its authority with tls_ca";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return ": write a host that the certificate names";
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return ": renew it at the server";
    default:
        return "";
    }
}

static int tls_handshake(void *data, char *reason, size_t size)
{
    const struct connection *connection = data;
    errno = 0;
    ERR_clear_error();
    int result = SSL_do_handshake(connection->ssl);
    if (result == 1) {
        /* No setting turns the check of the certificate off. */
        HF_ASSERT(SSL_get_verify_result(connection->ssl) == X509_V_OK);
        return 1;
    }
    long check = SSL_get_verify_result(connection->ssl);
    int over = judge(connection, result, "the handshake failed", reason, size);
    if (over < 0 && check != X509_V_OK) {
        snprintf(reason, size, "TLS: the server's certificate is refused: %s%s",
                 X509_verify_cert_error_string(check), remedy(check));
    }
    return over;
}

/* Bytes of one call: OpenSSL takes an int, and a record has 16 KiB. */
#define CALL_BYTES_MAX 65536

static int clamp(size_t len)
{
    HF_ASSERT(len > 0); /* OpenSSL reports an empty call as a failure */
    return len > CALL_BYTES_MAX ? CALL_BYTES_MAX : (int)len;
}

static ssize_t tls_read(void *data, void *to, size_t len, char *reason,
                        size_t size)
{
    errno = 0;
    ERR_clear_error();
    struct connection *connection = data;
    int n = SSL_read(connection->ssl, to, clamp(len));
    connection->has_heard |= n > 0;
    return n > 0 ? n : judge(connection, n, "cannot be read", reason, size);
}

static void tls_turn(void *data, size_t bytes)
{
    struct connection *connection = data;
    HF_ASSERT(bytes > 0);
    connection->turn = bytes;
    connection->is_cut = false;
}

static bool tls_is_cut(const void *data)
{
    const struct connection *connection = data;
    return connection->is_cut;
}

static ssize_t tls_write(void *data, const void *from, size_t len, char *reason,
                         size_t size)
{
    errno = 0;
    ERR_clear_error();
    const struct connection *connection = data;
    int n = SSL_write(connection->ssl, from, clamp(len));
    return n > 0 ? n : judge(connection, n, "cannot be written", reason, size);
}

static void tls_close(void *data, bool quiet)
{
    struct connection *connection = data;
    if (!quiet && SSL_is_init_finished(connection->ssl)) {
        SSL_shutdown(connection->ssl);
    }
    connection_free(connection);
    ERR_clear_error();
}

/* As SSL_CTX_set_default_verify_paths() has them. */
static void tls_authorities(const char **file, const char **folder)
{
    *file = secure_getenv(X509_get_default_cert_file_env());
    *file = *file != NULL ? *file : X509_get_default_cert_file();
    *file = access(*file, R_OK) == 0 ? *file : NULL;
    *folder = secure_getenv(X509_get_default_cert_dir_env());
    *folder = *folder != NULL ? *folder : X509_get_default_cert_dir();
}

__attribute__((visibility("default"))) const struct hf_tls_ops hf_tls_module = {
    .abi = HF_TLS_ABI,
    .context_new = tls_context_new,
    .context_free = tls_context_free,
    .open = tls_open,
    .handshake = tls_handshake,
    .read = tls_read,
    .turn = tls_turn,
    .is_cut = tls_is_cut,
    .write = tls_write,
    .close = tls_close,
    .clear = ERR_clear_error,
    .authorities = tls_authorities,
};
