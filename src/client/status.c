/* SPDX-License-Identifier: Apache-2.0 */
/* Names, texts and classes of statuses, from the one table in outcomes.h
 * (HF_STATUS_MAP): a status cannot lack one of the three.
 *
 * A number that is none, such as a status of a later library, is no error
 * here: it has a name, and its class is FATAL, so that a program does not
 * repeat a call whose outcome it cannot know. */
#include "client/mutex.h"

#include "io/tls.h"

const char *hf_status_name(enum hf_status status)
{
    switch (status) {
#define CASE(symbol, class_of, text)                                           \
    case symbol:                                                               \
        return #symbol;
        HF_STATUS_MAP(CASE)
#undef CASE
    }
    return "HF_?";
}

const char *hf_status_text(enum hf_status status)
{
    switch (status) {
#define CASE(symbol, class_of, text)                                           \
    case symbol:                                                               \
        return text;
        HF_STATUS_MAP(CASE)
#undef CASE
    }
    return "unknown status";
}

enum hf_class hf_status_class(enum hf_status status)
{
    static const enum hf_class classes[] = {
#define CLASS(symbol, class_of, text) [symbol] = (class_of),
        HF_STATUS_MAP(CLASS)
#undef CLASS
    };
    size_t at = (size_t)status;
    return at < sizeof(classes) / sizeof(classes[0]) ? classes[at]
                                                     : HF_CLASS_FATAL;
}

const char *hf_version(void)
{
    return HF_VERSION_TEXT;
}

bool hf_has_tls(void)
{
    int before = hf_cancel_state_hold();
    bool is_there = hf_tls_find();
    hf_cancel_state_restore(before);
    return is_there;
}
