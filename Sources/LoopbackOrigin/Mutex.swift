// A declaration of the module's own takes the place of an imported one: see `PthreadMutex`.
#if SANITIZES_THREADS
  import SanitizableMutex

  typealias Mutex = PthreadMutex
#endif
