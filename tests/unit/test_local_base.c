/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store's fence_base: the client that makes the store sets it, and
 * a client with another value is refused, also after a boot, and after a set-up
 * that was killed. */
#include "local_driver.h"

#include "store/local/gate.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void overwrite(const char *folder, size_t at, const void *bytes,
                      size_t len)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/locks.gate", folder);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, len, (off_t)at), len);
    close(fd);
}

static void opens(const char *folder, const char *query)
{
    struct driver d;
    struct hf_error error = {.text = ""};
    if (driver_open(&d, folder, query, &error) != HF_OK) {
        fail_msg("%s: %s", query, error.text);
    }
    driver_close(&d);
}

static void is_refused(const char *folder, const char *query, const char *text)
{
    struct driver d;
    struct hf_error error = {.text = ""};
    assert_int_equal(driver_open(&d, folder, query, &error), HF_CONFIG);
    assert_non_null(strstr(error.text, text));
}

static void one_base(void **state)
{
    static const char other_boot[] = "00000000-1111";
    static const uint32_t not_ready = 0;
    char folder[64];
    (void)state;
    folder_make(folder);
    for (int i = 0; i < 3; i++) {
        opens(folder, "?node_timeout=10s&fence_base=41");
        is_refused(folder, "", "fence_base=41, this client says 0:");
        is_refused(folder, "?fence_base=42",
                   "fence_base=41, this client says "
                   "42:");
        if (i == 0) {
            overwrite(folder, offsetof(struct hf_gate_page, boot), other_boot,
                      sizeof(other_boot) - 1);
        } else {
            overwrite(folder, offsetof(struct hf_gate_page, is_ready),
                      &not_ready, sizeof(not_ready));
        }
    }
    folder_drop(folder);
}

static void no_base(void **state)
{
    char folder[64];
    (void)state;
    folder_make(folder);
    opens(folder, "?node_timeout=10s");
    is_refused(folder, "?fence_base=1", "fence_base=0, this client says 1:");
    folder_drop(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_base),
        cmocka_unit_test(no_base),
    };
    return cmocka_run_group_tests_name("local_base", tests, NULL, NULL);
}
