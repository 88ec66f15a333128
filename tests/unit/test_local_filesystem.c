/* SPDX-License-Identifier: Apache-2.0 */
/* Where the embedded store may be: those file systems are refused that other
 * machines can have open, and `doctor` warns of those that are not known. */
/* link: -Wl,--wrap=statfs */
#include "local_driver.h"

#include "io/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include <cmocka.h>

/* What statfs() reports; 0: it fails. */
static unsigned magic;

int __wrap_statfs(const char *path, struct statfs *out);
int __wrap_statfs(const char *path, struct statfs *out)
{
    (void)path;
    memset(out, 0, sizeof(*out));
    out->f_type = (__typeof__(out->f_type))magic;
    return magic == 0 ? -1 : 0;
}

static enum hf_status open_on(struct driver *d, unsigned number,
                              const char *folder, struct hf_error *error)
{
    magic = number;
    *error = (struct hf_error){HF_OK, 0, ""};
    return driver_open(d, folder, "", error);
}

/* ---- Refused ----------------------------------------------------------- */

static void refuses(const char *folder, unsigned number, const char *name)
{
    struct driver d;
    struct hf_error error;
    char said[80];
    enum hf_status status = open_on(&d, number, folder, &error);
    snprintf(said, sizeof(said), " is on %s: ", name);
    if (status != HF_CONFIG || strstr(error.text, said) == NULL ||
        strstr(error.text, "covers one machine") == NULL) {
        fail_msg("%s: status %d: %s", name, (int)status, error.text);
    }
}

static void of_several_machines(void **state)
{
    static const struct {
        unsigned magic;
        const char *name;
    } refused[] = {
        {0x6969, "NFS"},
        {0xff534d42, "CIFS"},
        {0xfe534d42, "SMB"},
        {0x517b, "SMB"},
        {0x01021997, "9p"},
        {0x00c36400, "Ceph"},
        {0x0bd00bd0, "Lustre"},
        {0x01161970, "GFS2"},
        {0x7461636f, "OCFS2"},
        {0x5346414f, "AFS"},
        {0x6b414653, "AFS"},
        {0x73757245, "Coda"},
        {0x47504653, "GPFS"},
        {0x65735546, "FUSE"},
        {0x61636673, "ACFS"},
        {0x19830326, "BeeGFS"},
        {0x013111a8, "IBRIX"},
        {0x564c, "NCP"},
        {0x20030528, "OrangeFS"},
        {0xaad7aaea, "PanFS"},
        {0xbeefdead, "StorNext"},
        {0x18031977, "WekaFS"},
        {0xa501fcf5, "VxFS"},
        {0x00c0ffee, "hostfs"},
        {0x7c7c6673, "a Parallels folder"},
        {0x786f4256, "a VirtualBox folder"},
        {0xbacbacbc, "a VMware folder"},
    };
    char folder[64];
    (void)state;
    folder_make(folder);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        refuses(folder, refused[i].magic, refused[i].name);
    }
    folder_drop(folder);
}

/* ---- Accepted ---------------------------------------------------------- */

struct finding {
    enum hf_severity severity;
    char text[1000];
    bool is_done;
};

/* The first one is of the disk. */
static void on_finding(void *user, enum hf_severity severity, int node,
                       const char *text)
{
    struct finding *found = user;
    assert_int_equal(node, 0);
    if (found->text[0] == '\0') {
        found->severity = severity;
        snprintf(found->text, sizeof(found->text), "%s", text);
    }
}

static void on_done(void *user, unsigned node, enum hf_status status,
                    const char *reason)
{
    struct finding *found = user;
    (void)node;
    (void)reason;
    assert_int_equal(status, HF_OK);
    found->is_done = true;
}

static void finds(const char *folder, unsigned number,
                  enum hf_severity severity, const char *said)
{
    struct driver d;
    struct hf_error error;
    struct finding found = {.text = ""};
    struct hf_job_sink sink = {&found, on_finding, on_done};
    assert_int_equal(open_on(&d, number, folder, &error), HF_OK);
    d.store->ops->job(d.store, 0, HF_JOB_EXAMINE, &sink);
    hf_loop_wait(d.loop, hf_loop_next_timer(d.loop));
    hf_loop_dispatch(d.loop, hf_clock_now());
    assert_true(found.is_done);
    if (found.severity != severity || strstr(found.text, said) == NULL) {
        fail_msg("0x%x: severity %d: %s", number, (int)found.severity,
                 found.text);
    }
    driver_close(&d);
}

static void of_one_machine(void **state)
{
    static const struct {
        unsigned magic;
        const char *said;
    } known[] = {
        {0xef53, " is on ext4, covers this machine"},
        {0x58465342, " is on xfs, covers this machine"},
        {0x01021994, " is on tmpfs, covers this machine"},
        {0xca451a4e, " is on bcachefs, covers this machine"},
    };
    char folder[64];
    (void)state;
    folder_make(folder);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        finds(folder, known[i].magic, HF_FINDING_OK, known[i].said);
    }
    folder_drop(folder);
}

static void not_known(void **state)
{
    static const char said[] =
        " is on a file system that Holdfast does not know: check that no other "
        "machine can open it";
    char folder[64];
    (void)state;
    folder_make(folder);
    finds(folder, 0x12345678, HF_FINDING_WARNING, said);
    finds(folder, 0, HF_FINDING_WARNING, said);
    folder_drop(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_several_machines),
        cmocka_unit_test(of_one_machine),
        cmocka_unit_test(not_known),
    };
    return cmocka_run_group_tests_name("local_filesystem", tests, NULL, NULL);
}
