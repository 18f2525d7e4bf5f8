// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A date in HTTP fields, in whole seconds (RFC 9110 §5.6.7).
///
/// All three formats are read: IMF-fixdate, and the obsolete RFC 850 and asctime formats. Names of days, months and the
/// zone are accepted in any case (§4.2 of RFC 9111 requires exactly this leniency). Everything else is strict: a date
/// that is accepted by mistake would make a stale response fresh.
public struct HTTPDate: Hashable, Sendable, Comparable {
  /// Seconds since 1970-01-01T00:00:00Z.
  package let secondsSince1970: Int64

  package init(secondsSince1970: Int64) {
    self.secondsSince1970 = secondsSince1970
  }

  /// Makes the date of a timestamp, without its milliseconds.
  public init(_ timestamp: Timestamp) {
    secondsSince1970 = timestamp.seconds
  }

  /// The same time as a timestamp.
  public var timestamp: Timestamp { Timestamp(seconds: secondsSince1970) }

  public static func < (lhs: HTTPDate, rhs: HTTPDate) -> Bool {
    lhs.secondsSince1970 < rhs.secondsSince1970
  }
}

// MARK: - Parsing

extension HTTPDate {
  /// Parses a field value; `nil` if it has none of the three formats.
  ///
  /// - Parameters:
  ///   - text: the field value.
  ///   - now: determines the century of the two-digit years of RFC 850: a date more than 50 years ahead counts as past
  ///     (RFC 9110 §5.6.7).
  public init?(parsing text: String, now: Timestamp) {
    guard let date = HTTPDate.parsed(text, now: now) else { return nil }
    self = date
  }

  static func parsed(_ text: String, now: Timestamp) -> HTTPDate? {
    text.withFieldBytes { bytes in
      parseFixdate(bytes).map { HTTPDate(secondsSince1970: $0) } ?? HTTPDate(parsing: bytes, now: now)
    }
  }

  init?(parsing bytes: Span<UInt8>, now: Timestamp) {
    if let seconds = Self.parseFixdate(bytes) {
      self.init(secondsSince1970: seconds)
      return
    }
    let range = bytes.trimmed(bytes.whole)
    var scanner = DateScanner(position: range.start, end: range.end)
    let day = scanner.letters(bytes)
    let parsed: Components?
    if day.count > 3, scanner.skip(",", bytes) {
      parsed = DateScanner.isLongWeekday(bytes, day) ? scanner.rfc850(bytes, now: now) : nil
    } else if day.count == 3, Self.isShortWeekday(Self.letters(bytes, day.start)) {
      parsed = scanner.skip(",", bytes) ? scanner.imfFixdate(bytes) : scanner.asctime(bytes)
    } else {
      parsed = nil
    }
    guard let parsed, scanner.isAtEnd, let seconds = parsed.secondsSince1970 else { return nil }
    self.init(secondsSince1970: seconds)
  }

  /// Parses exactly `Sun, 06 Nov 1994 08:49:37 GMT`: every character has a fixed position, so none is searched for.
  /// `nil` only means that the general parser must decide. Less than a third of its instructions.
  @inline(__always)
  private static func parseFixdate(_ bytes: Span<UInt8>) -> Int64? {
    guard bytes.count == 29 else { return nil }
    // `Sun, 06 `, `Nov 1994`, `08:49:37` and ` GMT`, the first character of each in the lowest byte.
    let (date, year, time) = (bytes.word(at: 0), bytes.word(at: 8), bytes.word(at: 17))
    let zone = bytes.word(at: 21) >> 32
    guard date & 0xFF00_00FF_FF00_0000 == 0x2000_0020_2C00_0000, year & 0xFF00_0000 == 0x2000_0000,
      bytes[16] == 0x20, zone & 0xFF == 0x20,
      isShortWeekday(letters(date)), let month = month(letters(year)),
      letters(zone >> 8) == 0x67_6D74  // gmt
    else { return nil }
    // The day and the year, and then the time: after the XOR, a digit is its number, and a colon is 0.
    let dateDigits = ((date >> 40) & 0xFFFF | (year >> 32) << 16) ^ 0x3030_3030_3030
    let timeDigits = time ^ 0x3030_3A30_303A_3030
    guard isDigits(dateDigits), isDigits(timeDigits), timeDigits & 0x0000_FF00_00FF_0000 == 0 else {
      return nil
    }
    return Components(
      year: pair(of: dateDigits, 2) &* 100 &+ pair(of: dateDigits, 4), month: month,
      day: pair(of: dateDigits, 0),
      hour: pair(of: timeDigits, 0), minute: pair(of: timeDigits, 3), second: pair(of: timeDigits, 6)
    ).secondsSince1970
  }

