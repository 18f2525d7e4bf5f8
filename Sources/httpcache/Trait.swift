#if !CommandLine
  #error("httpcache needs the trait CommandLine: pass --traits CommandLine or set it in your .package")
#endif
