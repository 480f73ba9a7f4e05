// Preloaded into a Python process: refuses threads and memory when it is told to.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> threads_left{-1}, allocations_left{-1};  // negative: as many as wanted

// Whether this one is refused. All threads are, once they are used up; of allocations only one.
bool refuse_thread() {
    long left = threads_left.load();
    while (left > 0 && !threads_left.compare_exchange_weak(left, left - 1)) {
    }
    return left == 0;
}

bool refuse_allocation() {
    long left = allocations_left.load();
    while (left >= 0 && !allocations_left.compare_exchange_weak(left, left - 1)) {
    }
    return left == 0;
}

void* allocate(std::size_t size, std::size_t alignment) {
    void* memory = nullptr;
    if (refuse_allocation() || posix_memalign(&memory, alignment, size) != 0) throw std::bad_alloc();
    return memory;
}
}  // namespace

extern "C" {
void refuse_threads_after(long count) { threads_left = count; }
void refuse_allocation_after(long count) { allocations_left = count; }
long allocations_remaining() { return allocations_left; }

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
    static const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return refuse_thread() ? EAGAIN : create(thread, attributes, run, argument);
}
}

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