  /// Whether each byte is at most 9.
  @inline(__always)
  private static func isDigits(_ word: UInt64) -> Bool {
    // A byte of ten or more sets the upper bit.
    (word | ((word & ~UInt64.upperBits) &+ 0x7676_7676_7676_7676)) & UInt64.upperBits == 0
  }

  /// Returns the number of two digits in the bytes of a word; the position is that of the first.
  @inline(__always)
  private static func pair(of digits: UInt64, _ position: UInt64) -> Int64 {
    Int64((digits >> (position * 8)) & 0xF) &* 10 &+ Int64((digits >> (position * 8 + 8)) & 0xF)
  }

  /// Returns the same for the lowest bytes of a word from a position on.
  @inline(__always)
  private static func letters(_ word: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: word.byteSwapped >> 40) | 0x20_2020
  }

  /// Returns three characters, with letters in lowercase. No other character becomes a letter by it.
  @inline(__always)
  static func letters(_ bytes: Span<UInt8>, _ position: Int) -> UInt32 {
    (UInt32(bytes[position]) << 16 | UInt32(bytes[position + 1]) << 8 | UInt32(bytes[position + 2]))
      | 0x20_2020
  }

  // A weekday that contradicts its date is accepted: nothing depends on it.
  static func isShortWeekday(_ letters: UInt32) -> Bool {
    switch letters {
    case 0x73_756E, 0x6D_6F6E, 0x74_7565, 0x77_6564, 0x74_6875, 0x66_7269, 0x73_6174: true  // sun to sat
    default: false
    }
  }

  static func month(_ letters: UInt32) -> Int64? {
    switch letters {
    case 0x6A_616E: 1  // jan
    case 0x66_6562: 2  // feb
    case 0x6D_6172: 3  // mar
    case 0x61_7072: 4  // apr
    case 0x6D_6179: 5  // may
    case 0x6A_756E: 6  // jun
    case 0x6A_756C: 7  // jul
    case 0x61_7567: 8  // aug
    case 0x73_6570: 9  // sep
    case 0x6F_6374: 10  // oct
    case 0x6E_6F76: 11  // nov
    case 0x64_6563: 12  // dec
    default: nil
    }
  }

  struct Components {
    var year: Int64
    var month: Int64
    var day: Int64
    var hour: Int64
    var minute: Int64
    var second: Int64

    /// The time in seconds; `nil` if a number is out of range. A leap second (60) counts as the second after.
    @inline(__always)
    var secondsSince1970: Int64? {
      guard (1...12).contains(month), day >= 1, day <= HTTPDate.days(in: month, of: year), hour <= 23,
        minute <= 59, second <= 60
      else { return nil }
      // The numbers have four digits at most: nothing overflows.
      return HTTPDate.daysSince1970(year: year, month: month, day: day) &* 86_400
        &+ hour &* 3600 &+ minute &* 60 &+ second
    }
  }

  static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }

  /// Returns the days since the epoch for a date of the proleptic Gregorian calendar, from year 0 on.
  ///
  /// The calculation lets the year begin in March, so that the leap day is last.
  static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    // Years count from 400 before year 0, so that none is negative. With divisions of unsigned numbers, and without
    // checks of overflow, it takes half the instructions.
    let years = UInt64(truncatingIfNeeded: (month <= 2 ? year &- 1 : year) &+ 400)
    let months = UInt64(truncatingIfNeeded: month > 2 ? month &- 3 : month &+ 9)
    let centuries = years / 100
    let days = years &* 365 &+ years / 4 &- centuries &+ centuries / 4 &+ (153 &* months &+ 2) / 5
    return Int64(truncatingIfNeeded: days) &+ day &- (1 &+ 146_097 &+ 719_468)
  }
}

/// Reads the parts of a date, from left to right; every step fails instead of guessing.
private struct DateScanner {
  var position: Int
  let end: Int

  var isAtEnd: Bool { position == end }

