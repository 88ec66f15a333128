/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of etcd's JSON gateway to the calls of store/ordered: what is true of
 * each is in endpoints_fake.c. The first byte of the input says whether there
 * is a login, which may expire. */
/* library: store-etcd-objects */
/* with: endpoints_fake.c */
/* link: -Wl,--wrap=hf_http_ask,--wrap=hf_http_break */
/* link: -Wl,--wrap=hf_endpoints_look,--wrap=hf_endpoints_ready */
/* link: -Wl,--wrap=hf_ordered_down,--wrap=hf_ordered_lose_all */
#include "endpoints_fake.h"

#include "store/etcd/etcd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hf_etcd etcd;
    struct fuzz_input in = {data, size};
    struct fake_endpoints fake = {
        .node = &etcd.node,
        .ops = &hf_etcd_endpoints,
        .key = hf_etcd_key_entry,
        .folder = hf_etcd_key_folder,
        .mark = hf_etcd_key_mark,
        .number = hf_etcd_number,
        .prefix = "lock:",
        .has_base64 = true,
        .has_quoted = true,
    };
    memset(&etcd, 0, sizeof(etcd));
    etcd.prefix = fuzz_copy(fake.prefix);
    if (fuzz_u8(&in) % 2 == 1) {
        etcd.login.user = fuzz_copy("job");
        etcd.login.password = fuzz_copy("secret");
        etcd.headers =
            fuzz_copy(HF_ETCD_HEADERS_PLAIN "Authorization: t.1\r\n");
    }
    fake_endpoints_run(&fake, in);
    fake_endpoints_fini(&fake);
    return 0;
}
