/* SPDX-License-Identifier: Apache-2.0 */
/* A process that opens the embedded store, and then gives up its rights, its
 * root folder or its mount namespace, keeps its locks: its paths lead nowhere,
 * or to another store. */
/* link: -Wl,--wrap=clock_gettime,--wrap=syncfs */
#include "local_fixture.h"

#include "store/local/gate.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:host:2:2"
#define C "cccccccccccccccccccccccccccccccc:host:3:3"
#define TTL_MS 60000   /* longer than a test: no lease ends by itself */
#define ANY_USER 65534 /* a user without rights to the folder, by custom */

/* In the child process of a case: end it at the first failure. */
#define NEED(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "# line %d: %s; %s\n", __LINE__, #condition,       \
                    d->reason);                                                \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

/* The child cannot do what the case is about. */
#define ABLE(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            _exit(77);                                                         \
        }                                                                      \
    } while (0)

struct place {
    char folder[64];
    char root[64]; /* an empty folder */
};

/* Only its owner may look into the folder. */
static struct place place_of(void **state)
{
    struct fixture *f = *state;
    struct place place;
    memcpy(place.folder, f->folder, sizeof(place.folder));
    assert_int_equal(chmod(f->folder, 0700), 0);
    folder_make(place.root);
    return place;
}

typedef void act_fn(struct driver *d, const struct place *place);