  /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, after the comma.
  mutating func imfFixdate(_ bytes: Span<UInt8>) -> HTTPDate.Components? {
    guard skip(" ", bytes), let day = number(digits: 2, bytes), skip(" ", bytes), let month = month(bytes),
      skip(" ", bytes),
      let year = number(digits: 4, bytes), skip(" ", bytes), let time = time(bytes), skip(" ", bytes),
      gmt(bytes)
    else { return nil }
    return .init(
      year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
  }

  /// Reads `Sunday, 06-Nov-94 08:49:37 GMT`, after the comma.
  mutating func rfc850(_ bytes: Span<UInt8>, now: Timestamp) -> HTTPDate.Components? {
    guard skip(" ", bytes), let day = number(digits: 2, bytes), skip("-", bytes), let month = month(bytes),
      skip("-", bytes),
      let twoDigits = number(digits: 2, bytes), skip(" ", bytes), let time = time(bytes), skip(" ", bytes),
      gmt(bytes)
    else { return nil }
    let today = HTTPDate(now).calendarDate
    let thisYear = today.year
    var date = HTTPDate.Components(
      year: thisYear - thisYear % 100 + twoDigits, month: month, day: day, hour: time.hour,
      minute: time.minute, second: time.second)
    // "More than 50 years in the future" counts as past; a date far in the past because of the century's turn counts as
    // future.
    if (date.year, date.month, date.day) > (thisYear + 50, today.month, today.day) {
      date.year -= 100
    } else if date.year <= thisYear - 50 {
      date.year += 100
    }
    return date
  }

  /// Reads `Sun Nov  6 08:49:37 1994`, after the weekday.
  mutating func asctime(_ bytes: Span<UInt8>) -> HTTPDate.Components? {
    guard skip(" ", bytes), let month = month(bytes), skip(" ", bytes) else { return nil }
    let day: Int64?
    if skip(" ", bytes) {
      day = number(digits: 1, bytes)
    } else {
      day = number(digits: 2, bytes)
    }
    guard let day, skip(" ", bytes), let time = time(bytes), skip(" ", bytes),
      let year = number(digits: 4, bytes)
    else { return nil }
    return .init(
      year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
  }

  mutating func skip(_ character: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
    guard position < end, bytes[position] == UInt8(truncatingIfNeeded: character.value) else { return false }
    position += 1
    return true
  }

  mutating func letters(_ bytes: Span<UInt8>) -> ByteRange {
    let start = position
    while position < end, bytes[position].isLetter { position += 1 }
    return ByteRange(start: start, end: position)
  }

  mutating func number(digits: Int, _ bytes: Span<UInt8>) -> Int64? {
    guard position + digits <= end else { return nil }
    var value: Int64 = 0
    for _ in 0..<digits {
      guard bytes[position].isDigit else { return nil }
      value = value * 10 + Int64(bytes[position] - 0x30)
      position += 1
    }
    return value
  }

  mutating func time(_ bytes: Span<UInt8>) -> (hour: Int64, minute: Int64, second: Int64)? {
    guard let hour = number(digits: 2, bytes), skip(":", bytes), let minute = number(digits: 2, bytes),
      skip(":", bytes),
      let second = number(digits: 2, bytes)
    else { return nil }
    return (hour, minute, second)
  }

  mutating func gmt(_ bytes: Span<UInt8>) -> Bool {
    bytes.matches("gmt", in: letters(bytes))
  }

  mutating func month(_ bytes: Span<UInt8>) -> Int64? {
    let name = letters(bytes)
    return name.count == 3 ? HTTPDate.month(HTTPDate.letters(bytes, name.start)) : nil
  }

  static func isLongWeekday(_ bytes: Span<UInt8>, _ name: ByteRange) -> Bool {
    bytes.matches("sunday", in: name) || bytes.matches("monday", in: name)
      || bytes.matches("tuesday", in: name) || bytes.matches("wednesday", in: name)
      || bytes.matches("thursday", in: name) || bytes.matches("friday", in: name)
      || bytes.matches("saturday", in: name)
  }
}

// MARK: - Formatting

extension HTTPDate {
  /// Year, month (1 to 12) and day (1 to 31) of the date in UTC.
  var calendarDate: (year: Int64, month: Int64, day: Int64) {
    let days = floorDays + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }

  private var floorDays: Int64 {
    secondsSince1970 >= 0 ? secondsSince1970 / 86_400 : (secondsSince1970 + 1) / 86_400 - 1
  }

  /// The date in the format of senders: `Sun, 06 Nov 1994 08:49:37 GMT` (IMF-fixdate).
  ///
  /// Dates before the year 0 or after 9999, which the format cannot represent, are clamped.
  public var fieldValue: String {
    let clamped = HTTPDate(
      secondsSince1970: Swift.min(Swift.max(secondsSince1970, -62_167_219_200), 253_402_300_799))
    let (year, month, day) = clamped.calendarDate
    let days = clamped.floorDays
    let second = clamped.secondsSince1970 - days * 86_400
    let weekday = Int(((days + 4) % 7 + 7) % 7)
    // Interpolation takes 15 times the instructions.
    return ByteWriter.text { text in
      text.append(Self.weekdays[weekday])
      text.append(literal: ", ")
      text.append(decimal: day, digits: 2)
      text.append(literal: " ")
      text.append(Self.months[Int(month) - 1])
      text.append(literal: " ")
      text.append(decimal: year, digits: 4)
      text.append(literal: " ")
      text.append(decimal: second / 3600, digits: 2)
      text.append(literal: ":")
      text.append(decimal: second / 60 % 60, digits: 2)
      text.append(literal: ":")
      text.append(decimal: second % 60, digits: 2)
      text.append(literal: " GMT")
    }
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
