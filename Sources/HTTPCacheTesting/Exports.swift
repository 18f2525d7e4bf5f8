// Stubs and archives speak in the terms of HTTPTypes, and of the cache.
@_exported import HTTPCaching
