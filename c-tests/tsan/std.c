// Rust's standard library comes compiled without ThreadSanitizer. Most of its locks are compiled into the program, and seen; these
// functions are not. Put around them, these say what each of them orders. c-tests/tsan/test.sh gives their names.
#include <stdbool.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// Of `&mut dyn FnMut(&OnceState)`: drop, size, alignment, `call_once`, `call_mut`.
typedef struct {
  const void *unused[4];
  void (*call_mut)(void *closure, void *state);
} vtable;

typedef struct {
  void *once, *closure;
  const vtable *vtable;
} first;

void JOIN(__real_, ONCE_CALL)(void *once, bool ignore_poison, void *closure, const vtable *vtable);
void JOIN(__real_, MUTEX_LOCK_CONTENDED)(void *mutex);

// What the closure has written is seen by whoever sees that it has run.
static void run_and_release(void *data, void *state) {
  const first *first = data;
  first->vtable->call_mut(first->closure, state);
  __tsan_release(first->once);
}

void JOIN(__wrap_, ONCE_CALL)(void *once, bool ignore_poison, void *closure, const vtable *vtable_of_closure) {
  static const vtable ours = {.call_mut = run_and_release};
  first first = {once, closure, vtable_of_closure};
  JOIN(__real_, ONCE_CALL)(once, ignore_poison, &first, &ours);
  __tsan_acquire(once);
}

// Unlocking is seen.
void JOIN(__wrap_, MUTEX_LOCK_CONTENDED)(void *mutex) {
  JOIN(__real_, MUTEX_LOCK_CONTENDED)(mutex);
  __tsan_acquire(mutex);
}
