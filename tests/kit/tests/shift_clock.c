/* Shifts the wall clock of a process by the seconds that the file SHIFT_CLOCK_FILE names holds;
 * loaded with LD_PRELOAD. The monotonic clock stays: setting a machine's clock leaves it alone.
 * A wait until a moment of the wall clock that is under way when the clock is set lasts longer or
 * shorter by as much, as with the kernel.
 * Must not be in here: any other function of time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 50000000L
#define SECOND_NS 1000000000L

static long shift_seconds(void) {
    const char *path = getenv("SHIFT_CLOCK_FILE");
    char text[32] = {0};
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 ? atol(text) : 0;
}

static int real_clock(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    return real(clock, now);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = real_clock(clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += shift_seconds();
    return result;
}

int timespec_get(struct timespec *now, int base) {
    return clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return result;
}

time_t time(time_t *at) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (at) *at = exact.tv_sec;
    return exact.tv_sec;
}

static int is_before(const struct timespec *one, const struct timespec *other) {
    if (one->tv_sec != other->tv_sec) return one->tv_sec < other->tv_sec;
    return one->tv_nsec < other->tv_nsec;
}

typedef int (*timed_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    static timed_wait real;
    if (!real) real = (timed_wait)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real) real = (timed_wait)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    for (;;) {
        struct timespec end = *until, slice;
        end.tv_sec -= shift_seconds();
        real_clock(CLOCK_REALTIME, &slice);
        if (!is_before(&slice, &end)) return ETIMEDOUT;
        slice.tv_nsec += SLICE_NS;
        slice.tv_sec += slice.tv_nsec / SECOND_NS;
        slice.tv_nsec %= SECOND_NS;
        int result = real(condition, mutex, is_before(&slice, &end) ? &slice : &end);
        if (result != ETIMEDOUT) return result;
    }
}

/* In glibc both kinds of condition and of mutex are the same. */
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
                  const struct timespec *restrict until) {
    int result = pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until);
    return result == 0 ? thrd_success : result == ETIMEDOUT ? thrd_timedout : thrd_error;
}
