#if !Benchmarks
  #error("CacheBench needs the trait Benchmarks: pass --traits Benchmarks or set it in your .package")
#endif
