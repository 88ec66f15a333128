/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that are not known are skipped, so a later version may add some, and
 * the fields of other hosts are among them. A marker may have been changed by
 * hand: a number is cut to 0..2^53, an id to its room. A new value is 128 bits
 * of entropy: it replaces the old one, which every script that grants
 * compares. One that is too long could never be compared: it counts as no
 * marker, and is replaced whatever it is.
 *
 * No allocation: the texts to write point into the marker, and into room of
 * the caller. */
#include "store/marker.h"

#include "io/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value that the writing script is to replace, for "any" (marker.lua). */
#define HF_MARKER_ANY "*"

int64_t hf_marker_number(int64_t number)
{
    int64_t most = INT64_C(1) << 53;
    return number < 0 ? 0 : number > most ? most : number;
}

static void read_id(char out[HF_SERVER_ID_MAX], const char *content)
{
    snprintf(out, HF_SERVER_ID_MAX, "%s", content);
}

void hf_marker_read(struct hf_marker *marker, const char *host,
                    const char *field, const char *content)
{
    int64_t number = hf_marker_number(strtoll(content, NULL, 10));
    if (strcmp(field, "v") == 0) {
        bool is_too_long = strlen(content) >= HF_SERVER_ID_MAX;
        read_id(marker->value, is_too_long ? HF_MARKER_ANY : content);
        marker->exists = marker->value[0] != '\0' && !is_too_long;
    } else if (strcmp(field, "run_id") == 0) {
        read_id(marker->run_id, content);
    } else if (strcmp(field, "replid") == 0) {
        read_id(marker->replid, content);
    } else if (strcmp(field, "max_ttl_ms") == 0) {
        marker->shape.max_ttl_ms = number;
    } else if (strcmp(field, "nodes") == 0) {
        marker->shape.nodes = number;
    } else if (strcmp(field, "fence_keep_ms") == 0) {
        marker->shape.fence_keep_ms = number;
    } else if (strcmp(field, "fence_base") == 0) {
        marker->shape.fence_base = number;
    } else if (strcmp(field, "db") == 0) {
        marker->database = number + 1;
    } else if (strcmp(field, "durable") == 0) {
        marker->is_durable = number != 0;
    } else if (strcmp(field, "whole") == 0) {
        marker->is_whole = number != 0;
    } else if (host[0] != '\0' && strcmp(field, host) == 0) {
        marker->has_entry = true;
        marker->entry =
            hf_instant_add((struct hf_instant){0}, hf_span_ms(number));
    }
}

static void name_marker(struct hf_marker *marker)
{
    uint64_t random[2];
    hf_entropy(random, sizeof(random));
    snprintf(marker->value, sizeof(marker->value), "%016" PRIx64 "%016" PRIx64,
             random[0], random[1]);
}

static const char *number_text(int64_t number, char out[HF_TEXT_NUMBER])
{
    snprintf(out, HF_TEXT_NUMBER, "%" PRId64, number);
    return out;
}

void hf_marker_write(struct hf_marker *marker, const char *host,
                     struct hf_marker_texts *out)
{
    const struct hf_shape *shape = &marker->shape;
    struct hf_span entry = {marker->entry.ns};
    if (marker->value[0] == '\0') {
        name_marker(marker);
    }
    const char *texts[HF_MARKER_TEXTS] = {
        marker->value,
        marker->is_whole ? "1" : "0",
        marker->has_entry ? host : "",
        number_text(hf_span_ms_ceil(entry), out->numbers[0]),
        "run_id",
        marker->run_id,
        "replid",
        marker->replid,
        "max_ttl_ms",
        number_text(shape->max_ttl_ms, out->numbers[1]),
        "nodes",
        number_text(shape->nodes, out->numbers[2]),
        "fence_keep_ms",
        number_text(shape->fence_keep_ms, out->numbers[3]),
        "fence_base",
        number_text(shape->fence_base, out->numbers[4]),
        "durable",
        marker->is_durable ? "1" : "0",
    };
    memcpy(out->texts, texts, sizeof(texts));
}
