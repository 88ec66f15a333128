/* SPDX-License-Identifier: Apache-2.0 */
#include "top/screen.h"

#include "utf8.h"
#include "width.h"

#include <curses.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

/* Escape alone, rather than the start of a key: so many milliseconds. */
#define ESCAPE_MS 25

static bool is_started;
static bool is_wide;
static SCREEN *screen;

/* ---- Start and end ----------------------------------------------------- */

static struct termios before;
/* The sequence that restores the terminal, in bytes: terminals have some 20. */
#define LEAVE_MAX 64
static char leave[LEAVE_MAX];

/* Restores the terminal if an assertion fails. Only async-signal-safe calls: no
 * ncurses. */
static void on_crash(int number)
{
    (void)!write(STDOUT_FILENO, leave, strlen(leave));
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    (void)raise(number); /* SA_RESETHAND: now it ends us */
}

static void prepare_leave(void)
{
    const char *parts[] = {tigetstr("rmcup"), tigetstr("cnorm"),
                           tigetstr("sgr0")};
    leave[0] = '\0';
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *part = parts[i];
        /* NULL, or (char *)-1. Padding is for terminals that are gone. */
        if (part != NULL && part != (char *)-1 &&
            strlen(leave) + strlen(part) < sizeof(leave)) {
            strcat(leave, part); /* NOLINT: measured above */
        }
    }
}

static void catch_crashes(void)
{
    static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    struct sigaction action = {
        .sa_handler = on_crash,
        .sa_flags = (int)SA_RESETHAND | SA_NODEFER,
    };
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
        (void)sigaction(crashes[i], &action, NULL);
    }
}

static void start_colours(void)
{
    if (!has_colors() || start_color() == ERR) {
        return;
    }
    (void)use_default_colors();
    (void)init_pair(TOP_BUSY, COLOR_YELLOW, -1);
    (void)init_pair(TOP_ALARM, COLOR_RED, -1);
    (void)init_pair(TOP_STRONG, COLOR_CYAN, -1);
}

/* A read of the terminal never waits. While Ctrl-C empties the queue of keys,
 * poll(2) may find one there that is gone before it is read. A read that waits
 * is not ended by Ctrl-C: signals are blocked. */
static void read_without_waiting(void)
{
    struct termios mode;
    if (tcgetattr(STDIN_FILENO, &mode) == 0) {
        mode.c_cc[VMIN] = 0;
        mode.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
        (void)def_prog_mode();
    }
}

const char *top_screen_start(void)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
        tcgetattr(STDIN_FILENO, &before) < 0) {
        return "needs a terminal; `holdfast ls --follow` does not";
    }
    if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0) {
        return "this terminal cannot move its cursor (TERM is dumb, or not "
               "set); `holdfast ls --follow` needs no more";
    }
    screen = newterm(NULL, stdout, stdin);
    if (screen == NULL) {
        return "unknown kind of terminal (TERM)";
    }
    is_started = true;
    is_wide = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    top_screen_resize(); /* ncurses believes COLUMNS, whatever it says */
    prepare_leave();
    catch_crashes();
    start_colours();
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(ESCAPE_MS);
    (void)curs_set(0);
    read_without_waiting();
    return NULL;
}

void top_screen_end(void)
{
    if (is_started) {
        is_started = false;
        (void)endwin();
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before); /* if not stdout's */
        delscreen(screen);
    }
}

void top_screen_stop(void)
{
    (void)endwin();
    (void)raise(SIGSTOP);
    top_screen_resize();
    top_screen_redraw();
}

void top_screen_resize(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
        size.ws_col > 0) {
        (void)resizeterm(size.ws_row, (int)cli_width(STDOUT_FILENO));
    }
}

void top_screen_redraw(void)
{
    (void)clearok(curscr, TRUE);
}

int top_screen_rows(void)
{
    return LINES;
}

int top_screen_columns(void)
{
    return COLS;
}

bool top_screen_is_wide(void)
{
    return is_wide;
}

/* ---- Text -------------------------------------------------------------- */

