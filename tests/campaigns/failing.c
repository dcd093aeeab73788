/* The GRADRANK_FAIL_AT-th write, rename, link, truncation or flush below GRADRANK_FAIL_IN fails with the error
   GRADRANK_FAIL_WITH, once in all processes that share the file GRADRANK_FAIL_COUNT: a byte is added to it a call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int inside(const char *path) {
    const char *root = getenv("GRADRANK_FAIL_IN");
    return root && path && strncmp(path, root, strlen(root)) == 0;
}

static int is_watched(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlink, link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return inside(path);
}

static int is_watched_path(const char *path) {
    char folder[4096], full[8192];
    if (path && path[0] == '/') return inside(path);
    if (!getcwd(folder, sizeof folder)) return 0;
    snprintf(full, sizeof full, "%s/%s", folder, path ? path : "");
    return inside(full);
}

/* Whether this call is the one that fails. */
static int fails(const char *what) {
    const char *count = getenv("GRADRANK_FAIL_COUNT"), *at = getenv("GRADRANK_FAIL_AT");
    struct stat now;
    if (!count || !at) return 0;
    int fd = syscall(SYS_openat, AT_FDCWD, count, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (fd < 0) return 0;
    syscall(SYS_write, fd, ".", 1);
    syscall(SYS_fstat, fd, &now);
    syscall(SYS_close, fd);
    if (now.st_size != atol(at)) return 0;
    char told[8192];
    snprintf(told, sizeof told, "%s.what", count);
    fd = syscall(SYS_openat, AT_FDCWD, told, O_WRONLY | O_CREAT, 0600);
    syscall(SYS_write, fd, what, strlen(what));
    syscall(SYS_close, fd);
    errno = atoi(getenv("GRADRANK_FAIL_WITH"));
    return 1;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    return is_watched(fd) && fails("write") ? -1 : real(fd, data, size);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    return is_watched(fd) && fails("pwrite64") ? -1 : real(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    return is_watched(fd) && fails("pwrite") ? -1 : real(fd, data, size, at);
}
ssize_t writev(int fd, const struct iovec *data, int count) {
    REAL(writev);
    return is_watched(fd) && fails("writev") ? -1 : real(fd, data, count);
}
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    REAL(copy_file_range);
    return is_watched(out) && fails("copy_file_range") ? -1 : real(in, from, out, to, size, flags);
}
ssize_t sendfile64(int out, int in, off64_t *from, size_t size) {
    ssize_t (*real)(int, int, off64_t *, size_t) = (ssize_t(*)(int, int, off64_t *, size_t))dlsym(RTLD_NEXT, "sendfile64");
    return is_watched(out) && fails("sendfile64") ? -1 : real(out, in, from, size);
}
int fsync(int fd) {
    REAL(fsync);
    return is_watched(fd) && fails("fsync") ? -1 : real(fd);
}
int fdatasync(int fd) {
    REAL(fdatasync);
    return is_watched(fd) && fails("fdatasync") ? -1 : real(fd);
}
int ftruncate64(int fd, off64_t size) {
    REAL(ftruncate64);
    return is_watched(fd) && fails("ftruncate64") ? -1 : real(fd, size);
}
int rename(const char *from, const char *to) {
    REAL(rename);
    return is_watched_path(to) && fails("rename") ? -1 : real(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
    REAL(renameat);
    return is_watched_path(to) && fails("renameat") ? -1 : real(a, from, b, to);
}
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return is_watched_path(path) && fails("mkdir") ? -1 : real(path, mode);
}
size_t fwrite(const void *data, size_t size, size_t count, FILE *stream) {
    REAL(fwrite);
    return is_watched(fileno(stream)) && fails("fwrite") ? 0 : real(data, size, count, stream);
}
int open64(const char *path, int flags, ...) {
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    return (flags & O_CREAT) && is_watched_path(path) && fails("open64") ? -1 : real(path, flags, mode);
}
