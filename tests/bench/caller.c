/* Calls a running server and times it. Usage: caller REQUESTS ANSWERS one|all
   Its stdin is the server's output and its stdout the server's input; REQUESTS holds a line for each call. `one`
   sends a line, waits for the line that answers, and so on; `all` writes as fast as the server takes it, reading
   meanwhile. ANSWERS gets what was answered; stderr a line with the nanoseconds of each call (`one`), and last the
   nanoseconds of the whole. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char *requests, *answers;
static size_t length, filled, capacity = 1 << 20;

static long long now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Read once; the number of lines that ended. */
static size_t take(void) {
    if (capacity - filled < 65536 && !(answers = realloc(answers, capacity *= 2))) fail("memory");
    ssize_t got = read(0, answers + filled, 65536);
    if (got <= 0) fail("the server ended");
    size_t lines = 0;
    for (ssize_t i = 0; i < got; i++) lines += answers[filled + (size_t)i] == '\n';
    filled += (size_t)got;
    return lines;
}

static void one(size_t count) {
    long long *took = malloc(count * sizeof *took);
    char *line = requests;
    if (!took) fail("memory");
    for (size_t i = 0; i < count; i++) {
        char *end = (char *)memchr(line, '\n', length - (size_t)(line - requests)) + 1;
        long long began = now();
        for (char *at = line; at < end;) {
            ssize_t wrote = write(1, at, (size_t)(end - at));
            if (wrote <= 0) fail("write");
            at += wrote;
        }
        while (!take()) {}
        took[i] = now() - began;
        line = end;
    }
    for (size_t i = 0; i < count; i++) fprintf(stderr, "%lld\n", took[i]);
}

static void all(size_t count) {
    size_t sent = 0, done = 0;
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
    while (done < count) {
        struct pollfd both[2] = {{0, POLLIN, 0}, {sent < length ? 1 : -1, POLLOUT, 0}};
        if (poll(both, 2, 60000) <= 0) fail("no answer");
        if (both[0].revents) done += take();
        if (both[1].revents) {
            ssize_t wrote = write(1, requests + sent, length - sent < 65536 ? length - sent : 65536);
            if (wrote > 0) sent += (size_t)wrote;
        }
    }
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) & ~O_NONBLOCK);
}

int main(int argc, char **argv) {
    FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (!file) fail("usage: caller REQUESTS ANSWERS one|all");
    fseek(file, 0, SEEK_END);
    length = (size_t)ftell(file);
    rewind(file);
    requests = malloc(length + 1);
    answers = malloc(capacity);
    if (!requests || !answers || fread(requests, 1, length, file) != length) fail("read");
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += requests[i] == '\n';
    long long began = now();
    if (strcmp(argv[3], "one")) all(count); else one(count);
    fprintf(stderr, "%lld\n", now() - began);
    file = fopen(argv[2], "wb");
    if (!file || fwrite(answers, 1, filled, file) != filled || fclose(file)) fail("write answers");
    return 0;
}
