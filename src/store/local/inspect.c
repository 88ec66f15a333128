/* SPDX-License-Identifier: Apache-2.0 */
/* INSPECT: the holder of a name, or the mark that a free name has. It writes
 * nothing. */
#include "store/local/txn.h"

void hf_txn_inspect(struct hf_txn *txn)
{
    hf_txn_describe(txn);
    if (!hf_txn_is_taken(txn)) {
        hf_txn_show_mark(txn);
    }
    txn->result.verdict = HF_VERDICT_OK;
}
