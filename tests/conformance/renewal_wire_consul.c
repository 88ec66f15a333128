/* SPDX-License-Identifier: Apache-2.0 */
/* A renewal of a session, as Consul's wire makes it, at a leader that a
 * majority does not confirm (src/store/consul/replies.c):
 *
 *     stop the followers ──▶ a bare renewal: answered, by the leader alone
 *                        ──▶ the wire's: not done
 *     continue them      ──▶ the wire's: done, of the same session
 *
 * A leader that was replaced without knowing it answers like that. Needs the
 * URL of the leader, and the processes of its followers:
 *
 *     HF_TEST_URL=URL HF_TEST_FOLLOWERS='PID PID' renewal_wire_consul */
/* library: store-consul-objects */
#include "store/consul/consul.h"

#include "mark_wire.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

/* The leader takes the answer of a follower to an earlier heartbeat, which may
 * still be under way, for a confirmation. It steps down after seconds. */
#define TRIES 5

/** Has each thread of the process stopped? */
static bool is_stopped(long pid)
{
    char path[300];
    bool stopped = true;
    snprintf(path, sizeof(path), "/proc/%ld/task", pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *task; (task = readdir(folder)) != NULL;) {
        char state = 0;
        snprintf(path, sizeof(path), "/proc/%ld/task/%s/stat", pid,
                 task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (file != NULL) {
            stopped &=
                fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state == 'T';
            (void)fclose(file);
        }
    }
    closedir(folder);
    return stopped;
}

/* A process stops when the thread runs that takes the signal: on a busy machine
 * its other threads go on until then. */
static void await_stop(long pid)
{
    struct timespec pause = {.tv_nsec = 1000000};
    struct hf_instant end =
        hf_instant_add(hf_clock_now(), hf_span_ms(MARK_PATIENCE_MS));
    while (!is_stopped(pid) && !mark_is_over(end)) {
        (void)nanosleep(&pause, NULL); /* sleeps: polls until its end */
    }
    assert_true(is_stopped(pid));
}

static void signal_followers(int signo)
{
    const char *at = getenv("HF_TEST_FOLLOWERS");
    assert_non_null(at);
    for (char *end; *at != '\0'; at = end) {
        long pid = strtol(at, &end, 10);
        assert_true(pid > 1);
        assert_int_equal(kill((pid_t)pid, signo), 0);
        if (signo == SIGSTOP) {
            await_stop(pid);
        }
    }
}

static enum hf_wire_outcome renew(struct mark_wire *wire)
{
    struct hf_ordered *store = wire->store;
    struct mark_call call = {.wire.done = mark_on_done};
    assert_true(store->wire_ops->renew(store->wire, wire->session, &call.wire,
                                       hf_clock_now()));
    mark_run(wire, &call.is_done);
    return call.outcome;
}

/** The same by hand, without the read before it. @return the HTTP status. */
static unsigned renew_bare(const struct mark_wire *wire)
{
    char session[HF_CONSUL_SESSION_LEN + 1];
    char text[200];
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)strtoul(
            strrchr(getenv("HF_TEST_URL"), ':') + 1, NULL, 10))};
    const void *address = &at;
    unsigned status = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    hf_consul_session_show(wire->session, session);
    int n = snprintf(text, sizeof(text),
                     "PUT /v1/session/renew/%s HTTP/1.0\r\n\r\n", session);
    assert_int_equal(connect(fd, address, sizeof(at)), 0);
    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    ssize_t got = recv(fd, text, sizeof(text) - 1, 0);
    close(fd);
    assert_true(got > 0);
    text[got] = '\0';
    assert_int_equal(sscanf(text, "HTTP/%*s %u", &status), 1);
    return status;
}

static void a_leader_alone_renews_nothing(void **state)
{
    struct mark_wire wire;
    struct mark_call opened = {.wire.done = mark_on_done};
    (void)state;
    mark_open(&wire, &hf_store_consul);
    struct hf_ordered *store = wire.store;
    assert_true(store->wire_ops->open(store->wire, MARK_SESSION_S, &opened.wire,
                                      hf_clock_now()));
    mark_run(&wire, &opened.is_done);
    memcpy(wire.session, opened.session, sizeof(wire.session));
    assert_int_equal(renew(&wire), HF_WIRE_DONE);
    signal_followers(SIGSTOP);
    unsigned status = 0;
    enum hf_wire_outcome outcome = HF_WIRE_DONE;
    for (int i = 0; i < TRIES && outcome == HF_WIRE_DONE; i++) {
        status = renew_bare(&wire);
        outcome = renew(&wire);
    }
    signal_followers(SIGCONT);
    assert_int_equal(status, 200); /* or the test would prove nothing */
    assert_int_equal(outcome, HF_WIRE_LOST);
    mark_wait_until_up(&wire);
    assert_int_equal(renew(&wire), HF_WIRE_DONE);
    mark_close(&wire, &hf_store_consul);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader_alone_renews_nothing),
    };
    (void)mark_wire_main;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