static attr_t attributes(enum top_style style)
{
    attr_t colour = has_colors() ? (attr_t)COLOR_PAIR(style) : 0;
    switch (style) {
    case TOP_FAINT:
        return A_DIM;
    case TOP_STRONG:
        return A_BOLD | colour;
    case TOP_TITLE:
        return A_BOLD | A_UNDERLINE;
    case TOP_SELECTED:
        return A_REVERSE;
    case TOP_BUSY:
    case TOP_ALARM:
        return A_BOLD | colour;
    case TOP_PLAIN:
        break;
    }
    return A_NORMAL;
}

/* The next character of `text`, and its columns. A character that this terminal
 * cannot show becomes a question mark. @return its bytes; 0: the end. */
static size_t next_char(const char *text, wchar_t *out, int *columns)
{
    mbstate_t state = {0};
    if (text[0] == '\0') {
        return 0;
    }
    size_t n = mbrtowc(out, text, strlen(text), &state);
    if (n >= (size_t)-2) { /* not in this locale's encoding, but in ours */
        n = cli_utf8_len((const unsigned char *)text, strlen(text));
        n = n > 0 ? n : 1;
        *columns = -1;
    } else {
        *columns = wcwidth(*out);
    }
    if (*columns < 0) {
        *out = L'?';
        *columns = 1;
    }
    return n;
}

static int text_columns(const char *text)
{
    int sum = 0;
    int columns;
    wchar_t c;
    for (size_t n; (n = next_char(text, &c, &columns)) > 0; text += n) {
        sum += columns;
    }
    return sum;
}

int top_screen_put(int y, int x, int width, enum top_style style,
                   const char *text)
{
    int done = 0;
    int columns;
    wchar_t c;
    if (y < 0 || y >= LINES || x >= COLS || width <= 0) {
        return 0;
    }
    width = x + width > COLS ? COLS - x : width;
    bool is_cut = text_columns(text) > width;
    int room = is_cut ? width - 1 : width;
    (void)attrset((int)attributes(style));
    (void)move(y, x);
    for (size_t n; (n = next_char(text, &c, &columns)) > 0; text += n) {
        if (done + columns > room) {
            break;
        }
        (void)addnwstr(&c, 1);
        done += columns;
    }
    if (is_cut) {
        (void)addnwstr(is_wide ? L"\u2026" : L"~", 1);
        done++;
    }
    for (int i = done; i < width; i++) {
        (void)addch(' ');
    }
    return done;
}

void top_screen_put_right(int y, int x, int width, enum top_style style,
                          const char *text)
{
    int columns = text_columns(text);
    int blank = columns < width ? width - columns : 0;
    (void)top_screen_put(y, x, blank, style, "");
    (void)top_screen_put(y, x + blank, width - blank, style, text);
}

void top_screen_rule(int y)
{
    (void)attrset((int)attributes(TOP_FAINT));
    (void)mvhline(y, 0, is_wide ? 0 : '-', COLS);
}

void top_screen_cursor(int y, int x)
{
    (void)curs_set(y < 0 ? 0 : 1);
    if (y >= 0) {
        (void)move(y, x < COLS ? x : COLS - 1);
    }
}

void top_screen_erase(void)
{
    (void)erase();
}

void top_screen_show(void)
{
    (void)wnoutrefresh(stdscr);
    (void)doupdate();
}

/* ---- Keys -------------------------------------------------------------- */

int top_screen_key(void)
{
    int key = getch();
    switch (key) {
    case ERR:
        return TOP_NONE;
    case KEY_UP:
        return TOP_KEY_UP;
    case KEY_DOWN:
        return TOP_KEY_DOWN;
    case KEY_PPAGE:
        return TOP_KEY_PAGE_UP;
    case KEY_NPAGE:
        return TOP_KEY_PAGE_DOWN;
    case KEY_HOME:
        return TOP_KEY_HOME;
    case KEY_END:
        return TOP_KEY_END;
    case KEY_ENTER:
    case '\r':
    case '\n':
        return TOP_KEY_ENTER;
    case KEY_BACKSPACE:
    case 0x7f:
    case '\b':
        return TOP_KEY_ERASE;
    case 0x1b:
        return TOP_KEY_ESCAPE;
    case 0x0c:
        return TOP_KEY_REDRAW;
    default:
        return key < 256 ? key : TOP_KEY_OTHER;
    }
}
