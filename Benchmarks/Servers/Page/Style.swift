// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The style of the page and of its pictures; it loads no external resources.
enum Style {
  static let css = [colors, page, drawing].joined(separator: "\n")

  static let colors = """
    :root {
      color-scheme: light dark;
      --page: #fbfbfa; --card: #ffffff; --text: #1b1b1a; --muted: #5c5b57; --rule: #e3e2de; --good: #0a6b35;
      --bad: #a82424; --ours: #2a78d6; --s3fifo: #14966a; --floor: #6f6e69; --dictionary: #b97a00;
      --nodes: #5a48c0; --nscache: #cf3f6b; --urlcache: #d9571f;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --page: #161615; --card: #1f1f1e; --text: #f0efec; --muted: #aaa9a3; --rule: #363633; --good: #5fcf8e;
        --bad: #ff8a80; --ours: #5a9df0; --s3fifo: #35bd8c; --floor: #a09f98; --dictionary: #e0a52e;
        --nodes: #a294f2; --nscache: #f0789c; --urlcache: #f08a58;
      }
    }
    """

  /// The parts of a picture.
  static let drawing = """
    text { font: 12px system-ui, sans-serif; fill: var(--muted); font-variant-numeric: tabular-nums; }
    text.title { font-size: 14px; font-weight: 600; fill: var(--text); }
    .grid { stroke: var(--rule); } .axis, .tick { stroke: var(--muted); }
    .line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
    .line.dashed { stroke-dasharray: 5 4; }
    .dot { fill: currentColor; stroke: var(--card); stroke-width: 1.5; } .spot { fill: transparent; }
    .ours { color: var(--ours); } .s3fifo { color: var(--s3fifo); } .floor, .apart { color: var(--floor); }
    .dictionary { color: var(--dictionary); } .nodes { color: var(--nodes); } .nscache { color: var(--nscache); }
    .urlcache { color: var(--urlcache); }
    """

  private static let page = """
    * { box-sizing: border-box; }
    body {
      margin: 0 auto; padding: 1.25rem 1rem 3rem; max-width: 76rem; background: var(--page); color: var(--text);
      font: 16px/1.5 system-ui, sans-serif;
    }
    h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
    h2 { font-size: 1.25rem; margin: 2.25rem 0 .25rem; padding-top: 1rem; border-top: 1px solid var(--rule); }
    h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; } p { margin: .25rem 0; }
    .about { color: var(--muted); overflow-wrap: anywhere; } .warning { color: var(--bad); font-weight: 600; }
    .plots { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr));
      align-items: start; }
    figure { margin: 0; padding: .75rem; background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
    figcaption { font-weight: 600; margin-bottom: .5rem; }
    svg { display: block; width: 100%; max-width: 36rem; height: auto; }
    .legend { display: flex; flex-wrap: wrap; gap: .15rem 1rem; margin: .5rem 0 0; padding: 0; list-style: none;
      font-size: .85rem; }
    .key { display: inline-block; width: 1.25rem; height: 0; margin-right: .4rem; vertical-align: middle;
      border-top: 3px solid currentColor; }
    .key.dashed { border-top-style: dashed; } .bars { margin: 0; padding: 0; list-style: none; font-size: .85rem; }
    .bars li { display: grid; grid-template-columns: 1fr auto; margin-bottom: .45rem; }
    .bars .value { font-variant-numeric: tabular-nums; } .track { grid-column: 1 / -1; height: .5rem; }
    .bar { display: block; height: 100%; min-width: 2px; background: currentColor; border-radius: 0 3px 3px 0; }
    .wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .875rem; }
    th, td { padding: .3rem .9rem .3rem 0; text-align: left; border-bottom: 1px solid var(--rule); vertical-align: top; }
    th { color: var(--muted); font-weight: 500; }
    .figure { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
    .targets { width: 100%; }
    .met { color: var(--good); font-weight: 600; } .unmet { color: var(--bad); font-weight: 600; }
    .open { color: var(--muted); } .met, .unmet, .open { white-space: nowrap; }
    .targets td:nth-child(2) { color: var(--muted); } details { margin: 1rem 0; } summary { cursor: pointer; }
    .notes { margin: 1rem 0 0; padding-left: 1.2rem; color: var(--muted); font-size: .875rem; }
    @media (max-width: 40rem) {
      .targets thead { display: none; }
      .targets tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--rule); }
      .targets td { display: inline; border: 0; padding: 0 .35rem 0 0; white-space: normal; }
      .targets td:nth-child(1) { display: block; }
      .targets td:nth-child(2)::before { content: "target: "; }
    }
    """
}
