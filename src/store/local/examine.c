/* SPDX-License-Identifier: Apache-2.0 */
/* Is this folder fit for locks? Every finding with its remedy. */
#include "store/local/local.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Below it growing may fail soon: a quarter of a million names. */
#define FREE_BYTES_LOW (UINT64_C(100) << 20)

static void find(const struct hf_job_sink *sink, enum hf_severity severity,
                 const char *format, ...) __attribute__((format(printf, 3, 4)));

static void find(const struct hf_job_sink *sink, enum hf_severity severity,
                 const char *format, ...)
{
    char text[1000];
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
    struct statvfs about;
    find(sink, HF_FINDING_OK, "%s is on %s, covers this machine", path,
         hf_folder_fs_name(path));
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
        find(sink, HF_FINDING_UNFIT,
             "the files of %s are gone: start again all that use it",
             local->folder.path);
        return;
    }
    if ((gate.st_mode & 0666) != (data.st_mode & 0666)) {
        find(sink, HF_FINDING_WARNING,
             "%s and %s have different modes: some users can open one only; "
             "give both the same",
             local->gate.gate_path, local->gate.data_path);
    }
    if ((gate.st_mode & S_IWOTH) != 0) {
        find(
            sink, HF_FINDING_OK,
            "all users of this machine share %s: each of them can take, break "
            "and damage every lock in it; for locks that others must not touch "
            "name a folder of your own with -u local:///FOLDER",
            local->folder.path);
    }
}

/* Other pid namespaces share the locks, but not the sight of processes. */
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
    for (struct dirent *entry = proc == NULL ? NULL : readdir(proc);
         entry != NULL; entry = readdir(proc)) {
        char path[300];
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
    examine_disk(local, sink);
    examine_modes(local, sink);
    examine_spaces(local, sink);
}
