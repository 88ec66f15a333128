/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams that hand over a lock in the embedded store. Any process may send
 * to the abstract socket. Only a message that begins with the socket's secret
 * and has the length of its grants is read, and its grants arrive unchanged.
 *
 * Input: for each message a byte for its form, a byte for its length, and its
 * content. The kernel and its socket filter are real. */
#include "fuzz.h"

#include "io/loop.h"
#include "store/local/wake.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGES_MAX 8 /* fewer than the receive queue of a socket holds */
#define SECRET_BYTES sizeof(uint64_t)

static struct hf_wake wake;
static struct hf_loop *loop; /* still reachable at exit, so no leak */
static int sender = -1;
static struct sockaddr_un name;
static socklen_t name_len;

static void ready(struct hf_watch *watch, uint32_t events,
                  struct hf_instant now)
{
    (void)watch;
    (void)events;
    (void)now;
}

static void open_once(void)
{
    if (sender >= 0) {
        return;
    }
    loop = hf_loop_new();
    FUZZ_CHECK(loop != NULL);
    hf_wake_init(&wake, ready);
    FUZZ_CHECK(hf_wake_listen(&wake, loop));
    sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    FUZZ_CHECK(sender >= 0);
    name.sun_family = AF_UNIX;
    int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
                       "holdfast-%016" PRIx64, wake.address.id);
    name_len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* @return the length sent. */
static size_t send_one(struct fuzz_input *in, unsigned char *out, size_t size)
{
    uint8_t form = fuzz_u8(in);
    size_t len = (size_t)fuzz_u8(in) * (form % 2 == 0 ? 1 : 16);
    size_t at = 0;
    if (form % 8 != 0) { /* with the secret, or with the secret but for one
                            bit */
        uint64_t secret = wake.address.secret;
        secret ^= form % 8 == 1 ? UINT64_C(1) << (form / 8) : 0;
        memcpy(out, &secret, SECRET_BYTES);
        at = SECRET_BYTES;
    }
    len = len < size - at ? len : size - at;
    const uint8_t *bytes = fuzz_bytes(in, &len);
    memcpy(out + at, bytes, len);
    ssize_t sent = sendto(sender, out, at + len, MSG_NOSIGNAL,
                          (const struct sockaddr *)&name, name_len);
    return sent < 0 ? 0 : (size_t)sent;
}

/* Number of grants in a message; 0: the message must be ignored. */
static size_t notes_of(const unsigned char *message, size_t len)
{
    size_t body = len < SECRET_BYTES ? 0 : len - SECRET_BYTES;
    size_t n = body / sizeof(struct hf_wake_note);
    bool is_whole = body == n * sizeof(struct hf_wake_note);
    bool is_known = len >= SECRET_BYTES &&
                    memcmp(message, &wake.address.secret, SECRET_BYTES) == 0;
    return is_whole && is_known && n <= HF_WAKE_NOTES_MAX ? n : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char message[SECRET_BYTES + 4200];
    struct hf_wake_note notes[HF_WAKE_NOTES_MAX];
    struct fuzz_input in = {data, size};
    open_once();
    for (unsigned i = 0; in.left > 0 && i < MESSAGES_MAX; i++) {
        size_t len = send_one(&in, message, sizeof(message));
        size_t due = notes_of(message, len);
        int n = hf_wake_read(&wake, notes);
        FUZZ_CHECK(n == (int)due || (due == 0 && n == -1));
        FUZZ_CHECK(n <= 0 || memcmp(notes, message + SECRET_BYTES,
                                    due * sizeof(notes[0])) == 0);
        FUZZ_CHECK(hf_wake_read(&wake, notes) == -1);
    }
    return 0;
}