static void run_as_child(void **state, act_fn *act)
{
    struct place place = place_of(state);
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        static struct driver d;
        driver_start(&d, place.folder);
        act(&d, &place);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(rmdir(place.root), 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(status, 0);
}

/* A case that needs no look from outside. */
#define IN_CHILD(test)                                                         \
    static void test(void **state)                                             \
    {                                                                          \
        run_as_child(state, act_##test);                                       \
    }

static bool is_granted(struct driver *d, const char *name)
{
    return acquire(d, name, A, TTL_MS, 0)->verdict == HF_VERDICT_OK;
}

static void drop_rights(struct driver *d)
{
    ABLE(setgroups(0, NULL) == 0 && setgid(ANY_USER) == 0 &&
         setuid(ANY_USER) == 0);
    NEED(access("/", W_OK) != 0);
}

static void enter(const char *root)
{
    ABLE(chroot(root) == 0 && chdir("/") == 0);
}

/* The lock "first" is renewed and released, and another one granted. */
static void use_it(struct driver *d, uint64_t first)
{
    NEED(is_granted(d, "second"));
    NEED(confirm(d, "first", A, first, TTL_MS, true)->verdict == HF_VERDICT_OK);
    jump_ms(20); /* both files are looked at again */
    NEED(confirm(d, "first", A, first, TTL_MS, true)->verdict == HF_VERDICT_OK);
    NEED(release(d, "first", A, first, 0)->verdict == HF_VERDICT_OK);
}

static uint64_t hold_first(struct driver *d)
{
    NEED(is_granted(d, "first"));
    return d->answer.counter;
}

/* ---- Locks ------------------------------------------------------------- */

static void act_other_user(struct driver *d, const struct place *place)
{
    (void)place;
    uint64_t first = hold_first(d);
    drop_rights(d);
    use_it(d, first);
}

static void other_user(void **state)
{
    run_as_child(state, act_other_user);
    refused(acquire(driver_of(state), "second", B, TTL_MS, 0), A);
    granted(acquire(driver_of(state), "first", B, TTL_MS, 0));
}

static void act_other_user_for_a_while(struct driver *d,
                                       const struct place *place)
{
    (void)place;
    uint64_t first = hold_first(d);
    ABLE(seteuid(ANY_USER) == 0);
    NEED(is_granted(d, "third"));
    NEED(seteuid(0) == 0);
    use_it(d, first);
}

IN_CHILD(other_user_for_a_while)

static void act_other_root(struct driver *d, const struct place *place)
{
    uint64_t first = hold_first(d);
    enter(place->root);
    drop_rights(d);
    use_it(d, first);
}

static void other_root(void **state)
{
    run_as_child(state, act_other_root);
    refused(acquire(driver_of(state), "second", B, TTL_MS, 0), A);
    granted(acquire(driver_of(state), "first", B, TTL_MS, 0));
}

/* Mounts of its own, in which the path leads to another store. */
static void cover(const struct place *place, struct driver *other)
{
    ABLE(unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("none", place->folder, "tmpfs", 0, "mode=700") == 0);
    driver_start(other, place->folder);
}

static void act_other_mounts(struct driver *d, const struct place *place)
{
    static struct driver other;
    uint64_t first = hold_first(d);
    cover(place, &other);
    NEED(is_granted(&other, "first"));
    use_it(d, first);
}

static void other_mounts(void **state)
{
    run_as_child(state, act_other_mounts);
    refused(acquire(driver_of(state), "second", B, TTL_MS, 0), A);
}

/* ---- The files are removed all the same -------------------------------- */

static int enter_folder(const struct place *place)
{
    int fd = open(place->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ABLE(fd >= 0);
    return fd;
}

static void need_cut_off(struct driver *d)
{
    NEED(!is_granted(d, "fourth"));
    NEED(d->answer.fault == HF_CONFIG &&
         strstr(d->reason, "removed, replaced or cut") != NULL);
}

static void act_removed_below_root(struct driver *d, const struct place *place)
{
    int folder = enter_folder(place);
    hold_first(d);
    enter(place->root);
    NEED(is_granted(d, "third"));
    NEED(unlinkat(folder, "locks.mdb", 0) == 0);
    need_cut_off(d);
}

IN_CHILD(removed_below_root)

static void act_removed_by_root(struct driver *d, const struct place *place)
{
    int folder = enter_folder(place);
    hold_first(d);
    ABLE(seteuid(ANY_USER) == 0);
    NEED(is_granted(d, "third"));
    NEED(seteuid(0) == 0 && unlinkat(folder, "locks.mdb", 0) == 0 &&
         seteuid(ANY_USER) == 0);
    need_cut_off(d);
}

IN_CHILD(removed_by_root)

static void act_cut_below_root(struct driver *d, const struct place *place)
{
    int folder = enter_folder(place);
    int fd = openat(folder, "locks.mdb", O_WRONLY | O_CLOEXEC);
    hold_first(d);
    enter(place->root);
    NEED(is_granted(d, "third"));
    NEED(fd >= 0 && ftruncate(fd, 4096) == 0);
    need_cut_off(d);
}

IN_CHILD(cut_below_root)

/* ---- The files are moved away ------------------------------------------ */

static const char *const lock_files[] = {"locks.mdb", "locks.gate"};

static void move_files(struct driver *d, int from, int to)
{
    for (unsigned i = 0; i < 2; i++) {
        NEED(renameat(from, lock_files[i], to, lock_files[i]) == 0);
    }
}

static void remove_files(struct driver *d, int folder)
{
    for (unsigned i = 0; i < 2; i++) {
        NEED(unlinkat(folder, lock_files[i], 0) == 0);
    }
}

static int open_folder(struct driver *d, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    NEED(fd >= 0);
    return fd;
}

/* Another client makes new files; a lock must not have two holders. */
static void need_one_holder(struct driver *d, const struct place *place)
{
    static struct driver other;
    driver_start(&other, place->folder);
    NEED(acquire(&other, "fourth", B, TTL_MS, 0)->verdict == HF_VERDICT_OK);
    NEED(seteuid(ANY_USER) == 0);
    need_cut_off(d);
    NEED(seteuid(0) == 0);
}

static void act_files_moved_by_root(struct driver *d, const struct place *place)
{
    int folder = enter_folder(place), away = open_folder(d, place->root);
    hold_first(d);
    ABLE(seteuid(ANY_USER) == 0);
    NEED(is_granted(d, "third"));
    NEED(seteuid(0) == 0);
    move_files(d, folder, away);
    need_one_holder(d, place);
    remove_files(d, away);
}

/* Files that are moved are noticed after seteuid(). */
IN_CHILD(files_moved_by_root)

static void act_folder_moved_by_root(struct driver *d,
                                     const struct place *place)
{
    char away[100];
    snprintf(away, sizeof(away), "%s/away", place->root);
    hold_first(d);
    ABLE(seteuid(ANY_USER) == 0);
    NEED(is_granted(d, "third"));
    NEED(seteuid(0) == 0 && rename(place->folder, away) == 0 &&
         mkdir(place->folder, 0700) == 0);
    need_one_holder(d, place);
    remove_files(d, open_folder(d, away));
    NEED(rmdir(away) == 0);
}

IN_CHILD(folder_moved_by_root)

/* The store of a user who is not root. */
static void open_of_user(struct driver *d, const char *path)
{
    ABLE(mkdir(path, 0700) == 0 && chown(path, ANY_USER, ANY_USER) == 0 &&
         seteuid(ANY_USER) == 0);
    driver_start(d, path);
}

/* The process does not change, but the mode of a folder above does. */
static void act_moved_behind_a_bar(struct driver *d, const struct place *place)
{
    char path[100], away[100];
    struct stat about;
    snprintf(path, sizeof(path), "%s/store", place->root);
    snprintf(away, sizeof(away), "%s/away", place->root);
    driver_close(d);
    open_of_user(d, path);
    uint64_t first = hold_first(d);
    NEED(seteuid(0) == 0 && chmod(place->root, 0700) == 0 &&
         seteuid(ANY_USER) == 0);
    NEED(stat(path, &about) != 0);
    use_it(d, first);
    NEED(seteuid(0) == 0 && rename(path, away) == 0 && seteuid(ANY_USER) == 0);
    need_cut_off(d);
    NEED(seteuid(0) == 0);
    remove_files(d, open_folder(d, away));
    NEED(rmdir(away) == 0);
}

/* Files that are moved are noticed while a parent bars the way. */
IN_CHILD(moved_behind_a_bar)

/* The path of the store is not the one that the kernel names. */
static void act_other_user_by_link(struct driver *d, const struct place *place)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/link", place->root);
    driver_close(d);
    NEED(symlink(place->folder, path) == 0);
    driver_start(d, path);
    uint64_t first = hold_first(d);
    ABLE(seteuid(ANY_USER) == 0);
    use_it(d, first);
    NEED(seteuid(0) == 0 && unlink(path) == 0);
}

IN_CHILD(other_user_by_link)

/* ---- Values ------------------------------------------------------------ */

static bool is_put(struct driver *d, char fill)
{
    char id[] = "00000000000000000000000000000000"; /* of this write */
    id[0] = fill;
    struct hf_ask ask = {
        .cookie = 7,
        .verb = HF_VERB_PUT,
        .name = "v",
        .name_len = 1,
        .owner = id,
        .owner_len = sizeof(id) - 1,
        .counter = HF_VERSION_ANY,
        .value = {&fill, 1},
    };
    return driver_ask(d, &ask)->verdict == HF_VERDICT_OK;
}

static bool is_value(struct driver *d, char fill)
{
    struct hf_ask ask = {
        .cookie = 7, .verb = HF_VERB_GET, .name = "v", .name_len = 1};
    return driver_ask(d, &ask)->verdict == HF_VERDICT_OK && d->value_len == 1 &&
           d->value_first == fill;
}

static void act_values_below_root(struct driver *d, const struct place *place)
{
    NEED(is_put(d, 'x'));
    enter(place->root);
    drop_rights(d);
    NEED(is_value(d, 'x') && is_put(d, 'y') && is_value(d, 'y'));
}

static void values_below_root(void **state)
{
    run_as_child(state, act_values_below_root);
    assert_true(is_value(driver_of(state), 'y'));
}

/* The first use comes too late, and must not write into the other store. */
static void act_values_of_another(struct driver *d, const struct place *place)
{
    static struct driver other;
    cover(place, &other);
    NEED(is_put(&other, 'o'));
    NEED(!is_put(d, 'x'));
    NEED(strstr(d->reason, "another root folder or mount namespace") != NULL);
    NEED(is_value(&other, 'o'));
    NEED(is_granted(d, "second"));
}

IN_CHILD(values_of_another)

/* Also the second failure does not blame a first use that comes too late. */
static void act_values_removed_below_root(struct driver *d,
                                          const struct place *place)
{
    int folder = enter_folder(place);
    NEED(is_put(d, 'x'));
    enter(place->root);
    NEED(unlinkat(folder, "values.mdb", 0) == 0);
    for (int i = 0; i < 2; i++) {
        NEED(!is_value(d, 'x'));
        NEED(d->answer.fault == HF_CONFIG &&
             strstr(d->reason, "removed, replaced") != NULL &&
             strstr(d->reason, "before the change") == NULL);
    }
}

IN_CHILD(values_removed_below_root)

static unsigned n_syncs;

int __real_syncfs(int fd);
int __wrap_syncfs(int fd);
int __wrap_syncfs(int fd)
{
    n_syncs++;
    return __real_syncfs(fd);
}

/* As after a process that was killed while it wrote a value. */
static struct hf_gate_values *mark_unsynced(struct driver *d,
                                            const struct place *place)
{
    int fd = openat(enter_folder(place), "locks.gate", O_RDWR | O_CLOEXEC);
    NEED(fd >= 0);
    struct hf_gate_page *page =
        mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    NEED(page != MAP_FAILED);
    page->values.is_unsynced = 1;
    return &page->values;
}

/* The user cannot open the folder, to sync its entries. */
static void act_values_of_the_killed(struct driver *d,
                                     const struct place *place)
{
    NEED(is_put(d, 'x'));
    struct hf_gate_values *page = mark_unsynced(d, place);
    ABLE(seteuid(ANY_USER) == 0);
    n_syncs = 0;
    NEED(is_value(d, 'x'));
    NEED(page->is_unsynced == 0);
    NEED(n_syncs == 1);
}

IN_CHILD(values_of_the_killed)

/* ---- Waiters ----------------------------------------------------------- */

/* So that the other one has made its socket. */
static void hold_second(struct driver *d, struct driver *other)
{
    NEED(is_granted(d, "second"));
    NEED(queue(other, "second", B, TTL_MS)->verdict == HF_VERDICT_QUEUED);
}

/* Its first wait is after the change: the grant is pushed to it. */
static void act_waits_below_root(struct driver *d, const struct place *place)
{
    static struct driver other;
    driver_start(&other, place->folder);
    uint64_t held = acquire(&other, "first", B, TTL_MS, 0)->counter;
    hold_second(d, &other);
    enter(place->root);
    drop_rights(d);
    NEED(queue(d, "first", A, TTL_MS)->verdict == HF_VERDICT_QUEUED);
    NEED(release(&other, "first", B, held, 0)->verdict == HF_VERDICT_OK);
    NEED(driver_hear(d, 1));
}

IN_CHILD(waits_below_root)

/* Its first grant is after the change. */
static void act_grants_below_root(struct driver *d, const struct place *place)
{
    static struct driver other;
    uint64_t first = hold_first(d);
    driver_start(&other, place->folder);
    NEED(queue(&other, "first", B, TTL_MS)->verdict == HF_VERDICT_QUEUED);
    enter(place->root);
    NEED(release(d, "first", A, first, 0)->verdict == HF_VERDICT_OK);
    NEED(driver_hear(&other, 1));
}

IN_CHILD(grants_below_root)

/* ---- Dead holders ------------------------------------------------------ */

/* A process without rights frees the lock of a holder that has ended. */
static void act_dead_below_root(struct driver *d, const struct place *place)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    NEED(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT) == 0);
    NEED(acquire(d, "first", C, TTL_MS, pid)->verdict == HF_VERDICT_OK);
    NEED(waitpid(pid, &status, 0) == pid);
    enter(place->root);
    drop_rights(d);
    NEED(is_granted(d, "first"));
}

