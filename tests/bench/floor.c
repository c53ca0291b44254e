/* The floor: one tool over stdio in a few lines of C, answering just what the bench asks. No general server:
   it finds fields by their text and knows no escapes. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SIZE 1048576
static char in[SIZE], out[2 * SIZE];

static const char *value(const char *line, const char *key) {
    const char *found = strstr(line, key);
    return found ? found + strlen(key) : NULL;
}

static int answer(const char *line, char *to) {
    const char *id = value(line, "\"id\":"), *method = value(line, "\"method\":\""), *text;
    if (!id || !method) return 0;
    int digits = (int)strspn(id, "0123456789");
    if (!strncmp(method, "initialize\"", 11))
        return sprintf(to, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":"
            "{\"tools\":{}},\"serverInfo\":{\"name\":\"floor\",\"version\":\"0\"}}}\n", digits, id);
    if (!strncmp(method, "tools/list\"", 11))
        return sprintf(to, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":"
            "{\"type\":\"object\"}}]}}\n", digits, id);
    text = value(line, "\"text\":\"");
    int length = text ? (int)strcspn(text, "\"") : 0;
    return sprintf(to, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%.*s\"}]}}\n",
        digits, id, length, text ? text : "");
}

int main(void) {
    size_t have = 0;
    for (;;) {
        ssize_t got = read(0, in + have, SIZE - 1 - have);
        if (got <= 0) return 0;
        have += (size_t)got;
        in[have] = 0;
        char *line = in, *end;
        size_t fill = 0;
        while ((end = memchr(line, '\n', have - (size_t)(line - in)))) {
            *end = 0;
            fill += (size_t)answer(line, out + fill);
            line = end + 1;
        }
        have -= (size_t)(line - in);
        memmove(in, line, have);
        for (size_t sent = 0; sent < fill;) {
            ssize_t wrote = write(1, out + sent, fill - sent);
            if (wrote <= 0) return 0;
            sent += (size_t)wrote;
        }
    }
}
