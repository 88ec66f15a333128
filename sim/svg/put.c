/* SPDX-License-Identifier: Apache-2.0 */
/* The marks of a picture, and their styles. */
#include "svg/svg.h"

#include <string.h>

/* Okabe and Ito's colours, which colour-blind readers can distinguish, by
 * process: c1 … c8. Red is only for faults and breaches, always with a shape of
 * its own. Patterns distinguish states without any colour. */
static const char style[] =
    "<style>\n"
    "text{font-family:'Inter','Segoe UI','Helvetica Neue',Helvetica,Arial,"
    "'DejaVu Sans',sans-serif;fill:#1f2933}\n"
    ".title{font-size:20px;font-weight:600}\n"
    ".caption{font-size:13px;fill:#52606d}\n"
    ".who{font-size:13px;font-weight:600}\n"
    ".what{font-size:10.5px;fill:#7b8794}\n"
    ".small{font-size:10.5px;fill:#3e4c59}\n"
    ".in{font-size:11.5px;font-weight:600;fill:#fff}\n"
    ".dark{fill:#1f2933}\n"
    ".end{text-anchor:end}.mid{text-anchor:middle}\n"
    ".bad{fill:#b00020;font-weight:600}\n"
    ".paper{fill:#fcfcfa;stroke:#d9dee3}\n"
    ".lane{fill:#f1f3f5}.node{fill:#e9edf1}\n"
    ".grid{stroke:#dfe4e8;stroke-width:1}\n"
    ".axis{stroke:#9aa5b1;stroke-width:1}\n"
    ".c1{fill:#0072b2}.c2{fill:#e69f00}.c3{fill:#009e73}.c4{fill:#cc79a7}\n"
    ".c5{fill:#56b4e9}.c6{fill:#8c6d31}.c7{fill:#5b6770}.c8{fill:#d9c400}\n"
    ".s1{stroke:#0072b2}.s2{stroke:#c98b00}.s3{stroke:#009e73}"
    ".s4{stroke:#b95f90}\n"
    ".s5{stroke:#3b9fd8}.s6{stroke:#8c6d31}.s7{stroke:#5b6770}"
    ".s8{stroke:#b3a200}\n"
    ".t1{fill:#005a8e}.t2{fill:#8a5f00}.t3{fill:#006b4e}.t4{fill:#9c4a78}\n"
    ".t5{fill:#22719f}.t6{fill:#6b5325}.t7{fill:#434e56}.t8{fill:#7a6f00}\n"
    ".halo{paint-order:stroke;stroke:#fcfcfa;stroke-width:4}\n"
    ".pale{fill-opacity:.3}.wait{fill-opacity:.28}\n"
    ".thin{stroke-width:1;fill:none}\n"
    ".ask{stroke-width:1;stroke-opacity:.6;fill:none}\n"
    ".reply{stroke-width:1;stroke-opacity:.35;fill:none}\n"
    ".push{stroke-width:2.4;fill:none}\n"
    ".lease{stroke-width:1.6;fill:none}\n"
    ".kept{stroke-width:1;fill-opacity:.45}\n"
    ".no{fill:#fcfcfa;stroke-width:1.4}\n"
    ".risk{fill:url(#risk)}.pause{fill:url(#pause)}\n"
    ".doubt{fill:url(#doubt);stroke:#7b8794;stroke-width:.8}\n"
    ".gone{fill:#aab2bb}\n"
    ".apart{fill:#f6d8a8;fill-opacity:.55}\n"
    ".fault{fill:#fde3c8;stroke:#b45309;stroke-width:.8}\n"
    ".since{stroke:#b45309;stroke-width:1;stroke-dasharray:2 3}\n"
    ".ring{stroke:#b00020}\n"
    ".red{stroke:#b00020;stroke-width:2;fill:none}\n"
    ".both{fill:#b00020;fill-opacity:.14}\n"
    ".edge{stroke:#b00020;stroke-width:1;stroke-dasharray:4 3}\n"
    ".beyond{fill:#fff;fill-opacity:.7;stroke:#b00020;stroke-width:1.2;"
    "stroke-dasharray:3 2}\n"
    ".ink{stroke:#1f2933;stroke-width:1.2;fill:none}\n"
    ".full{fill:#1f2933}\n"
    "</style>\n";

static const char patterns[] =
    "<defs>\n"
    "<pattern id=\"risk\" width=\"6\" height=\"6\" "
    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
    "<rect width=\"3\" height=\"6\" fill=\"#fff\" fill-opacity=\".55\"/>"
    "</pattern>\n"
    "<pattern id=\"pause\" width=\"7\" height=\"7\" "
    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\">"
    "<rect width=\"7\" height=\"7\" fill=\"#cbd2d9\" fill-opacity=\".35\"/>"
    "<rect width=\"1.6\" height=\"7\" fill=\"#52606d\" fill-opacity=\".6\"/>"
    "</pattern>\n"
    "<pattern id=\"doubt\" width=\"8\" height=\"8\" "
    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
    "<rect width=\"8\" height=\"8\" fill=\"#fcfcfa\"/>"
    "<rect width=\"3\" height=\"8\" fill=\"#cbd2d9\"/></pattern>\n"
    "</defs>\n";

void svg_put_head(FILE *out, int width, int height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "width=\"%d\" height=\"%d\" role=\"img\">\n",
            width / 10, height / 10, width / 10, height / 10);
    fputs(style, out);
    fputs(patterns, out);
}

static const char *escape_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return (unsigned char)c < ' ' ? " " : NULL;
    }
}

void svg_put_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *escape = escape_of(*text);
        if (escape != NULL) {
            fputs(escape, out);
        } else {
            fputc(*text, out);
        }
    }
}

void svg_put_rect(FILE *out, int x, int y, int width, int height,
                  const char *classes)
{
    int least = width < 5 ? 5 : width; /* a short span stays visible */
    fprintf(out,
            "<rect x=\"" SVG_PX "\" y=\"" SVG_PX "\" width=\"" SVG_PX
            "\" height=\"" SVG_PX "\" class=\"%s\"/>\n",
            SVG_AT(x), SVG_AT(y), SVG_AT(least), SVG_AT(height), classes);
}

void svg_put_line(FILE *out, int x1, int y1, int x2, int y2,
                  const char *classes)
{
    fprintf(out,
            "<path d=\"M" SVG_PX " " SVG_PX "L" SVG_PX " " SVG_PX
            "\" class=\"%s\"/>\n",
            SVG_AT(x1), SVG_AT(y1), SVG_AT(x2), SVG_AT(y2), classes);
}

void svg_put_dot(FILE *out, int x, int y, int radius, const char *classes)
{
    fprintf(out,
            "<circle cx=\"" SVG_PX "\" cy=\"" SVG_PX "\" r=\"" SVG_PX
            "\" class=\"%s\"/>\n",
            SVG_AT(x), SVG_AT(y), SVG_AT(radius), classes);
}

void svg_put_cross(FILE *out, int x, int y, int radius, const char *classes)
{
    svg_put_line(out, x - radius, y - radius, x + radius, y + radius, classes);
    svg_put_line(out, x - radius, y + radius, x + radius, y - radius, classes);
}

void svg_put_text(FILE *out, int x, int y, const char *classes,
                  const char *text)
{
    fprintf(out, "<text x=\"" SVG_PX "\" y=\"" SVG_PX "\" class=\"%s\">",
            SVG_AT(x), SVG_AT(y), classes);
    svg_put_escaped(out, text);
    fputs("</text>\n", out);
}

int svg_text_width(const char *text)
{
    return (int)strlen(text) * 62;
}
