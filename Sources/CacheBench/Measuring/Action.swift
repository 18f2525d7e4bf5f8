/// What is measured.
enum Action: String, CaseIterable, Codable, Sendable {
  /// A lookup of what is there; the key is built from a request, and that is a part of it.
  case get
  /// The same with the key at hand: the table alone.
  case getByKey
  /// The same, and a byte of the body read, as whoever looks it up will.
  case getAndRead
  /// A lookup and the whole decision of `HTTPCache.storedResponse(for:policy:)`, to the head that is handed out.
  case decide
  /// A lookup of what is not there.
  case miss
  /// Adding what was not there yet, head and body at hand.
  case store
  /// The same over and over in a cache that holds all keys: each takes the place of what was stored before.
  case storeAgain
  /// The same from the origin's head on: whether it may be stored, for how long, and its bytes.
  case judgeAndStore
  /// A lookup, and adding what it did not find, in a cache that cannot hold everything; in a workload, each tenth is
  /// not looked up but stored.
  case mixed
  /// Adding what is not there, in a cache that is full: something else has to go.
  case churn
  /// The engine's outcome for a response that has just come: its fields parsed, whether it may be stored, for how long.
  case judge
  /// A lookup that reads from disk, body included.
  case diskGet
  /// Adding what was not there yet, to disk.
  case diskStore

  var title: String {
    switch self {
    case .get: "get"
    case .getByKey: "get, key at hand"
    case .getAndRead: "get and read a byte"
    case .decide: "get and decide"
    case .miss: "miss"
    case .store: "store"
    case .storeAgain: "store, all held"
    case .judgeAndStore: "judge and store"
    case .mixed: "get, or store"
    case .churn: "store and evict"
    case .judge: "judge a response"
    case .diskGet: "disk get"
    case .diskStore: "disk store"
    }
  }

  /// Whether a cache is filled by it, each key once.
  var isFilling: Bool { self == .store || self == .judgeAndStore || self == .diskStore }

  /// Whether it looks nothing up, so that there are no hits to count.
  var onlyStores: Bool { isFilling || self == .storeAgain || self == .churn || self == .judge }

  /// Whether every operation is to succeed (`true`), none (`false`), or either.
  func mustSucceed(isBounded: Bool) -> Bool? {
    switch self {
    case .miss: false
    case .mixed: nil
    case .storeAgain: nil  // Of two threads that store the same key at once, one is refused.
    case .get, .getByKey, .getAndRead, .decide: isBounded ? nil : true
    case .store, .judgeAndStore, .churn, .judge, .diskGet, .diskStore: true
    }
  }
}
