// What glibc offers about its malloc, which Swift's module of glibc leaves out.
#pragma once
#if defined(__linux__)
#include <malloc.h>
#endif
