/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `doctor` about the folder, each with its remedy. */
#include "store/local/local.h"

#include "base/fail.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* With less, the file may soon fail to grow. Room for 250,000 names. */
#define FREE_BYTES_LOW (UINT64_C(100) << 20)

/* Bytes of a finding: most paths have less than 700 characters. */
#define FINDING_MAX 1000

static void find(const struct hf_job_sink *sink, enum hf_severity severity,
                 const char *format, ...) __attribute__((format(printf, 3, 4)));

static void find(const struct hf_job_sink *sink, enum hf_severity severity,
                 const char *format, ...)
{
    char text[FINDING_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    sink->finding(sink->user, severity, 0, text);
}

static void examine_disk(const struct hf_local *local,
                         const struct hf_job_sink *sink)
{
    const char *path = local->folder.path;
    const char *fs_name = hf_folder_fs_name(path);
    struct statvfs about;
    if (fs_name != NULL) {
        find(sink, HF_FINDING_OK, "%s is on %s, covers this machine", path,
             fs_name);
    } else {
        find(sink, HF_FINDING_WARNING,
             "%s is on a file system that Holdfast does not know: check that "
             "no other machine can open it (findmnt --target shows its type), "
             "or name a folder on a local disk with -u local:///FOLDER",
             path);
    }
    if (statvfs(path, &about) != 0) {
        find(sink, HF_FINDING_WARNING, "cannot tell how much of %s is free: %s",
             path, strerrordesc_np(errno));
        return;
    }
    uint64_t free_bytes = (uint64_t)about.f_bavail * about.f_frsize;
    find(sink, free_bytes < FREE_BYTES_LOW ? HF_FINDING_WARNING : HF_FINDING_OK,
         "%" PRIu64 " MiB are free; the locks have %" PRIu64 " MiB, and need "
         "some 40 MiB for 100,000 names%s",
         free_bytes >> 20, local->table.map_bytes >> 20,
         free_bytes < FREE_BYTES_LOW ? ": make room" : "");
}

static void examine_modes(const struct hf_local *local,
                          const struct hf_job_sink *sink)
{
    struct stat gate, data;
    if (stat(local->gate.gate_path, &gate) != 0 ||
        stat(local->gate.data_path, &data) != 0) {
        find(sink, HF_FINDING_ERROR,
             "the files of %s are gone: start again all that use it",
             local->folder.path);
        return;
    }
    mode_t right = hf_folder_file_mode(&local->folder);
    if ((gate.st_mode & 0777) != right || (data.st_mode & 0777) != right) {
        find(sink, HF_FINDING_WARNING,
             "%s and %s have modes %04o and %04o: some users cannot open them; "
             "chmod %04o both",
             local->gate.gate_path, local->gate.data_path,
             (unsigned)gate.st_mode & 0777, (unsigned)data.st_mode & 0777,
             (unsigned)right);
    }
    if (local->folder.is_shared) {
        find(sink, HF_FINDING_OK,
             "group %u shares %s: each member can take and break every lock in "
             "it, and can attack the other members' processes, root's too",
             (unsigned)local->folder.gid, local->folder.path);
    }
}

static void set_values_path(const struct hf_local *local,
                            char path[HF_FOLDER_MAX + 16])
{
    snprintf(path, HF_FOLDER_MAX + 16, "%s/values.mdb", local->folder.path);
}

/* The locks do without the values' file, so no other check has seen it. A
 * private folder has none before the first value. */
static void examine_values(const struct hf_local *local,
                           const struct hf_job_sink *sink)
{
    static const char effect[] = "no value can be read or written";
    const struct hf_folder *folder = &local->folder;
    mode_t right = hf_folder_file_mode(folder);
    char path[HF_FOLDER_MAX + 16];
    struct hf_error error;
    struct stat about;
    set_values_path(local, path);
    if (lstat(path, &about) != 0) {
        if (errno != ENOENT) {
            find(sink, HF_FINDING_WARNING, "%s: %s: %s", effect, path,
                 strerrordesc_np(errno));
        } else if (folder->is_shared) {
            find(sink, HF_FINDING_WARNING,
                 "%s: %s is gone: restore it from a backup, or make an empty "
                 "one: as root, run holdfast doctor --init -u local://%s",
                 effect, path, folder->path);
        }
        return;
    }
    if (hf_folder_check_file(folder, path, &about, &error) != HF_OK) {
        find(sink, HF_FINDING_WARNING, "%s: %s", effect, error.text);
    } else if ((about.st_mode & 0777) != right) {
        find(sink, HF_FINDING_WARNING,
             "%s has mode %04o: some users cannot read or write values; "
             "chmod %04o it",
             path, (unsigned)about.st_mode & 0777, (unsigned)right);
    }
}

/* A container that has another file there (systemd-nspawn, LXC) would take the
 * machine's locks for those of another boot. */
static void examine_boot(const struct hf_local *local,
                         const struct hf_job_sink *sink)
{
    if (local->gate.is_boot_hidden) {
        find(sink, HF_FINDING_WARNING,
             "this container hides the machine's boot id (" HF_GATE_BOOT_FILE
             "): the folder must be its own, not one that the machine or "
             "another container uses");
    }
}

/* Are there processes in other pid namespaces? They may share the locks, but
 * whether they have ended cannot be checked. */
static void examine_spaces(struct hf_local *local,
                           const struct hf_job_sink *sink)
{
    uint64_t own = hf_pid_space(&local->view);
    if (!local->view.can_see) {
        find(sink, HF_FINDING_WARNING,
             "/proc is not that of this pid namespace: a dead holder is "
             "followed only when its lease ends; mount /proc in the container");
        return;
    }
    DIR *proc = opendir("/proc");
    unsigned others = 0;
    struct dirent *entry;
    /* cppcheck-suppress readdirCalled; no other thread has the stream */
    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        char path[HF_TEXT_ADVICE];
        struct stat space;
        if (!isdigit((unsigned char)entry->d_name[0])) {
            continue;
        }
        snprintf(path, sizeof(path), "/proc/%s/ns/pid", entry->d_name);
        others += stat(path, &space) == 0 && space.st_ino != own ? 1 : 0;
    }
    if (proc != NULL) {
        closedir(proc);
    }
    if (others > 0) {
        find(sink, HF_FINDING_OK,
             "%u processes are in other pid namespaces (containers): holders "
             "there are followed when their lease ends, not when they die",
             others);
    }
}

