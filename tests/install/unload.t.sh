#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A plugin that uses the library is unloaded while a client is open: the
# library stays, since its thread runs on, and renews the locks.
. "$(dirname "$0")/../lib/tap.sh"

cat >"$W/host.c" <<'C'
#include <holdfast/holdfast.h>

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

static struct hf_lock *lock;
static struct hf_client *client;
static int64_t (*remaining)(const struct hf_lock *);
static enum hf_status (*release)(struct hf_lock *);
static void (*close_it)(struct hf_client *);

static int use(void *library, const char *url)
{
    struct hf_request request;
    struct hf_error error;
    enum hf_status (*open)(const char *, const struct hf_client_options *,
                           struct hf_client **, struct hf_error *) =
        dlsym(library, "hf_client_open");
    void (*init)(struct hf_request *, size_t, size_t, const char *) =
        dlsym(library, "hf_request_init_sized");
    enum hf_status (*acquire)(struct hf_client *, const struct hf_request *,
                              struct hf_lock **, struct hf_error *) =
        dlsym(library, "hf_lock_acquire");
    remaining = dlsym(library, "hf_lock_remaining_ms");
    release = dlsym(library, "hf_lock_release");
    close_it = dlsym(library, "hf_client_close");
    init(&request, sizeof(request), sizeof(struct hf_name), "plugin");
    request.ttl_ms = 6000;
    return open(url, NULL, &client, &error) == HF_OK &&
           acquire(client, &request, &lock, &error) == HF_OK;
}

int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (argc != 3 || library == NULL || !use(library, argv[2])) {
        printf("not held\n");
        return 1;
    }
    printf("unloaded: %d\n", dlclose(library));
    fflush(stdout);
    /* sleeps: until the library's thread has renewed it; 40 s at most */
    int64_t least = INT64_MAX;
    for (int i = 0; i < 2000 && remaining(lock) <= least; i++) {
        least = remaining(lock) < least ? remaining(lock) : least;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    printf("renewed: %d\n", remaining(lock) > least);
    printf("released: %d\n", release(lock));
    close_it(client);
    return 0;
}
C
gcc -D_GNU_SOURCE "-I$HF_SOURCE/include" -o "$W/host" "$W/host.c" -ldl || exit

capture "$W/host" "$HF_BUILD/libholdfast.so" "local://$W/store"
is "$code" 0 "the program is not ended by a signal"
is "$out" "unloaded: 0
renewed: 1
released: 0" "the lock of an unloaded plugin is renewed, and released"
finish
