#if !Proxy
  #error("HTTPCacheProxy needs the trait Proxy: pass --traits Proxy or set it in your .package")
#endif