void hf_local_examine(struct hf_local *local, const struct hf_job_sink *sink)
{
    if (sink->finding == NULL) {
        return;
    }
    if (!local->is_open) {
        find(sink, HF_FINDING_ERROR, "%s", local->reason);
        return;
    }
    examine_disk(local, sink);
    examine_modes(local, sink);
    examine_values(local, sink);
    examine_boot(local, sink);
    examine_spaces(local, sink);
}

/* A folder that was shared by a version without values lacks their file. */
static bool is_shared_whole(const struct hf_local *local)
{
    char path[HF_FOLDER_MAX + 16];
    struct stat about;
    set_values_path(local, path);
    return local->is_open && local->folder.is_shared &&
           (stat(path, &about) == 0 || errno != ENOENT);
}

/* hf_folder_share() may take the exclusive flock, so the files are closed
 * meanwhile. A folder that was in use and cannot be shared stays in use. */
enum hf_status hf_local_set_up(struct hf_local *local, struct hf_error *error)
{
    char path[HF_FOLDER_MAX];
    struct hf_error failed = {.text = ""};
    bool is_ready = is_shared_whole(local);
    bool was_open = local->is_open;
    if (!local->is_named || is_ready) {
        return HF_OK;
    }
    if (local->folder.path[0] == '\0') { /* the path was refused */
        return hf_fail(error, local->fault, "%s", local->reason);
    }
    memcpy(path, local->folder.path, sizeof(path));
    hf_local_close(local);
    enum hf_status status = hf_folder_share(path, &failed);
    if (status != HF_OK) {
        *error = failed;
    }
    local->fault = status;
    if (status == HF_OK || was_open) {
        local->fault = hf_local_open(local, path, &failed);
    }
    if (status == HF_OK && local->fault != HF_OK) {
        status = local->fault;
        *error = failed;
    }
    snprintf(local->reason, sizeof(local->reason), "%.500s",
             local->fault == HF_OK ? "" : failed.text);
    return status;
}
