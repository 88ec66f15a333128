/* SPDX-License-Identifier: Apache-2.0 */
/* WAKE-UPS: datagrams on abstract sockets. A process has one socket. A datagram
 * to a name that is not bound is refused at once; a socket that is not read
 * keeps about ten. Unlike those of a kernel, datagrams may also come late or
 * not at all: the store must tolerate both, since a sender may be killed before
 * it sends. */
#include "local/machine.h"
#include "local/machine_parts.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

int __real_open(const char *path, int flags, ...);
int __real_close(int fd);

static int fail(int number)
{
    errno = number;
    return -1;
}

/* The name is an abstract one: it begins with a NUL, and ends by its length. */
static void read_id(const struct sockaddr *name, socklen_t len, char *out,
                    size_t size)
{
    const struct sockaddr_un *un =
        (const struct sockaddr_un *)(const void *)name;
    int n = (int)(len - offsetof(struct sockaddr_un, sun_path)) - 1 - 9;
    HF_ASSERT(n > 0 && memcmp(un->sun_path + 1, "holdfast-", 9) == 0);
    snprintf(out, size, "%.*s", n, un->sun_path + 1 + 9);
}

static struct sim_task *find(struct sim_machine *machine, const char *id)
{
    for (unsigned i = 0; i < machine->world->story->n_processes; i++) {
        struct sim_task *task = &machine->tasks[i];
        if (task->box.fd >= 0 && !task->is_disowned &&
            strcmp(task->box.id, id) == 0) {
            return task;
        }
    }
    return NULL;
}

/* ---- Open, bind, close ------------------------------------------------- */

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
    struct sim_task *task = sim_task_running();
    if (task == NULL) {
        return __real_socket(domain, type, protocol);
    }
    HF_ASSERT(task->box.fd < 0);
    if (!sim_task_call(task)) {
        return fail(EMFILE);
    }
    task->box =
        (struct sim_box){.fd = __real_open("/dev/null", O_RDONLY | O_CLOEXEC)};
    return task->box.fd;
}

int __real_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t len)
{
    return sim_task_running() != NULL
               ? 0
               : __real_setsockopt(fd, level, name, value, len);
}

int __real_bind(int fd, const struct sockaddr *name, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *name, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *name, socklen_t len)
{
    struct sim_task *task = sim_task_running();
    if (task == NULL) {
        return __real_bind(fd, name, len);
    }
    if (!sim_task_call(task)) {
        return fail(EIO);
    }
    HF_ASSERT(fd == task->box.fd);
    read_id(name, len, task->box.id, sizeof(task->box.id));
    return 0;
}

bool sim_box_close(struct sim_task *task, int fd)
{
    struct sim_box *box = &task->box;
    if (fd < 0 || fd != box->fd) {
        return false;
    }
    __real_close(fd);
    for (unsigned i = 0; i < box->n_inbox; i++) {
        free(box->inbox[i]);
    }
    *box = (struct sim_box){.fd = -1};
    return true;
}

/* ---- Sending ----------------------------------------------------------- */

/* A datagram in flight to a name. */
struct letter {
    struct sim_machine *machine;
    char id[24];
    struct sim_datagram datagram;
};

static void on_letter(struct sim_world *world, void *object, uint64_t arg)
{
    struct letter *letter = object;
    struct sim_task *task = find(letter->machine, letter->id);
    (void)arg;
    if (task != NULL && task->box.n_inbox < SIM_INBOX_MAX) {
        struct sim_datagram *copy = malloc(sizeof(*copy));
        HF_ASSERT(copy != NULL);
        *copy = letter->datagram;
        task->box.inbox[task->box.n_inbox++] = copy;
        task->box.has_news = true;
        sim_process_wake(task->process);
    }
    sim_world_forget(world, letter);
}

