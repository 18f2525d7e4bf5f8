#if !Observing
  #error("HTTPCacheObserving needs the trait Observing: pass --traits Observing or set it in your .package")
#endif
