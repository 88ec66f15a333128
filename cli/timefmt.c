/* SPDX-License-Identifier: Apache-2.0 */
/* For people only: rounded, and in the time zone of the user. JSON has
 * milliseconds and Unix time instead. */
#include "timefmt.h"

#include "text_size.h"

#include "base/duration.h"

#include <time.h>

void cli_time_text(struct cli_out *out, int64_t unix_s)
{
    time_t at = (time_t)unix_s;
    time_t now = time(NULL);
    struct tm then, today;
    char text[HF_TEXT_PHRASE];
    if (localtime_r(&at, &then) == NULL || localtime_r(&now, &today) == NULL) {
        cli_out_int(out, unix_s);
        return;
    }
    bool is_today =
        then.tm_yday == today.tm_yday && then.tm_year == today.tm_year;
    size_t n = strftime(text, sizeof(text),
                        is_today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
    cli_out_bytes(out, text, n);
}

const char *cli_duration_text(int64_t ms, char text[CLI_DURATION_TEXT])
{
    struct cli_out out;
    char exact[HF_DURATION_TEXT_MAX];
    cli_out_init_text(&out, text, CLI_DURATION_TEXT);
    int64_t left_ms = ms < 0 ? 0 : ms;
    /* Beyond a minute milliseconds are noise, beyond a day seconds. */
    if (left_ms >= 86400000) {
        left_ms -= left_ms % 60000;
    } else if (left_ms >= 60000) {
        left_ms -= left_ms % 1000;
    }
    if (left_ms < 60000 && left_ms > 1000 && left_ms % 1000 != 0) {
        cli_out_int(&out, left_ms / 1000);
        cli_out_text(&out, ".");
        cli_out_int(&out, left_ms % 1000 / 100);
        cli_out_text(&out, "s");
        return text;
    }
    hf_duration_emit(exact, left_ms);
    cli_out_text(&out, exact);
    return text;
}
