/// The middle of some figures; the mean of the two in the middle if their number is even, `nil` if there are none.
func median(_ figures: [Double]) -> Double? {
  guard !figures.isEmpty else { return nil }
  let sorted = figures.sorted()
  let middle = sorted.count / 2
  return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}
