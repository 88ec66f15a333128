/* SPDX-License-Identifier: Apache-2.0 */
#include "protected.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int register_fd = -1;
static FILE *register_replies;

void register_open(const char *path, const char *id)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    register_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (register_fd < 0 || connect(register_fd, (struct sockaddr *)&address,
                                   sizeof(address)) < 0) {
        perror(path);
        exit(1);
    }
    register_replies = fdopen(register_fd, "r");
    dprintf(register_fd, "hello %s\n", id);
}

static int64_t register_ask(const char *request)
{
    char reply[64];
    int64_t value;
    if (write(register_fd, request, strlen(request)) < 0 ||
        fgets(reply, sizeof(reply), register_replies) == NULL) {
        fprintf(stderr, "the register is gone\n");
        exit(1);
    }
    return sscanf(reply, "ok %" SCNd64, &value) == 1 ? value : -1;
}

int64_t register_read(char kind, const char *name, uint64_t fence)
{
    char request[160];
    snprintf(request, sizeof(request), "read %c %s %" PRIu64 "\n", kind, name,
             fence);
    return register_ask(request);
}

void register_write(char kind, const char *name, uint64_t fence, int64_t base)
{
    char request[160];
    snprintf(request, sizeof(request), "write %c %s %" PRIu64 " %" PRId64 "\n",
             kind, name, fence, base);
    (void)register_ask(request);
}
