import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// Makes everything invalid that is stored in a group of an origin (RFC 9875 §2.1), and what is on its way for it.
  ///
  /// - Parameter target: any URI of the origin.
  public func invalidateGroup(_ group: String, of target: TargetURI) {
    invalidate(target, group)
  }

  /// Makes everything invalid that is stored of an origin, and what is on its way for it.
  public func invalidateOrigin(of target: TargetURI) {
    invalidate(target, nil)
  }

  private func invalidate(_ target: TargetURI, _ group: String?) {
    store.mark([StoreScope(CacheKey(keyed(target), partition: configuration.partition).scope(group: group))])
  }
}
