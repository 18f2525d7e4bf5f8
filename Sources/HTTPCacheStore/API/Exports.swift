// The type of a folder's path.
@_exported import struct SystemPackage.FilePath
