/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of Consul to the calls of store/ordered, of which some are several
 * requests: what is true of each is in endpoints_fake.c. The header is
 * X-Consul-Index. The first byte of the input says whether there is a token. */
/* library: store-consul-objects */
/* with: endpoints_fake.c */
/* link: -Wl,--wrap=hf_http_ask,--wrap=hf_http_break */
/* link: -Wl,--wrap=hf_endpoints_look,--wrap=hf_endpoints_ready */
/* link: -Wl,--wrap=hf_ordered_down,--wrap=hf_ordered_lose_all */
#include "endpoints_fake.h"

#include "store/consul/consul.h"

#include <jansson.h>

static void say_mark(struct hf_wire_text *text, const char *prefix,
                     struct hf_bytes name)
{
    hf_consul_key_folder(text, prefix, name);
    text->len--;
    hf_wire_text_say(text, "~once");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hf_consul consul;
    struct fuzz_input in = {data, size};
    struct fake_endpoints fake = {
        .node = &consul.node,
        .ops = &hf_consul_endpoints,
        .key = hf_consul_key_entry,
        .folder = hf_consul_key_folder,
        .mark = say_mark,
        .number = hf_consul_number,
        .prefix = "lock:",
        .id_begin = HF_CONSUL_SESSION_LEN,
        .json_flags =
            JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL,
    };
    memset(&consul, 0, sizeof(consul));
    consul.prefix = fuzz_copy(fake.prefix);
    consul.ttl_min_s = HF_CONSUL_TTL_S_MIN;
    if (fuzz_u8(&in) % 2 == 1) {
        consul.headers = fuzz_copy("X-Consul-Token: secret\r\n");
    }
    fake_endpoints_run(&fake, in);
    fake_endpoints_fini(&fake);
    return 0;
}