IN_CHILD(dead_below_root)

/* Mount a /proc of a new pid namespace below `root`. @return its process 1. */
static pid_t mount_other_proc(const char *root)
{
    char path[100], byte = 0;
    int ready[2];
    snprintf(path, sizeof(path), "%s/proc", root);
    ABLE(unshare(CLONE_NEWNS | CLONE_NEWPID) == 0 &&
         mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("none", root, "tmpfs", 0, NULL) == 0 && mkdir(path, 0755) == 0 &&
         pipe2(ready, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        byte = mount("proc", path, "proc", 0, NULL) == 0 ? 1 : 0;
        ABLE(write(ready[1], &byte, 1) == 1);
        close(ready[1]);
        for (;;) {
            pause();
        }
    }
    close(ready[1]);
    ABLE(pid > 0 && read(ready[0], &byte, 1) == 1 && byte == 1);
    return pid;
}

/* Process 1 of the machine is alive. In the other /proc, number 1 is a process
 * with another start time. */
static void act_other_proc(struct driver *d, const struct place *place)
{
    int status = 0;
    NEED(acquire(d, "first", C, TTL_MS, 1)->verdict == HF_VERDICT_OK);
    pid_t other = mount_other_proc(place->root);
    enter(place->root);
    bool is_robbed = is_granted(d, "first");
    bool is_held = acquire(d, "second", C, TTL_MS, 1)->verdict == HF_VERDICT_OK;
    kill(other, SIGKILL);
    waitpid(other, &status, 0);
    NEED(!is_robbed && is_held);
}

static void other_proc(void **state)
{
    run_as_child(state, act_other_proc);
    refused(acquire(driver_of(state), "first", B, TTL_MS, 0), C);
    refused(acquire(driver_of(state), "second", B, TTL_MS, 0), C);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(other_user),           IN_FOLDER(other_user_for_a_while),
        IN_FOLDER(other_user_by_link),   IN_FOLDER(other_root),
        IN_FOLDER(other_mounts),         IN_FOLDER(removed_below_root),
        IN_FOLDER(removed_by_root),      IN_FOLDER(cut_below_root),
        IN_FOLDER(files_moved_by_root),  IN_FOLDER(folder_moved_by_root),
        IN_FOLDER(moved_behind_a_bar),   IN_FOLDER(values_below_root),
        IN_FOLDER(values_of_another),    IN_FOLDER(values_removed_below_root),
        IN_FOLDER(values_of_the_killed), IN_FOLDER(waits_below_root),
        IN_FOLDER(grants_below_root),    IN_FOLDER(dead_below_root),
        IN_FOLDER(other_proc),
    };
    return cmocka_run_group_tests_name("local_rights", tests, NULL, NULL);
}
