/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials that the user's callback returns. */
#ifndef HF_CLIENT_LOGIN_H
#define HF_CLIENT_LOGIN_H

#include "client/client.h"

/* The store's callback if the options have one. */
void hf_client_on_login(void *user, struct hf_login *login);

#endif
