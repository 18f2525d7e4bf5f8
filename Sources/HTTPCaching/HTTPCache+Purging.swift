import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// Makes everything invalid that is stored in a group of an origin (RFC 9875 §2.1), and what is on its way for it.
  ///
  /// - Parameters:
  ///   - target: any URI of the origin.
  ///   - partition: where; the configuration's, unless given.
  public func invalidateGroup(_ group: String, of target: TargetURI, partition: String? = nil) {
    invalidate(target, group, partition)
  }

  /// Makes everything invalid that is stored of an origin, and what is on its way for it.
  public func invalidateOrigin(of target: TargetURI, partition: String? = nil) {
    invalidate(target, nil, partition)
  }

  private func invalidate(_ target: TargetURI, _ group: String?, _ partition: String?) {
    let key = CacheKey(keyed(target), partition: partition ?? configuration.partition)
    store.mark([StoreScope(key.scope(group: group))])
  }
}
