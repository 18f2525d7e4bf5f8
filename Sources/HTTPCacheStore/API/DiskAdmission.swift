/// What is written to disk.
public enum DiskAdmission: String, Sendable, Hashable, CaseIterable {
  /// Everything that disk is asked for.
  case everything
  /// What was stored under the same key before, lately: most of what is asked for on the web is asked for once.
  ///
  /// What comes for the first time is kept in memory only, and is lost when it leaves that, or at the end of the process.
  /// What memory is not asked for, or is too small for, is written all the same.
  case secondTime
}
