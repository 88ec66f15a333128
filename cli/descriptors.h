/* SPDX-License-Identifier: Apache-2.0 */
/* Standard descriptors that the caller has closed. */
#ifndef CLI_DESCRIPTORS_H
#define CLI_DESCRIPTORS_H

/* First in each main(): descriptors 0 to 2 that were closed must not become one
 * of ours, or a message would go into a store's file or socket. Still nothing
 * can be read from them, or written: else "put NAME -" would write an empty
 * value. Closed again on exec. */
void cli_descriptors_keep(void);

#endif
