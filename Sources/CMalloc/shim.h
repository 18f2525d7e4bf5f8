// What glibc's malloc says of itself, which Swift's module of glibc leaves out.
#pragma once
#if defined(__linux__)
#include <malloc.h>
#endif
