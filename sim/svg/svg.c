/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of a run: collected note by note, drawn at the end (svg.h). */
#include "svg/svg.h"

#include <stdlib.h>
#include <string.h>

void *svg_grow(void *array, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return array;
    }
    *cap = *cap == 0 ? 64 : *cap * 2;
    array = realloc(array, *cap * size);
    if (array == NULL) {
        abort();
    }
    return array;
}

struct sim_picture *sim_picture_new(void)
{
    struct sim_picture *picture = calloc(1, sizeof(*picture));
    if (picture == NULL) {
        abort();
    }
    return picture;
}

void sim_picture_free(struct sim_picture *picture)
{
    if (picture == NULL) {
        return;
    }
    for (size_t i = 0; i < picture->n; i++) {
        free((char *)(uintptr_t)picture->notes[i].text);
        free((char *)(uintptr_t)picture->notes[i].result);
    }
    free(picture->notes);
    free(picture);
}

static char *copy_of(const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy == NULL) {
        abort();
    }
    return memcpy(copy, text, size);
}

void sim_picture_note(void *user, const struct sim_note *note)
{
    struct sim_picture *picture = user;
    picture->notes = svg_grow(picture->notes, picture->n, &picture->cap,
                              sizeof(picture->notes[0]));
    struct sim_note *mine = &picture->notes[picture->n++];
    *mine = *note;
    mine->text = copy_of(note->text);
    mine->result = copy_of(note->result);
}

void sim_picture_draw(const struct sim_picture *picture,
                      const struct sim_story *story, const char *title,
                      FILE *out)
{
    struct svg_page *page = calloc(1, sizeof(*page));
    if (page == NULL) {
        abort();
    }
    page->picture = picture;
    page->story = story;
    page->out = out;
    svg_model_make(&page->model, picture, story);
    svg_title_make(page, title);
    svg_page_make(page);
    svg_draw_title(page);
    svg_draw_ground(page);
    svg_draw_axis(page);
    svg_draw_faults(page);
    svg_draw_messages(page);
    svg_draw_kept(page);
    svg_draw_holds(page);
    svg_draw_pauses(page);
    svg_draw_ends(page);
    svg_draw_writes(page);
    svg_draw_legend(page);
    fputs("</svg>\n", out);
    svg_model_fini(&page->model);
    free(page);
}
