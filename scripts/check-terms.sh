#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Looks for the words of terms.txt in all text for readers: the pages, the sources and tests with their comments and strings, the
# scripts, and the names of files. Lists each place with what to write instead, and fails if there is one.
set -eu
cd "$(dirname "$0")/.."

# A pipeline ignores the status of git, which refuses a checkout of another user, for example.
files=$(git -c core.quotePath=false ls-files '*.md' '*.tutorial' '*.1' '*.swift' '*.c' '*.h' 'Tests/CommandTests/*.json' '*.yml' Makefile 'scripts/*.sh' .ci/run)
[ -n "$files" ] || { echo "git knows no text here" >&2; exit 1; }

printf '%s\n' "$files" | perl -ne '
  BEGIN {
    local $/ = "\n";
    open my $terms, "<", "scripts/terms.txt" or die "cannot open scripts/terms.txt: $!\n";
    while (<$terms>) { chomp; next if /^#/; my ($term, $better) = split /\t/; push @terms, [qr/$term/i, $better] }
    $places = 0;
    sub look {
      my ($place, $text) = @_;
      for (@terms) {
        next unless $text =~ $_->[0];
        print STDERR "$place: \"$&\": write: $_->[1]\n";
        $places++;
      }
    }
  }
  chomp;
  my $file = $_;
  # A file may be deleted while git still knows it.
  open my $text, "<", $file or next;
  (my $words = $file) =~ s/(?<=[a-z])(?=[A-Z])/ /g;
  look($file, $words);
  local $/ = "\n";
  while (my $line = <$text>) { look("$file:$.", $line) }
  END { if ($places) { print STDERR "$places places have words that are hard to understand.\n"; $? = 1 } }'
