/* Rows of numbers in text: doubles rounded correctly, stamps with every digit.

Decimals become doubles by Eisel and Lemire's multiplication with 128-bit powers of five (Lemire,
"Number Parsing at a Gigabyte per Second", 2021); the caller gives the powers, and reads by itself
what is not decided so: exponents beyond the powers, more than 19 digits at a tie, nan, inf. */

#include <stdint.h>
#include <string.h>

enum { LEAST_POWER = -80, LARGEST_POWER = 80, DIGITS = 19, LONGEST = 64 };

/* Of the caller. A word that is no number is 0.0, one that is no stamp is INT64_MIN. */
typedef double (*ReadNumber)(const char *word, int64_t size);
typedef int64_t (*ReadStamp)(const char *word, int64_t size);
typedef void (*NoteComment)(int64_t line, int64_t offset);

typedef struct {
    const uint64_t *powers;         /* of five, 128 bits each, the high ones first */
    int64_t stamps, width, places;  /* leading stamps, columns; 9 for seconds, 0 for nanoseconds */
    ReadNumber read_number;
    ReadStamp read_stamp;
    NoteComment note_comment;
} Form;

/* A decimal: digits * 10^power, or more than that by less than one digit where some are left out. */
typedef struct { uint64_t digits; int64_t power; int negative, inexact; } Decimal;

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
static int is_end(char c) { return c == '\n' || c == '\r'; }
static int is_digit(char c) { return (unsigned char)(c - '0') < 10; }

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at)) at++;
    return at;
}

static const uint64_t TENS[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* Decimal digits of a number below 10^8: 1233 / 4096 is about the logarithm of two. */
static int length_of(uint64_t number) {
    int least = number ? (64 - __builtin_clzll(number)) * 1233 >> 12 : 0;
    return least + (number >= TENS[least]);
}

/* One more digit, if it is one; those beyond the first 19 are counted. -> how many were taken. */
static int take_digit(Decimal *found, int *count, const char *at, const char *end) {
    if (at == end || !is_digit(*at)) return 0;
    if (*count < DIGITS) {
        found->digits = 10 * found->digits + (uint64_t)(*at - '0');
        *count += found->digits != 0;
    } else {
        found->power++;
        found->inexact |= *at != '0';
    }
    return 1;
}

/* Up to eight more digits at once, where a machine's first byte is the lowest: what follows them
is shifted out, and three multiplications join neighbours (Lemire's paper). -> how many. */
static inline int take_digits(Decimal *found, int *count, const char *at, const char *end) {
    uint64_t eight;
    int taken = 8;
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || end - at < 8)
        return take_digit(found, count, at, end);
    memcpy(&eight, at, 8);
    eight ^= 0x3030303030303030;
    uint64_t other = (eight | (eight + 0x7676767676767676)) & 0x8080808080808080;
    if (other) {
        taken = __builtin_ctzll(other) >> 3;
        if (!taken) return 0;
        eight <<= 64 - 8 * taken;
    }
    if (*count + taken > DIGITS) return take_digit(found, count, at, end);
    eight = (eight & 0x0F0F0F0F0F0F0F0F) * 2561 >> 8;
    eight = (eight & 0x00FF00FF00FF00FF) * 6553601 >> 16;
    eight = (eight & 0x0000FFFF0000FFFF) * 42949672960001 >> 32;
    *count = *count ? *count + taken : length_of(eight);
    found->digits = TENS[taken] * found->digits + eight;
    return taken;
}

/* The decimal at a place, and the place behind it; NULL where there is none. */
static const char *read_decimal(const char *at, const char *end, Decimal *found) {
    int count = 0, any = 0, taken;
    *found = (Decimal){0, 0, at < end && *at == '-', 0};
    if (at < end && (*at == '-' || *at == '+')) at++;
    for (; take_digit(found, &count, at, end); at++) any = 1;
    if (at < end && *at == '.')
        for (at++; (taken = take_digits(found, &count, at, end)); at += taken, any = 1)
            found->power -= taken;
    if (!any) return NULL;
    if (at < end && (*at | 32) == 'e') {
        int64_t exponent = 0;
        int negative = ++at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) at++;
        if (at == end || !is_digit(*at)) return NULL;
        for (; at < end && is_digit(*at); at++)
            if (exponent < 100000) exponent = 10 * exponent + (*at - '0');
        found->power += negative ? -exponent : exponent;
    }
    return at;
}

