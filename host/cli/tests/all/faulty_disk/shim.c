// Fails one call of the C library on the files of one folder, for tests of what becomes of files then.
//
// FAULT_FOLDER   the folder
// FAULT_AT       number of the call that fails, from 1; 0: none
// FAULT_ERRNO    how it fails
// FAULT_LOG      a file that gets the name of every call, one a line
// FAULT_NO_TMPFILE   set: the file system knows no files without a name

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST = 4096 };
static char watched[MOST];
static int calls;

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static int is_inside(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    size_t length = folder ? strlen(folder) : 0;
    char absolute[MOST];
    if (path && path[0] != '/' && getcwd(absolute, MOST / 2) && strlen(path) < MOST / 2 - 1)
        path = strcat(strcat(absolute, "/"), path);
    return length && path && strncmp(path, folder, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static int is_watched(int file) { return file >= 0 && file < MOST && watched[file]; }

static int watch(int file) {
    if (file >= 0 && file < MOST) watched[file] = 1;
    return file;
}

// Counts a call; whether it has to fail.
static int fails(const char *name) {
    const char *log = getenv("FAULT_LOG"), *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERRNO");
    int number = __sync_add_and_fetch(&calls, 1);
    if (log) {
        int file = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (REAL(write)(file, name, strlen(name)) < 0 || REAL(write)(file, "\n", 1) < 0) abort();
        close(file);
    }
    if (!at || number != atoi(at)) return 0;
    errno = error ? atoi(error) : EIO;
    return 1;
}

static int open_any(typeof(&open) real, const char *path, int flags, mode_t mode) {
    if (!is_inside(path)) return real(path, flags, mode);
    if ((flags & O_TMPFILE) == O_TMPFILE && getenv("FAULT_NO_TMPFILE")) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return fails("open") ? -1 : watch(real(path, flags, mode));
}

#define MODE(flags) \
    mode_t mode = 0; \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest)

int open(const char *path, int flags, ...) { MODE(flags); return open_any(REAL(open), path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags); return open_any(REAL(open64), path, flags, mode); }
int openat(int at, const char *path, int flags, ...) {
    MODE(flags);
    if (!is_inside(path)) return REAL(openat)(at, path, flags, mode);
    return fails("open") ? -1 : watch(REAL(openat)(at, path, flags, mode));
}
int openat64(int at, const char *path, int flags, ...) { MODE(flags); return openat(at, path, flags, mode); }

int close(int file) {
    if (is_watched(file)) watched[file] = 0;
    return REAL(close)(file);
}

ssize_t write(int file, const void *bytes, size_t count) {
    return is_watched(file) && fails("write") ? -1 : REAL(write)(file, bytes, count);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
    return is_watched(file) && fails("write") ? -1 : REAL(writev)(file, parts, count);
}
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t count, unsigned flags) {
    return is_watched(out) && fails("write") ? -1 : REAL(copy_file_range)(in, from, out, to, count, flags);
}
int fsync(int file) { return is_watched(file) && fails("fsync") ? -1 : REAL(fsync)(file); }
int fdatasync(int file) { return is_watched(file) && fails("fsync") ? -1 : REAL(fdatasync)(file); }
int ftruncate(int file, off_t size) { return is_watched(file) && fails("ftruncate") ? -1 : REAL(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) {
    return is_watched(file) && fails("ftruncate") ? -1 : REAL(ftruncate64)(file, size);
}
off_t lseek(int file, off_t to, int whence) {
    return is_watched(file) && fails("lseek") ? -1 : REAL(lseek)(file, to, whence);
}
off64_t lseek64(int file, off64_t to, int whence) {
    return is_watched(file) && fails("lseek") ? -1 : REAL(lseek64)(file, to, whence);
}
int fchmod(int file, mode_t mode) { return is_watched(file) && fails("fchmod") ? -1 : REAL(fchmod)(file, mode); }
int fchown(int file, uid_t user, gid_t group) {
    return is_watched(file) && fails("fchown") ? -1 : REAL(fchown)(file, user, group);
}
int rename(const char *from, const char *to) { return is_inside(to) && fails("rename") ? -1 : REAL(rename)(from, to); }
int renameat(int a, const char *from, int b, const char *to) {
    return is_inside(to) && fails("rename") ? -1 : REAL(renameat)(a, from, b, to);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    return is_inside(to) && fails("linkat") ? -1 : REAL(linkat)(a, from, b, to, flags);
}
int mkdir(const char *path, mode_t mode) { return is_inside(path) && fails("mkdir") ? -1 : REAL(mkdir)(path, mode); }