/* The delay of a datagram to `task`, from the story; negative: it is lost. */
static int64_t delay_to(struct sim_task *task)
{
    const struct sim_world *world = task->machine->world;
    const struct sim_story *story = world->story;
    const struct sim_passage *passage =
        &world->passages[task->process->index][0];
    int64_t delay_ns = sim_draw_below(&task->random, 1 + story->delay_ns);
    bool is_late =
        sim_draw_below(&task->random, 1000000) < (int64_t)story->late_ppm;
    if (world->now_ns < passage->down_ns) {
        return -1;
    }
    if (world->now_ns < passage->slow_until_ns) {
        delay_ns += passage->slow_ns;
    }
    if (is_late && !world->is_calm) {
        delay_ns += sim_draw_below(&task->random, 1 + story->late_ns);
    }
    return delay_ns;
}

static void post(struct sim_task *to, const void *data, size_t len)
{
    struct sim_world *world = to->machine->world;
    int64_t delay_ns = delay_to(to);
    if (delay_ns < 0) {
        return;
    }
    struct letter *letter = sim_world_keep(world, sizeof(*letter));
    letter->machine = to->machine;
    letter->datagram.len = len;
    memcpy(letter->id, to->box.id, sizeof(letter->id));
    memcpy(letter->datagram.data, data, len);
    sim_world_at(world, world->now_ns + delay_ns, on_letter, letter, 0);
}

ssize_t __real_sendto(int fd, const void *data, size_t len, int flags,
                      const struct sockaddr *name, socklen_t name_len);
ssize_t __wrap_sendto(int fd, const void *data, size_t len, int flags,
                      const struct sockaddr *name, socklen_t name_len);
ssize_t __wrap_sendto(int fd, const void *data, size_t len, int flags,
                      const struct sockaddr *name, socklen_t name_len)
{
    char id[24];
    struct sim_task *task = sim_task_running();
    if (task == NULL) {
        return __real_sendto(fd, data, len, flags, name, name_len);
    }
    if (!sim_task_call(task)) {
        return fail(EIO);
    }
    read_id(name, name_len, id, sizeof(id));
    struct sim_task *to = find(task->machine, id);
    if (to == NULL) {
        return fail(ECONNREFUSED);
    }
    HF_ASSERT(len <= sizeof(to->box.inbox[0]->data));
    if (to->box.n_inbox >= SIM_INBOX_MAX) {
        return fail(EAGAIN);
    }
    post(to, data, len);
    return (ssize_t)len;
}

/* ---- Reading ----------------------------------------------------------- */

ssize_t __real_recv(int fd, void *data, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t size, int flags)
{
    struct sim_task *task = sim_task_running();
    if (task == NULL) {
        return __real_recv(fd, data, size, flags);
    }
    struct sim_box *box = &task->box;
    if (!sim_task_call(task) || box->n_inbox == 0) {
        return fail(EAGAIN);
    }
    struct sim_datagram *first = box->inbox[0];
    size_t len = first->len;
    memcpy(data, first->data, len < size ? len : size);
    free(first);
    box->n_inbox--;
    for (unsigned i = 0; i < box->n_inbox; i++) {
        box->inbox[i] = box->inbox[i + 1];
    }
    return (ssize_t)len;
}

/* ---- The loop ---------------------------------------------------------- */

void sim_machine_watch(struct sim_process *process, struct hf_watch *watch)
{
    struct sim_task *task = sim_task_of(process);
    if (task != NULL && watch->fd >= 0 && watch->fd == task->box.fd) {
        task->box.watch = watch;
    }
}

void sim_machine_unwatch(struct sim_process *process, struct hf_watch *watch)
{
    struct sim_task *task = sim_task_of(process);
    if (task != NULL && task->box.watch == watch) {
        task->box.watch = NULL;
    }
}

bool sim_machine_has_news(const struct sim_process *process)
{
    const struct sim_task *task = sim_task_of(process);
    return task != NULL && task->box.watch != NULL && task->box.has_news;
}

void sim_machine_dispatch(struct sim_process *process, struct hf_instant now)
{
    struct sim_task *task = sim_task_of(process);
    if (sim_machine_has_news(process)) {
        task->box.has_news = false;
        task->box.watch->ready(task->box.watch, EPOLLIN, now);
    }
}
