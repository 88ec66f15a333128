/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"
#include "store/redis/node.h"

#include <string.h>

/* Servers before 7 wrap an error of a command inside a script: "ERR Error
 * running script (…): @user_script:3: -OOM …"; 7.0 words missing rights
 * inside scripts as "ERR The user executing the script can't access …". */
static bool says(const char *text, const char *code)
{
    size_t len = strlen(code);
    if (strncmp(text, code, len) == 0) {
        return true;
    }
    for (const char *at = strchr(text, '-'); at != NULL;
         at = strchr(at + 1, '-')) {
        if (strncmp(at + 1, code, len) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_denied(const char *text)
{
    static const char *const codes[] = {
        "NOAUTH",  "WRONGPASS", "NOPERM", "DENIED", "ERR invalid password",
        "ERR AUTH"};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (says(text, codes[i])) {
            return true;
        }
    }
    return strstr(text, "can't access") != NULL ||
           strstr(text, "can't run this command") != NULL ||
           strstr(text, "has no permissions") != NULL ||
           strstr(text, "without any password configured") != NULL;
}

enum hf_status hf_redis_fault(const char *text, char *out, size_t size)
{
    size_t len = strcspn(text, "\r\n");
    const char *tail = strstr(text, " script: ");
    if (tail != NULL && (size_t)(tail - text) < len) {
        len = (size_t)(tail - text);
    }
    if (len > size - 1) {
        len = size - 1;
    }
    memcpy(out, text, len);
    out[len] = '\0';
    hf_make_plain(out);
    return is_denied(text) ? HF_DENIED : HF_UNAVAILABLE;
}

bool hf_redis_fault_is_identity(const char *text)
{
    return says(text, "READONLY") || says(text, "MASTERDOWN") ||
           says(text, "NOAUTH") || says(text, "LOADING") ||
           says(text, "MOVED") || says(text, "CLUSTERDOWN");
}
