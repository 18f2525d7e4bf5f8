#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

/// How many blocks this process has asked malloc and its kin for; -1 where that cannot be counted.
long allocation_count(void);

#endif
