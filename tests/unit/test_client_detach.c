/* SPDX-License-Identifier: Apache-2.0 */
/* Detaching a lock while the embedded store does not answer, because a process
 * was stopped in the middle of a transaction. */
#include "store/local/gate.h"
#include "store/local/table.h"

#include <holdfast/holdfast.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[200];
static char url[256];

static int set_up(void **state)
{
    const char *tmp = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof(folder), "%s/hf-detach.XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(url, sizeof(url), "local://%s", folder);
    return 0;
}

/* A child that stays inside the gate until it is killed. */
static pid_t occupy(void)
{
    int line[2];
    char byte = 0;
    assert_int_equal(pipe(line), 0);
    pid_t pid = fork();
    if (pid == 0) {
        static struct hf_gate gate;
        static struct hf_folder place;
        struct hf_proc_view view = {.is_ready = false};
        struct hf_error error;
        char text[600];
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(place.path, sizeof(place.path), "%s", folder);
        gate.pid_space = hf_pid_space(&view);
        if (hf_gate_open(&gate, &place, hf_span_ms(1000), 0, hf_table_renew,
                         &error) != HF_OK) {
            _exit(1);
        }
        if (hf_gate_enter(&gate, text, sizeof(text)) != HF_OK ||
            write(line[1], &byte, 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(line[0], &byte, 1), 1);
    close(line[0]);
    close(line[1]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct hf_lock *take(struct hf_client *client, const char *name)
{
    struct hf_request request;
    struct hf_error error;
    struct hf_lock *lock = NULL;
    hf_request_init(&request, name);
    request.ttl_ms = 60000;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error), HF_OK);
    return lock;
}

static enum hf_status try_take(const char *name)
{
    struct hf_client *client;
    struct hf_request request;
    struct hf_lock *lock = NULL;
    assert_int_equal(hf_client_open(url, NULL, &client, NULL), HF_OK);
    hf_request_init(&request, name);
    enum hf_status status = hf_lock_acquire(client, &request, &lock, NULL);
    hf_client_close(client);
    return status;
}

/* In a process that ends without closing its client. */
static void give_and_end(int out)
{
    char text[HF_OWNER_TEXT_MAX];
    struct hf_client *client;
    enum hf_status said[2];
    assert_int_equal(hf_client_open(url, NULL, &client, NULL), HF_OK);
    struct hf_lock *lock = take(client, "handed");
    pid_t inside = occupy();
    said[0] = hf_lock_detach(lock, text);
    end(inside);
    if (said[0] != HF_OK && text[0] == '\0' &&
        hf_lock_state(lock) == HF_STATE_HELD) {
        said[1] = hf_lock_detach(lock, text);
    } else {
        said[1] = HF_INTERNAL;
    }
    _exit(write(out, said, sizeof(said)) == (ssize_t)sizeof(said) ? 0 : 1);
}

static void test_store_cannot_be_told(void **state)
{
    enum hf_status said[2];
    int line[2], status;
    (void)state;
    assert_int_equal(pipe(line), 0);
    pid_t giver = fork();
    if (giver == 0) {
        give_and_end(line[1]);
    }
    assert_int_equal(waitpid(giver, &status, 0), giver);
    assert_int_equal(status, 0);
    assert_int_equal(read(line[0], said, sizeof(said)), sizeof(said));
    assert_int_equal(said[0], HF_UNAVAILABLE);
    assert_int_equal(said[1], HF_OK);
    /* The process that detached it has ended, and the lock is held. */
    assert_int_equal(try_take("handed"), HF_BUSY);
    close(line[0]);
    close(line[1]);
}

/* The caller still has the handle, and still holds the lock. */
static void test_kept_is_released(void **state)
{
    char text[HF_OWNER_TEXT_MAX];
    struct hf_client *client;
    (void)state;
    assert_int_equal(hf_client_open(url, NULL, &client, NULL), HF_OK);
    struct hf_lock *lock = take(client, "kept");
    pid_t inside = occupy();
    assert_int_equal(hf_lock_detach(lock, text), HF_UNAVAILABLE);
    assert_string_equal(text, "");
    assert_int_equal(hf_lock_add_process(lock, getppid()), HF_UNAVAILABLE);
    end(inside);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_int_equal(try_take("kept"), HF_OK);
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_cannot_be_told),
        cmocka_unit_test(test_kept_is_released),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
