// One import does for the two lines that switch the cache on.
@_exported import HTTPCaching
