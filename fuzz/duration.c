/* SPDX-License-Identifier: Apache-2.0 */
/* Durations, in URLs and on the command line: a parsed value is in range, and a
 * printed value is parsed as the same. */
#include "fuzz.h"

#include "base/duration.h"
#include "timefmt.h"

#define MS_MAX (INT64_C(1) << 53)

/* The command prints rounded values. It never rounds up. */
static void check_shown(int64_t ms)
{
    char shown[CLI_DURATION_TEXT];
    int64_t again = -1;
    cli_duration_text(ms, shown);
    FUZZ_CHECK(hf_duration_parse(shown, &again));
    FUZZ_CHECK(again <= ms);
    FUZZ_CHECK(ms - again < (ms < 60000 ? 100 : ms < 86400000 ? 1000 : 60000));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char written[HF_DURATION_TEXT_MAX];
    int64_t ms = -1;
    int64_t again = -1;
    if (hf_duration_parse(text, &ms)) {
        FUZZ_CHECK(ms >= 0 && ms <= MS_MAX);
        hf_duration_emit(written, ms);
        FUZZ_CHECK(hf_duration_parse(written, &again) && again == ms);
        check_shown(ms);
    } else {
        FUZZ_CHECK(ms == -1);
    }
    free(text);
    return 0;
}
