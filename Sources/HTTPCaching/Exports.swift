// The cache speaks in the engine's terms (Reason, RequestCachePolicy) and in those of HTTPTypes.
@_exported import HTTPCacheEngine
@_exported import HTTPTypes
