// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A setting in use, as the admin port shows it.
package struct ShownSetting: Hashable, Sendable {
  /// The name of the site that it is for; `nil` if it is for all.
  package var site: String?
  package var name: String
  package var value: String
  /// Where it was set: `--memory`, or `proxy.yaml:3`; `nil` for a default.
  package var place: String?

  package init(site: String? = nil, name: String, value: String, place: String? = nil) {
    (self.site, self.name, self.value, self.place) = (site, name, value, place)
  }
}
