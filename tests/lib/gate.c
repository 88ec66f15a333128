/* SPDX-License-Identifier: Apache-2.0 */
/* gate FOLDER: keeps all other processes out of an embedded store, like a
 * process that was stopped in the middle of a transaction. Prints "in" when it
 * has the gate, and keeps it until killed. */
#include "store/local/gate.h"
#include "store/local/table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static struct hf_gate gate;
    static struct hf_folder folder;
    struct hf_proc_view view = {.is_ready = false};
    struct hf_error error = {.text = ""};
    char text[600] = "";
    if (argc != 2 || strlen(argv[1]) >= sizeof(folder.path)) {
        return 64;
    }
    memcpy(folder.path, argv[1], strlen(argv[1]) + 1);
    gate.pid_space = hf_pid_space(&view);
    if (hf_gate_open(&gate, &folder, hf_span_ms(1000), 0, hf_table_renew,
                     &error) != HF_OK) {
        fprintf(stderr, "gate: %s\n", error.text);
        return 1;
    }
    if (hf_gate_enter(&gate, text, sizeof(text)) != HF_OK) {
        fprintf(stderr, "gate: %s\n", text);
        return 1;
    }
    puts("in");
    fflush(stdout);
    for (;;) {
        pause();
    }
}
