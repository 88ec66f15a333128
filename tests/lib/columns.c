/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the number of columns of the widest line of stdin, by wcwidth(). */
#include <locale.h>
#include <stdio.h>
#include <wchar.h>

int main(void)
{
    long widest = 0;
    long columns = 0;
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) {
        return 1;
    }
    for (wint_t c; (c = getwchar()) != WEOF;) {
        columns = c == L'\n' ? 0 : columns + wcwidth((wchar_t)c);
        widest = columns > widest ? columns : widest;
    }
    printf("%ld\n", widest);
    return 0;
}
