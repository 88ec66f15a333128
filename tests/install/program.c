/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program with all public structs. It prints "right" if each result is
 * right, and no byte after its own structs has changed. grown.t.sh builds it
 * with this release's header, and runs it on a library whose structs are
 * larger. */
#include <holdfast/holdfast.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(is_so)                                                           \
    do {                                                                       \
        if (!(is_so)) {                                                        \
            printf("line %d: %s: %s\n", __LINE__, #is_so, error.text);         \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* Twice the time that a loaded machine may take from the grant to the query:
 * more than half of it must be left. */
#define TTL_MS 20000
/* Each byte behind a struct: a larger struct overwrites it. */
#define NEIGHBOUR 0xa5

/* Each struct that the library writes, and the bytes after it. */
struct options {
    struct hf_client_options is;
    unsigned char behind[512];
};

struct request {
    struct hf_request is;
    unsigned char behind[512];
};

struct errors {
    struct hf_error is;
    unsigned char behind[512];
};

static struct hf_error error;

static bool is_untouched(const unsigned char behind[512])
{
    for (int i = 0; i < 512; i++) {
        if (behind[i] != NEIGHBOUR) {
            return false;
        }
    }
    return true;
}

static int64_t now_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static struct hf_client *open_one(const char *url)
{
    struct options options;
    struct hf_client *client;
    memset(&options, NEIGHBOUR, sizeof(options));
    hf_client_options_init(&options.is);
    options.is.thread = HF_THREAD_NONE;
    CHECK(hf_client_open(url, &options.is, &client, &error) == HF_OK);
    CHECK(options.is.size == sizeof(options.is));
    CHECK(is_untouched(options.behind));
    return client;
}

static struct hf_lock *take(struct hf_client *client, const char *name)
{
    struct request request;
    struct hf_lock *lock;
    memset(&request, NEIGHBOUR, sizeof(request));
    hf_request_init(&request.is, name);
    request.is.ttl_ms = TTL_MS;
    request.is.label = "a label";
    CHECK(hf_lock_acquire(client, &request.is, &lock, &error) == HF_OK);
    CHECK(is_untouched(request.behind));
    CHECK(hf_lock_fence(lock) > 0);
    return lock;
}

/* ---- Structs that the caller fills ------------------------------------- */

/* The elements of an array have the distance of this program's struct. */
static void check_names(struct hf_client *client)
{
    struct hf_name more[4] = {{"second", 6, HF_EXCLUSIVE},
                              {"third", 5, HF_SHARED},
                              {"fourth", 6, HF_EXCLUSIVE},
                              {"beyond", 6, HF_EXCLUSIVE}};
    struct request request;
    struct hf_lock *lock;
    memset(&request, NEIGHBOUR, sizeof(request));
    hf_request_init(&request.is, "first");
    request.is.more = more;
    request.is.n_more = 3;
    CHECK(hf_lock_acquire(client, &request.is, &lock, &error) == HF_OK);
    CHECK(hf_lock_count(lock) == 4);
    CHECK(strcmp(hf_lock_name_at(lock, 2, NULL), "third") == 0);
    CHECK(strcmp(hf_lock_name_at(lock, 3, NULL), "fourth") == 0);
    CHECK(hf_lock_fence_at(lock, 3) > 0);
    CHECK(is_untouched(request.behind));
    CHECK(hf_lock_release(lock) == HF_OK);
}

static void check_error(struct hf_client *client)
{
    struct errors errors;
    struct hf_request request;
    struct hf_lock *lock;
    memset(&errors, NEIGHBOUR, sizeof(errors));
    hf_request_init(&request, "taken");
    CHECK(hf_lock_acquire(client, &request, &lock, &errors.is) == HF_BUSY);
    CHECK(strstr(errors.is.text, "held by ") != NULL);
    CHECK(is_untouched(errors.behind));
}

/* ---- Structs that the library fills ------------------------------------ */

static void check_holder(const struct hf_holder *holder,
                         const struct hf_lock *lock)
{
    char owner[HF_OWNER_TEXT_MAX];
    hf_lock_owner(lock, owner);
    *strchr(owner, '@') = '\0';
    CHECK(hf_holder_kind(holder) == HF_HOLDER_HOLDFAST);
    CHECK(strcmp(hf_holder_owner(holder), owner) == 0);
    CHECK(hf_holder_host(holder)[0] != '\0');
    CHECK(hf_holder_pid(holder) == getpid());
    CHECK(time(NULL) - hf_holder_since_s(holder) < 60);
    CHECK(strcmp(hf_holder_label(holder), "a label") == 0);
    CHECK(hf_holder_remaining_ms(holder) > TTL_MS / 2);
    CHECK(hf_holder_remaining_ms(holder) <= TTL_MS);
    CHECK(hf_holder_sharers(holder) == 0 && hf_holder_permits(holder) == 0);
}

static void check_info(struct hf_client *client, const struct hf_lock *lock)
{
    struct hf_info *info;
    CHECK(hf_client_inspect(client, "taken", 5, &info, &error) == HF_OK);
    CHECK(hf_info_nodes(info) == 1 && !hf_info_is_split(info));
    CHECK(hf_info_node_answered(info, 0) && !hf_info_node_answered(info, 1));
    CHECK(hf_info_waiting(info) == 1 && hf_info_node_waiting(info, 0) == 1);
    check_holder(hf_info_holder(info), lock);
    check_holder(hf_info_node_holder(info, 0), lock);
    CHECK(hf_holder_fence(hf_info_holder(info)) == hf_lock_fence(lock));
    hf_info_free(info);
}

struct seen {
    const struct hf_lock *lock;
    int holders, waiters, names, findings;
};

static bool on_entry(void *user, const struct hf_queue_entry *entry)
{
    struct seen *seen = user;
    CHECK(hf_queue_entry_node(entry) == 0);
    CHECK(hf_queue_entry_permits(entry) == 0);
    if (!hf_queue_entry_is_waiting(entry)) {
        seen->holders++;
        CHECK(hf_queue_entry_mode(entry) == HF_EXCLUSIVE);
        check_holder(hf_queue_entry_holder(entry), seen->lock);
        return true;
    }
    seen->waiters++;
    CHECK(hf_queue_entry_mode(entry) == HF_SHARED);
    CHECK(hf_queue_entry_since_ms(entry) > 0);
    CHECK(hf_holder_pid(hf_queue_entry_holder(entry)) == getpid());
    return true;
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    struct seen *seen = user;
    CHECK(name_len == 5 && memcmp(name, "taken", 5) == 0);
    check_holder(hf_info_holder(info), seen->lock);
    seen->names++;
    return true;
}

static void on_finding(void *user, const struct hf_finding *finding)
{
    struct seen *seen = user;
    CHECK(hf_finding_severity(finding) <= HF_FINDING_ERROR);
    CHECK(hf_finding_node(finding) >= -1 && hf_finding_node(finding) < 1);
    CHECK(strlen(hf_finding_text(finding)) > 3);
    seen->findings++;
}

static void check_reports(struct hf_client *client, const struct hf_lock *lock)
{
    struct seen seen = {lock, 0, 0, 0, 0};
    struct hf_node *node;
    CHECK(hf_client_queue(client, "taken", 5, on_entry, &seen, &error) ==
          HF_OK);
    CHECK(seen.holders == 1 && seen.waiters == 1);
    CHECK(hf_client_list(client, "taken", on_name, &seen, &error) == HF_OK);
    CHECK(seen.names == 1);
    CHECK(hf_client_diagnose(client, on_finding, &seen, &error) == HF_OK);
    CHECK(seen.findings > 0);
    CHECK(hf_client_node(client, 0, &node) == HF_OK);
    CHECK(hf_node_health(node) == HF_NODE_UP);
    CHECK(hf_node_address(node)[0] != '\0');
    CHECK(hf_node_reason(node)[0] == '\0');
    CHECK(hf_node_rtt_us(node) >= 0 && hf_node_rtt_us(node) < 10000000);
    CHECK(hf_node_quarantine_left_ms(node) == 0);
    hf_node_free(node);
}

/* ---- Waiting ----------------------------------------------------------- */

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *why)
{
    error = *why;
    CHECK(status == HF_OK);
    *(struct hf_lock **)user = lock;
}

static void process(struct hf_client *client)
{
    struct pollfd fd = {hf_client_fd(client), POLLIN, 0};
    poll(&fd, 1, 10);
    hf_client_process(client);
}

static struct hf_op *join_queue(struct hf_client *client, const char *name,
                                struct hf_lock **out)
{
    struct hf_request request;
    struct hf_op *op;
    hf_request_init(&request, name);
    request.wait_ms = HF_WAIT_FOREVER;
    request.mode = HF_SHARED;
    CHECK(hf_op_start_acquire(client, &request, on_done, out, &op, &error) ==
          HF_OK);
    return op;
}

static void check_waiting(struct hf_client *client, struct hf_op *op,
                          const struct hf_lock *holder)
{
    struct hf_waiting *waiting;
    int64_t end = now_ms() + 20000;
    size_t len;
    while (!hf_op_waiting(op, &waiting)) {
        CHECK(now_ms() < end);
        process(client);
    }
    CHECK(strcmp(hf_waiting_name(waiting, &len), "taken") == 0 && len == 5);
    CHECK(hf_waiting_ahead(waiting) == 0);
    check_holder(hf_waiting_holder(waiting), holder);
    hf_waiting_free(waiting);
}

static void check_event(struct hf_client *client, struct hf_client *other)
{
    struct hf_lock *lock = take(client, "broken");
    enum hf_state state = HF_STATE_HELD;
    CHECK(hf_client_break(other, "broken", 6, true, NULL, &error) == HF_OK);
    CHECK(hf_lock_extend(lock, 0, &error) == HF_LOST);
    CHECK(hf_client_next_event(client, &state) == lock);
    CHECK(state == HF_STATE_LOST);
    CHECK(hf_client_next_event(client, &state) == NULL);
    CHECK(hf_lock_release(lock) == HF_LOST);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    struct hf_client *client = open_one(argv[1]);
    struct hf_client *other = open_one(argv[1]);
    struct hf_lock *lock = take(client, "taken");
    struct hf_lock *next = NULL;
    check_names(client);
    check_error(other);
    struct hf_op *op = join_queue(other, "taken", &next);
    check_waiting(other, op, lock);
    check_info(client, lock);
    check_reports(client, lock);
    CHECK(hf_lock_release(lock) == HF_OK);
    for (int64_t end = now_ms() + 20000; next == NULL;) {
        CHECK(now_ms() < end);
        process(other);
    }
    CHECK(hf_lock_release(next) == HF_OK);
    check_event(client, other);
    hf_client_close(other);
    hf_client_close(client);
    puts("right");
    return 0;
}