/* digits * 10^power as a double; 0 where that is not decided. */
static int to_double(uint64_t digits, int64_t power, const uint64_t *powers, double *out) {
    uint64_t bits = 0;
    if (digits && (power < LEAST_POWER || power > LARGEST_POWER)) return 0;
    if (digits) {
        const uint64_t *five = powers + 2 * (power - LEAST_POWER);
        int zeros = __builtin_clzll(digits);
        uint64_t w = digits << zeros;
        unsigned __int128 product = (unsigned __int128)w * five[0];
        if (((uint64_t)(product >> 64) & 0x1FF) == 0x1FF)
            product += (uint64_t)(((unsigned __int128)w * five[1]) >> 64);
        uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
        int upper = (int)(high >> 63), shift = upper + 9;
        uint64_t mantissa = high >> shift;
        int64_t exponent = ((217706 * power) >> 16) + 1086 + upper - zeros;
        if (exponent <= 0 || exponent >= 2046) return 0;
        int tie = low <= 1 && power >= -4 && power <= 23 && (mantissa & 3) == 1;
        if (tie && mantissa << shift == high) mantissa &= ~(uint64_t)1;
        mantissa = (mantissa + (mantissa & 1)) >> 1;
        exponent += (int64_t)(mantissa >> 53);  /* rounded up to the next power of two */
        bits = (mantissa & (((uint64_t)1 << 52) - 1)) | (uint64_t)exponent << 52;
    }
    memcpy(out, &bits, sizeof bits);
    return 1;
}

static int as_double(const Decimal *it, const uint64_t *powers, double *out) {
    double more;
    if (!to_double(it->digits, it->power, powers, out)) return 0;
    if (it->inexact && (!to_double(it->digits + 1, it->power, powers, &more) || more != *out))
        return 0;
    if (it->negative) *out = -*out;
    return 1;
}

/* The decimal times 10^places, seconds rounded half to even; 0 where that is not decided. */
static int as_whole(const Decimal *it, int64_t places, int64_t *out) {
    uint64_t whole = it->digits, unit = 1;
    int64_t power = it->power + places;
    if (it->inexact || power < (places ? -18 : 0)) return 0;
    for (; power > 0 && whole; power--) {
        if (whole > INT64_MAX / 10) return 0;
        whole *= 10;
    }
    for (; power < 0; power++) unit *= 10;
    uint64_t rest = whole % unit;
    whole /= unit;
    whole += rest > unit - rest || (rest == unit - rest && (whole & 1));
    if (whole > INT64_MAX) return 0;
    *out = it->negative ? -(int64_t)whole : (int64_t)whole;
    return 1;
}

/* Behind the word that goes on here. */
static const char *word_end(const char *at, const char *end) {
    while (at < end && !is_blank(*at) && !is_end(*at) && *at != ',') at++;
    return at;
}

/* Behind the separator: blanks, or one comma among blanks; NULL where another is begun with. */
static const char *skip_separator(const char *at, const char *end, int *commas) {
    const char *next = skip_blanks(at, end);
    int comma = next < end && *next == ',';
    if (*commas < 0) *commas = comma;
    if (comma != *commas || (!comma && next == at)) return NULL;
    return comma ? skip_blanks(next + 1, end) : next;
}

/* One row; NULL where it is none. */
static const char *read_row(const char *at, const char *end, const Form *form, int64_t *stamp,
                            double *value) {
    int commas = -1;
    for (int64_t column = 0; column < form->width; column++) {
        if (column && !(at = skip_separator(at, end, &commas))) return NULL;
        Decimal found;
        const char *behind = read_decimal(at, end, &found);
        const char *last = word_end(behind ? behind : at, end);
        int plain = behind == last;
        if (column < form->stamps) {
            if (!plain || last - at > LONGEST || !as_whole(&found, form->places, stamp + column))
                stamp[column] = form->read_stamp(at, last - at);
            if (stamp[column] == INT64_MIN) return NULL;
        } else {
            double *to = value + column - form->stamps;
            if (!plain || !as_double(&found, form->powers, to))
                *to = form->read_number(at, last - at);
            if (!plain && *to == 0.0) return NULL;  /* nan and inf are not plain either */
        }
        at = last;
    }
    at = skip_blanks(at, end);
    return at == end || is_end(*at) ? at : NULL;
}

/* All rows of a text, up to the first line that is none. -> their count, and how far it came. */
int64_t parse_rows(const char *text, int64_t size, const Form *form, int64_t *stamp, double *value,
                   int64_t *line, int64_t *lines, int64_t *fault) {
    const char *at = text, *end = text + size;
    int64_t rows = 0, number = 0;
    *fault = -1;
    for (; at < end; number++) {
        const char *begin = at;
        at = skip_blanks(at, end);
        if (at < end && *at == '#') {
            form->note_comment(number, begin - text);
            while (at < end && !is_end(*at)) at++;
        } else if (at < end && !is_end(*at)) {
            at = read_row(at, end, form, stamp + rows * form->stamps,
                          value + rows * (form->width - form->stamps));
            if (!at) {
                *fault = begin - text;
                break;
            }
            line[rows++] = number;
        }
        if (at < end && *at++ == '\r' && at < end && *at == '\n') at++;
    }
    *lines = number;
    return rows;
}
