/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials that the program supplies for each connection. */
#include "client/login.h"

#include "base/secret.h"

#include <string.h>

void hf_client_on_login(void *user, struct hf_login *login)
{
    const struct hf_client *client = user;
    client->options.login(client->options.login_user, login);
}

int hf_login_node(const struct hf_login *login)
{
    return login == NULL ? -1 : (int)login->node;
}

const char *hf_login_address(const struct hf_login *login)
{
    return login == NULL ? "" : login->address;
}

void hf_login_set(struct hf_login *login, const char *user,
                  const char *password)
{
    if (login == NULL) {
        return;
    }
    hf_secret_free(login->user);
    hf_secret_free(login->password);
    login->user = user == NULL ? NULL : strdup(user);
    login->password = password == NULL ? NULL : strdup(password);
    login->has_failed = (login->user == NULL) != (user == NULL) ||
                        (login->password == NULL) != (password == NULL);
}
