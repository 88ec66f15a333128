/* SPDX-License-Identifier: Apache-2.0 */
/* Which file systems are refused: those that another machine can have open. A
 * type that is not in the table is accepted, since most are of one machine, and
 * `doctor` warns of it. */
#include "base/fail.h"
#include "store/local/folder.h"

#include <sys/vfs.h>

/* Magic numbers from linux/magic.h, coreutils' stat.c, libfuse's fusermount.c
 * (WekaFS) and the file systems' sources. VxFS is one machine's or a cluster's,
 * which the number does not tell. */
struct file_system {
    unsigned long magic;
    const char *name;
    const char *why_not; /* NULL: accepted */
};

#define SHARED_FS                                                              \
    "other machines may have it open, and see neither our memory nor our "     \
    "processes"

static const struct file_system file_systems[] = {
    {0x6969, "NFS", SHARED_FS},
    {0xff534d42, "CIFS", SHARED_FS},
    {0xfe534d42, "SMB", SHARED_FS},
    {0x517b, "SMB", SHARED_FS},
    {0x01021997, "9p", SHARED_FS},
    {0x00c36400, "Ceph", SHARED_FS},
    {0x0bd00bd0, "Lustre", SHARED_FS},
    {0x01161970, "GFS2", SHARED_FS},
    {0x7461636f, "OCFS2", SHARED_FS},
    {0x5346414f, "AFS", SHARED_FS},
    {0x6b414653, "AFS", SHARED_FS},
    {0x73757245, "Coda", SHARED_FS},
    {0x47504653, "GPFS", SHARED_FS},
    {0x61636673, "ACFS", SHARED_FS},
    {0x19830326, "BeeGFS", SHARED_FS},
    {0x013111a8, "IBRIX", SHARED_FS},
    {0x564c, "NCP", SHARED_FS},
    {0x20030528, "OrangeFS", SHARED_FS},
    {0xaad7aaea, "PanFS", SHARED_FS},
    {0xbeefdead, "StorNext", SHARED_FS},
    {0x18031977, "WekaFS", SHARED_FS},
    {0xa501fcf5, "VxFS", SHARED_FS},
    {0x00c0ffee, "hostfs", SHARED_FS},
    {0x7c7c6673, "a Parallels folder", SHARED_FS},
    {0x786f4256, "a VirtualBox folder", SHARED_FS},
    {0xbacbacbc, "a VMware folder", SHARED_FS},
    {0x65735546, "FUSE",
     "what is behind it cannot be told (sshfs, virtiofs, GlusterFS: another "
     "machine), nor whether it shares memory between processes"},
    {0xef53, "ext4", NULL},
    {0x58465342, "xfs", NULL},
    {0x01021994, "tmpfs", NULL},
    {0x9123683e, "btrfs", NULL},
    {0x794c7630, "overlayfs", NULL},
    {0x2fc12fc1, "zfs", NULL},
    {0xf2f52010, "f2fs", NULL},
    {0xca451a4e, "bcachefs", NULL},
    {0x3153464a, "jfs", NULL},
    {0x3434, "nilfs2", NULL},
    {0x52654973, "reiserfs", NULL},
    {0x24051905, "ubifs", NULL},
    {0x858458f6, "ramfs", NULL},
};

/* NULL: not known, or statfs() has failed. */
static const struct file_system *fs_of(const char *path)
{
    struct statfs about;
    if (statfs(path, &about) != 0) {
        return NULL;
    }
    unsigned long magic = (unsigned long)about.f_type & 0xffffffff;
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]);
         i++) {
        if (file_systems[i].magic == magic) {
            return &file_systems[i];
        }
    }
    return NULL;
}

enum hf_status hf_folder_check_fs(const char *path, struct hf_error *error)
{
    const struct file_system *fs = fs_of(path);
    if (fs == NULL || fs->why_not == NULL) {
        return HF_OK;
    }
    return hf_fail(error, HF_CONFIG,
                   "%s is on %s: %s; the embedded store covers one machine (-u "
                   "local:///FOLDER on a local disk, or a Redis)",
                   path, fs->name, fs->why_not);
}

const char *hf_folder_fs_name(const char *path)
{
    const struct file_system *fs = fs_of(path);
    return fs == NULL ? NULL : fs->name;
}
